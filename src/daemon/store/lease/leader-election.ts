import { BackgroundLoop } from '../../../values/background-loop.ts'
import { type Db, isShared } from '../database/database.ts'
import { defaultLeaseMs, Lease } from './lease.ts'

interface Deps {
  db: Db
  failed(error: unknown): void
}

/** Checked before each step of background work, because another daemon may have become the leader. */
export type Election = Pick<LeaderElection, 'isLeader' | 'check' | 'onElected'>

/**
 * Elects the daemon on a database that delivers, polls, refreshes, and tidies. The only daemon of a database always
 * leads.
 */
export class LeaderElection {
  readonly #lease: Lease | undefined
  readonly #loop: BackgroundLoop<void>
  readonly #listeners = new Set<() => void>()
  #isStarted = false

  constructor({ db, failed }: Deps) {
    this.#lease = isShared(db) ? new Lease({ db, name: 'background' }) : undefined
    let isFailing = false
    this.#loop = new BackgroundLoop({
      run: async () => {
        await this.#renewOrAcquire()
        isFailing = false
      },
      restMs: () => defaultLeaseMs / 5,
      failed: (error) => {
        // Only the first of consecutive failures.
        if (!isFailing) failed(error)
        isFailing = true
      },
    })
  }

  /** False as soon as another daemon may lead. */
  get isLeader(): boolean {
    return this.#lease?.isCertain ?? true
  }

  /** @param listener called whenever this daemon becomes the leader */
  onElected(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Tries to become the leader if the loop was not started. @returns isLeader */
  async check(): Promise<boolean> {
    if (!this.#isStarted && !this.isLeader) await this.#renewOrAcquire()
    return this.isLeader
  }

  start(): void {
    this.#isStarted = true
    if (this.#lease) this.#loop.start()
  }

  /** Lets another daemon take over at once. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#lease?.release()
  }

  async #renewOrAcquire(): Promise<void> {
    const lease = this.#lease
    if (!lease || (lease.isHeld && (await lease.renew()))) return
    if (await lease.acquire()) for (const listener of this.#listeners) listener()
  }
}
