import type { Verb } from './command/define.ts'

export type Loaded = { readonly verbs: readonly Verb[] } | { readonly verb: Verb }

export interface Noun {
  readonly name: string
  readonly summary: string
  readonly group: string
  /** Left out of the help. */
  readonly hidden?: boolean
  /** Its verbs come when it is called, and not before: the start stays quick. */
  readonly load: () => Promise<Loaded>
}

const chips = 'Chips:'
const access = 'Teams, keys and tokens:'
export const running = 'Running it:'

/** All but those that know the others: see program.ts. */
export const nouns: readonly Noun[] = [
  {
    name: 'chips',
    summary: 'List, look up, edit, import and export chips',
    group: chips,
    load: () => import('./commands/chips/index.ts'),
  },
  {
    name: 'chip-groups',
    summary: 'List and manage chip groups',
    group: chips,
    load: () => import('./commands/chip-groups/index.ts'),
  },
  {
    name: 'items',
    summary: 'List and manage items',
    group: chips,
    load: () => import('./commands/items/index.ts'),
  },
  {
    name: 'phygitals',
    summary: 'Transfer tokens, sign transfers, edit metadata',
    group: chips,
    load: () => import('./commands/phygitals/index.ts'),
  },
  {
    name: 'guestbook',
    summary: 'Deploy guestbooks, create events, mint to guests',
    group: chips,
    load: () => import('./commands/guestbook/index.ts'),
  },
  {
    name: 'badge-events',
    summary: 'Create, assign and mint badge events',
    group: chips,
    load: () => import('./commands/badge-events/index.ts'),
  },
  { name: 'refs', summary: 'Query refs', group: chips, load: () => import('./commands/refs/index.ts') },
  {
    name: 'otps',
    summary: 'Show and delete OTP codes',
    group: chips,
    load: () => import('./commands/otps/index.ts'),
  },
  {
    name: 'taps',
    summary: 'List, follow and simulate taps',
    group: chips,
    load: () => import('./commands/taps/index.ts'),
  },
  {
    name: 'nfc',
    summary: 'Read, verify and set chips up with a reader on this machine',
    group: chips,
    load: () => import('./commands/nfc/index.ts'),
  },
  {
    name: 'batch',
    summary: 'Look at, resume and undo batches',
    group: chips,
    load: () => import('./commands/batch/index.ts'),
  },
  {
    name: 'key-sets',
    summary: 'List and manage the key sets of chips',
    group: chips,
    load: () => import('./commands/key-sets/index.ts'),
  },
  {
    name: 'teams',
    summary: 'List and manage teams',
    group: access,
    load: () => import('./commands/teams/index.ts'),
  },
  {
    name: 'api-keys',
    summary: 'List, create and revoke API keys',
    group: access,
    load: () => import('./commands/api-keys/index.ts'),
  },
  {
    name: 'admin-tokens',
    summary: 'List, create and revoke admin tokens',
    group: access,
    load: () => import('./commands/admin-tokens/index.ts'),
  },
  {
    name: 'contracts',
    summary: 'List, deploy, register and edit token contracts',
    group: access,
    load: () => import('./commands/contracts/index.ts'),
  },
  {
    name: 'transactions',
    summary: 'See what is sent to chains, and give it up',
    group: access,
    load: () => import('./commands/transactions/index.ts'),
  },
  {
    name: 'links',
    summary: 'List and manage the links of the tap page',
    group: access,
    load: () => import('./commands/links/index.ts'),
  },
  {
    name: 'audit',
    summary: 'See who changed what',
    group: access,
    load: () => import('./commands/audit/index.ts'),
  },
  {
    name: 'daemon',
    summary: 'Start, stop and watch the daemon',
    group: running,
    load: () => import('./commands/daemon/index.ts'),
  },
  {
    name: 'context',
    summary: 'Keep several daemons and their keys apart',
    group: running,
    load: () => import('./commands/context/index.ts'),
  },
  { name: 'login', summary: 'Keep an API key', group: running, load: () => import('./commands/login.ts') },
  {
    name: 'doctor',
    summary: 'Check that all is well',
    group: running,
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'backup',
    summary: 'Back the database up while it runs',
    group: running,
    load: () => import('./commands/backup.ts'),
  },
  {
    name: 'completion',
    summary: 'Print the completion script of a shell',
    group: running,
    load: () => import('./commands/completion/script.ts'),
  },
]
