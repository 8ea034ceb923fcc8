import type { Logger } from 'pino'
import { BackgroundLoop } from '../../values/background-loop.ts'
import type { Credentials } from '../domain/access/credentials.ts'
import type { KeyRing } from '../domain/chips/key-ring.ts'
import type { Deliverer } from '../domain/webhooks/deliverer.ts'
import { versionsOfChanges } from '../store/database/changes.ts'
import type { Queries } from '../store/database/database.ts'
import type { ChangeKind } from '../store/schema/schema.ts'

/** Two intervals plus the loading take well under the second within which changes take effect everywhere. */
const pollMs = 300
/** After failing to look for this long, a daemon may have missed revocations. */
const trustedForMs = 10_000

interface Settings {
  /** A separate connection, so that it never waits behind requests. */
  changeFeed: Queries
  /** Reloads the cached data. */
  load: Readonly<Record<ChangeKind, () => Promise<unknown>>>
  /** Called once per series of failures. */
  failed(error: unknown): void
  /** Milliseconds that never go back. */
  now?: () => number
}

/** Loads other daemons' changes within a second. */
export class Changes {
  readonly #settings: Settings
  readonly #seen = new Map<ChangeKind, number>()
  readonly #loop: BackgroundLoop
  readonly #now: () => number
  #isFailing = false
  /** Undefined: it has not started. */
  #currentAt: number | undefined

  constructor(settings: Settings) {
    this.#settings = settings
    this.#now = settings.now ?? (() => performance.now())
    this.#loop = new BackgroundLoop({
      run: () => this.poll(),
      restMs: () => pollMs,
      failed: (error) => {
        if (!this.#isFailing) settings.failed(error)
        this.#isFailing = true
      },
    })
  }

  /** The first look loads everything, since it may have changed while the daemon started. */
  async poll(): Promise<void> {
    const { changeFeed, load } = this.#settings
    this.#currentAt ??= this.#now()
    const at = this.#now()
    for (const { kind, version } of await versionsOfChanges(changeFeed)) {
      if (this.#seen.get(kind) === version) continue
      // A daemon of a later version may report kinds that this one does not cache.
      await load[kind]?.()
      this.#seen.set(kind, version)
    }
    this.#currentAt = at
    this.#isFailing = false
  }

  /** False if changes by others may have been missed for too long. */
  isCurrent(): boolean {
    return this.#currentAt === undefined || this.#now() - this.#currentAt < trustedForMs
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }
}

/** Keeps the cached data that decides about requests in sync with the database. */
export function changesOf(deps: {
  changeFeed: Queries
  log: Pick<Logger, 'warn'>
  keyRing: KeyRing
  credentials: Credentials
  webhooks: Pick<Deliverer, 'changed'>
}): Changes {
  const { changeFeed, log, keyRing, credentials, webhooks } = deps
  const changes = new Changes({
    changeFeed,
    load: {
      credentials: () => credentials.load(changeFeed),
      keySets: () => keyRing.load(changeFeed),
      webhooks: () => webhooks.changed(),
    },
    failed: (error) => log.warn({ err: error }, 'lost change notifications from other daemons'),
  })
  credentials.cachedWhileFresh(() => changes.isCurrent())
  return changes
}
