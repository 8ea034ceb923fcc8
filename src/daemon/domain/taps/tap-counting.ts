import { BackgroundLoop } from '../../../values/background-loop.ts'
import { type Db, isShared, type Queries } from '../../store/database/database.ts'
import type { Election } from '../../store/lease/leader-election.ts'
import {
  addTapCounts,
  advanceTapCounts,
  beginTapCounts,
  hoursOf,
  minutesOf,
  pruneTapCounts,
  tapFrom,
  tapsCountedTo,
} from '../../store/taps/tap-rates.ts'
import { newestTap } from '../../store/taps/taps.ts'
import { type Clock, iso } from '../time/time.ts'

type Deps = { db: Db; clock: Clock }

const restMs = 10_000
/** A tap whose ID is this old is visible: on a server, later IDs may be committed first. */
const settledMs = 30_000
const tapsPerRead = 20_000
export const countsKeptMs = 8 * 24 * 3_600_000

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
    let after = (await tapsCountedTo(db.slow)) ?? (await this.#begin(keptFrom))
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

  /** Taps from before are not counted. */
  async #begin(keptFrom: string): Promise<number> {
    const { db } = this.#deps
    const id = await lastBefore(db.slow, keptFrom)
    await db.write((trx) => beginTapCounts(trx, id))
    return (await tapsCountedTo(db.slow)) ?? id
  }
}

/** IDs are nearly in the order of time. */
async function lastBefore(db: Queries, time: string): Promise<number> {
  let [low, high] = [0, await newestTap(db)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const tap = await tapFrom(db, middle)
    if (tap === undefined || tap.at >= time) high = middle - 1
    else low = Math.max(middle, Math.min(tap.id, high))
  }
  return low
}
