import type { Answer } from '../daemon/contract/endpoint.ts'
import type { EndpointKey, Endpoints } from '../daemon/contract/index.ts'

type Scopes = { readonly [K in EndpointKey]?: Endpoints[K]['scope'] }

// The whole of what the console may ask a daemon, with the scope that each takes. The server passes nothing else on, and a
// screen or button whose scope the credential lacks is not shown.

/** For screens. */
export const reads = {
  'GET /admin/whoami': 'read',
  'GET /admin/teams': 'read',
  'GET /admin/taps/pulse': 'read',
  'GET /admin/items': 'read',
  'GET /admin/chips': 'read',
  'GET /admin/chips/stats': 'read',
  'GET /admin/chips/:uid': 'read',
  'GET /admin/chips/:uid/history': 'read',
  'GET /admin/batches': 'read',
  'GET /admin/batches/:id': 'read',
  'GET /admin/batches/:id/rows': 'read',
  'GET /admin/nfc/stations': 'read',
  'GET /admin/badge-events': 'read',
  'GET /admin/guestbooks': 'read',
  'GET /admin/events/rates': 'read',
  'GET /admin/pages/preview': 'read',
  'GET /admin/status': 'read',
  'GET /admin/audit': 'read',
  'GET /admin/chains': 'read',
  'GET /admin/transactions': 'read',
  'GET /admin/transactions/stats': 'read',
  'GET /admin/webhooks/health': 'read',
  'GET /admin/webhook-deliveries': 'read',
} as const satisfies Scopes

/** For buttons. Each asks first, and its name stands in the audit log. */
export const acts = {
  'POST /admin/chips/:uid/disable': 'edit',
  'POST /admin/chips/:uid/enable': 'edit',
  'POST /admin/webhook-deliveries/:id/redeliver': 'edit',
  // The daemon asks for the scope of the batch's kind besides.
  'POST /admin/batches/:id/pause': 'read',
  'POST /admin/batches/:id/resume': 'read',
  'POST /admin/batches/:id/approve': 'read',
  'POST /admin/batches/:id/cancel': 'read',
  // An undo is a batch of its own, which is planned and started.
  'POST /admin/batches/:id/undo': 'read',
  'POST /admin/batches/:id/plan': 'read',
  'POST /admin/batches/:id/start': 'read',
  'PATCH /admin/teams/:id': 'edit',
} as const satisfies Scopes

export type ReadKey = keyof typeof reads
export type ActKey = keyof typeof acts

/** Acts of which the console does a part: what a body may have. */
export const bodyFields: { readonly [K in ReadKey | ActKey]?: readonly string[] } = {
  'PATCH /admin/teams/:id': ['brand'],
}

/** A path of the console: where requests to the daemon begin. */
export const apiPath = '/api'
/** Carries the page's own secret; a cookie alone is sent to every port of this machine. */
export const sessionHeader = 'x-console-session'
/** Carries the typed name of a protected context. */
export const confirmHeader = 'x-console-confirm'

/** The page's surroundings: `GET /session`. */
export interface ConsoleSession {
  /** The daemon's address, without anything secret. */
  readonly daemon: string
  readonly context: string | null
  /** Acts take the context's name. */
  readonly isProtected: boolean
  /** The team that a project file or flag chose. */
  readonly team: string | null
  readonly version: string
  /** Null: the daemon does not answer. */
  readonly who: {
    readonly name: string
    readonly team: string | null
    readonly scopes: readonly string[]
  } | null
  /** Those of `reads` and `acts` that the credential allows. */
  readonly may: readonly string[]
  /** Why `who` is unknown, and what to do. */
  readonly problem: { readonly message: string; readonly advice: string | null } | null
}

/** `GET` of it renders a state of the tap page, asked for as `GET /admin/pages/preview` is; below it, pages are for frames. */
export const previewPath = '/previews'
export interface Preview {
  readonly path: string
  readonly state: string
  /** HTTP status code. */
  readonly status: number
}

/** `GET` of it is what `tapchip doctor` finds, without the check that reads the whole database. */
export const diagnosisPath = '/diagnosis'
export interface Diagnosis {
  readonly at: string
  readonly findings: readonly {
    readonly check: string
    readonly status: 'ok' | 'warn' | 'fail'
    readonly detail: string
    readonly fix: string | null
  }[]
}

/** As many as an operator can look at: a page shows no more, and the server keeps no more for it. */
export const maxLiveTaps = 1000

type Followed = Answer<Endpoints['GET /admin/events/follow']>
export type LiveTap = Extract<Followed, { taps: unknown }>['taps'][number]
export type LiveChange = Extract<Followed, { changed: unknown }>['changed'][number]

/** A line of `GET /stream?after=SEQ`. The first one says whether the daemon is there. */
export type LiveEvent =
  /** `seq`: the number of taps so far, these included. */
  | { readonly seq: number; readonly taps: readonly LiveTap[] }
  /** To be read again. */
  | { readonly changed: readonly LiveChange[] }
  /** Null: the daemon is there. */
  | { readonly away: { readonly since: string; readonly message: string } | null }

/** Paths of screens, by the name in `<main data-screen>`. */
export const screenPaths = {
  now: /^\/now$/,
  chips: /^\/chips$/,
  chip: /^\/chips\/([^/]+)$/,
  batches: /^\/batches$/,
  batch: /^\/batches\/([^/]+)$/,
  events: /^\/events$/,
  chain: /^\/chain$/,
  webhooks: /^\/webhooks$/,
  table: /^\/table$/,
  look: /^\/look$/,
  daemon: /^\/daemon$/,
} as const
export type ScreenName = keyof typeof screenPaths
