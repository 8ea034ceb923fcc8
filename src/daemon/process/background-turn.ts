import { BackgroundLoop } from '../../values/background-loop.ts'
import { type Db, isShared } from '../store/database/database.ts'
import { Lease, usualLeaseMs } from '../store/lease/lease.ts'

interface Deps {
  db: Db
  /** Random at every start. */
  holder: string
  failed(error: unknown): void
}

/** Asked before each step of background work, since another daemon may have it by now. */
export type Turn = Pick<BackgroundTurn, 'isMine' | 'check'>

/**
 * Of the daemons on one database, one delivers, polls, refreshes, and tidies: whoever has this turn. A daemon whose
 * database is its own always has it.
 */
export class BackgroundTurn {
  readonly #lease: Lease | undefined
  readonly #loop: BackgroundLoop<void>
  readonly #listeners = new Set<() => void>()
  #isStarted = false

  constructor({ db, holder, failed }: Deps) {
    const clock = { monotonic: () => performance.now() }
    this.#lease = isShared(db) ? new Lease({ db, name: 'background', holder, clock }) : undefined
    let isFailing = false
    this.#loop = new BackgroundLoop({
      run: async () => {
        await this.#keep()
        isFailing = false
      },
      restMs: () => usualLeaseMs / 5,
      failed: (error) => {
        // Only the first of a row.
        if (!isFailing) failed(error)
        isFailing = true
      },
    })
  }

  /** False as soon as another daemon may have taken it. */
  get isMine(): boolean {
    return this.#lease?.isSure ?? true
  }

  /** @param listener called whenever this daemon gets the turn */
  onTaken(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Looks for itself where it was not started. @returns isMine */
  async check(): Promise<boolean> {
    if (!this.#isStarted && !this.isMine) await this.#keep()
    return this.isMine
  }

  start(): void {
    this.#isStarted = true
    if (this.#lease) this.#loop.start()
  }

  /** Lets another daemon go on at once. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#lease?.giveBack()
  }

  async #keep(): Promise<void> {
    const lease = this.#lease
    if (!lease || (lease.isTaken && (await lease.renew()))) return
    if (await lease.take()) for (const listener of this.#listeners) listener()
  }
}
