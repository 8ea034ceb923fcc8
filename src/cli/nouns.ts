import type { Verb } from './command/define.ts'

type Loaded = { readonly verbs: readonly Verb[] } | { readonly verb: Verb }

export interface Noun {
  readonly name: string
  readonly summary: string
  readonly group: string
  /** Not in the help. */
  readonly hidden?: boolean
  /** Imports its verbs. Only the noun that is called does so, which keeps the start quick. */
  readonly load: () => Promise<Loaded>
}

const group = (group: string, nouns: readonly (readonly [string, string, Noun['load']])[]): Noun[] =>
  nouns.map(([name, summary, load]) => ({ name, summary, group, load }))

export const running = 'Running it:'

/** All but those that need the others: see program.ts. */
export const nouns: readonly Noun[] = [
  ...group('Chips:', [
    ['chips', 'List, look up, edit, import and export chips', () => import('./commands/chips/index.ts')],
    ['chip-groups', 'List and manage chip groups', () => import('./commands/chip-groups/index.ts')],
    ['items', 'List and manage items', () => import('./commands/items/index.ts')],
    [
      'phygitals',
      'Transfer tokens, sign transfers, edit metadata',
      () => import('./commands/phygitals/index.ts'),
    ],
    [
      'guestbook',
      'Deploy guestbooks, create events, mint to guests',
      () => import('./commands/guestbook/index.ts'),
    ],
    [
      'badge-events',
      'Create, assign and mint badge events',
      () => import('./commands/badge-events/index.ts'),
    ],
    ['refs', 'Query refs', () => import('./commands/refs/index.ts')],
    ['otps', 'Show and delete OTP codes', () => import('./commands/otps/index.ts')],
    ['taps', 'List, count, follow and simulate taps', () => import('./commands/taps/index.ts')],
    [
      'nfc',
      'Read, verify and set up chips with a reader on this machine',
      () => import('./commands/nfc/index.ts'),
    ],
    ['labels', 'Print labels for chips', () => import('./commands/labels/index.ts')],
    ['batch', 'List, resume and undo batches', () => import('./commands/batch/index.ts')],
    ['key-sets', 'List and manage the key sets of chips', () => import('./commands/key-sets/index.ts')],
  ]),
  ...group('Teams, keys and tokens:', [
    ['teams', 'List and manage teams', () => import('./commands/teams/index.ts')],
    ['api-keys', 'List, create and revoke API keys', () => import('./commands/api-keys/index.ts')],
    [
      'admin-tokens',
      'List, create and revoke admin tokens',
      () => import('./commands/admin-tokens/index.ts'),
    ],
    [
      'contracts',
      'List, deploy, register and edit token contracts',
      () => import('./commands/contracts/index.ts'),
    ],
    ['transactions', 'List, show and cancel transactions', () => import('./commands/transactions/index.ts')],
    ['links', 'List and manage the links of the tap page', () => import('./commands/links/index.ts')],
    ['pages', 'Look at the tap page in every state', () => import('./commands/pages/index.ts')],
    [
      'webhooks',
      'Register webhooks, and see and repeat their deliveries',
      () => import('./commands/webhooks/index.ts'),
    ],
    ['audit', 'See who changed what', () => import('./commands/audit/index.ts')],
  ]),
  ...group(running, [
    ['daemon', 'Start, stop and watch the daemon', () => import('./commands/daemon/index.ts')],
    ['dev', 'Run a daemon with demo data for an app in development', () => import('./commands/dev/dev.ts')],
    ['ci', 'Run a command against a fresh daemon, which ends with it', () => import('./commands/ci.ts')],
    ['context', 'Manage several daemons and their keys', () => import('./commands/context/index.ts')],
    ['login', 'Save an API key', () => import('./commands/login.ts')],
    ['doctor', 'Check that everything works', () => import('./commands/doctor.ts')],
    ['bugreport', 'Write a report for whoever helps you', () => import('./commands/bugreport.ts')],
    ['backup', 'Back up the database while the daemon runs', () => import('./commands/backup.ts')],
    ['restore', 'Put a backup into a data directory', () => import('./commands/restore.ts')],
    ['store', 'Move the database between engines', () => import('./commands/store/index.ts')],
    ['completion', 'Print the completion script of a shell', () => import('./commands/completion/script.ts')],
  ]),
]
