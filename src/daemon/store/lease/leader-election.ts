import { BackgroundLoop } from '../../../values/background-loop.ts'
import { type Db, isShared } from '../database/database.ts'
import { defaultLeaseMs, Lease } from './lease.ts'

interface Deps {
  db: Db
  failed(error: unknown): void
}

/** Asked before each step of background work, since another daemon may lead by now. */
export type Election = Pick<LeaderElection, 'isLeader' | 'check' | 'onElected'>

/**
 * The leader of the daemons on one database delivers, polls, refreshes, and tidies. A daemon whose database is its own
 * always leads.
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
        // Only the first of a row.
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

  /** Stands for election itself where it was not started. @returns isLeader */
  async check(): Promise<boolean> {
    if (!this.#isStarted && !this.isLeader) await this.#renewOrAcquire()
    return this.isLeader
  }

  start(): void {
    this.#isStarted = true
    if (this.#lease) this.#loop.start()
  }

  /** Lets another daemon go on at once. */
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
