import type * as z from 'zod'
// Types alone: the schemas themselves would cost the CLI its start.
import type { Answer, Request, StreamSpec } from '../../daemon/contract/endpoint.ts'
import type { EndpointKey, Endpoints } from '../../daemon/contract/index.ts'

export type { EndpointKey, Endpoints }

export type AnswerOf<K extends EndpointKey> = Answer<Endpoints[K]>

/** An element of an endpoint's answer that is a list. */
export type ElementOf<K extends EndpointKey> = AnswerOf<K> extends readonly (infer E)[] ? E : never

/** What travels in headers of its own. */
type InHeaders<S> = (S extends { auth: 'code' } ? { readonly code: string } : unknown) &
  // With it a request that sends something may be repeated: it has its effect once.
  (S extends { isRepeatable: true } ? { readonly idempotencyKey?: string | undefined } : unknown) &
  // A form. It may be sent again, so its content can be read more than once.
  (S extends { stream: StreamSpec } ? { readonly upload: Upload } : unknown)

/** Path parameters and codes make the request obligatory. */
export type CallArguments<K extends EndpointKey> = Endpoints[K] extends
  | { params: z.ZodObject }
  | { auth: 'code' }
  | { stream: StreamSpec }
  ? [request: Request<Endpoints[K]> & InHeaders<Endpoints[K]>]
  : [request?: Request<Endpoints[K]> & InHeaders<Endpoints[K]>]

export type StreamKey = {
  [K in EndpointKey]: Endpoints[K] extends { answerType: string } ? K : never
}[EndpointKey]

export interface Upload {
  readonly contentType: string
  readonly content: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>
}

export type StreamRequest<K extends StreamKey> = Omit<Request<Endpoints[K]>, 'body'> & {
  readonly upload?: Upload
  /** Ends the stream, quietly. */
  readonly signal?: AbortSignal
}

/** A request that changes something; a read may, too: it uses a tap up. */
export interface Change {
  /** Of the endpoint. */
  readonly key: string
  readonly isRead: boolean
  /** Whose code it is decides the team, and not our key. */
  readonly code?: string | undefined
}

export interface ClientOptions {
  readonly url: string
  readonly apiKey?: string | undefined
  /** Asked for at the first call under /admin: it may have to be read from a file. */
  readonly adminToken?: (() => string | undefined) | undefined
  /** Where calls under /admin go, likewise: `http://…` or `unix:/path`; the same address if it is not given. */
  readonly adminUrl?: (() => string) | undefined
  /** The daemon that the keys are for. If another answers it is sent none. */
  readonly instance?: string | undefined
  /** Where the keys come from, for people. */
  readonly contextName?: string | undefined
  /** The word in `x-svc-api-key`. */
  readonly wirePrefix?: string
  /** The word in `/badge-events` and `badgeEvents`. */
  readonly wireBadge?: string
  readonly timeoutMs?: number
  /** Called before each request that changes something. What it throws keeps the request from being sent. */
  readonly beforeChange?: (request: Change) => Promise<void>
  /** Called before so many seconds of waiting, which the daemon asked for, where they are worth a word. */
  readonly onWait?: (seconds: number) => void
  /** For tests; waits between attempts. */
  readonly sleep?: (ms: number) => Promise<void>
  readonly random?: () => number
}

export interface Client {
  readonly url: URL
  /** Throws ApiError or DaemonUnreachable. */
  call<K extends EndpointKey>(key: K, ...request: CallArguments<K>): Promise<AnswerOf<K>>
  /** A line of the answer at a time, as they arrive; sends `upload` as fast as the daemon takes it. */
  stream<K extends StreamKey>(key: K, request: StreamRequest<K>): AsyncGenerator<AnswerOf<K>>
  /** Which daemon answers, as it says itself; asked without a key. */
  instance(): Promise<string | undefined>
  /** A plain GET outside the table, such as /healthz; without a key. */
  probe(path: string): Promise<{ status: number; text: string; date: string | undefined }>
  close(): void
}
