import { BackgroundLoop } from '../../../values/background-loop.ts'
import { type Db, isShared } from '../../store/database/database.ts'
import type { Election } from '../../store/lease/leader-election.ts'
import { lastIdBefore } from '../../store/taps/tap-counts.ts'
import {
  addTapCounts,
  advanceTapCounts,
  beginTapCounts,
  hoursOf,
  minutesOf,
  pruneTapCounts,
  tapsCountedTo,
} from '../../store/taps/tap-rates.ts'
import { newestTap } from '../../store/taps/taps.ts'
import { type Clock, iso } from '../time/time.ts'

type Deps = { db: Db; clock: Clock }

const restMs = 10_000
/** A tap whose ID is this old is visible: on a server, later IDs may be committed first. */
const settledMs = 30_000
/** Few, because what happens now is read in between. */
const tapsPerRead = 5_000
const dayMs = 24 * 3_600_000
export const countsKeptMs = 8 * dayMs

/** Counts taps by minute and hour behind them, so that no tap waits for it. Run by one daemon. */
export class TapCounting {
  readonly #deps: Deps
  /** IDs by when they were the newest. */
  #seen: { id: number; at: number }[] = []

  constructor(deps: Deps) {
    this.#deps = deps
  }

  loop(election: Election, failed: (error: unknown) => void): BackgroundLoop {
    const run = async () => {
      if (await election.check()) await this.run(() => loop.isEnding)
    }
    const loop = new BackgroundLoop({ run, firstMs: 1000, restMs: () => restMs, failed })
    return loop
  }

  async run(isEnding: () => boolean = () => false): Promise<void> {
    const { db, clock } = this.#deps
    const keptFrom = iso(clock.now() - countsKeptMs)
    let after = (await tapsCountedTo(db.slow)) ?? (await this.#begin())
    const settled = this.#settledId(await newestTap(db.slow))
    while (after < settled && !isEnding()) {
      const piece = { after, upTo: Math.min(after + tapsPerRead, settled) }
      const counts = { minutes: await minutesOf(db.slow, piece), hours: await hoursOf(db.slow, piece) }
      const isOwn = await db.write(async (trx) => {
        if (!(await advanceTapCounts(trx, piece))) return false
        await addTapCounts(trx, counts)
        await pruneTapCounts(trx, keptFrom)
        return true
      })
      // Another daemon counts.
      if (!isOwn) return
      after = piece.upTo
    }
  }

  #settledId(newest: number): number {
    const { db, clock } = this.#deps
    if (!isShared(db)) return newest
    const now = clock.monotonic()
    this.#seen.push({ id: newest, at: now })
    const settled = this.#seen.filter(({ at }) => now - at >= settledMs).at(-1)
    if (settled) this.#seen = this.#seen.filter(({ at }) => at >= settled.at)
    return settled?.id ?? 0
  }

  /** Taps from before what is shown are not counted. */
  async #begin(): Promise<number> {
    const { db, clock } = this.#deps
    const id = await lastIdBefore(db.slow, iso(clock.now() - dayMs))
    await db.write((trx) => beginTapCounts(trx, id))
    return (await tapsCountedTo(db.slow)) ?? id
  }
}
