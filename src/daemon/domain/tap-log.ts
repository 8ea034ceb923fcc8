import { EventEmitter } from 'node:events'
import type { Db } from '../store/database.ts'
import type { TapRow } from '../store/schema.ts'
import { insertTaps, type NewTap } from '../store/taps.ts'

/** A tap on its way to those who follow; a refused one has no id before it is written. */
export type SeenTap = Omit<TapRow, 'id'> & { id: number | null }

// A stranger can send refused taps without end. They are written in batches, and beyond this many at once
// only counted, so that they cost neither the disk nor the others' taps.
const refusedKept = 500
const flushAfter = 200

/** Who counts what passes. */
export interface TapCounts {
  judged(outcome: TapRow['outcome']): void
  /** A refused tap that came too fast to be recorded. */
  dropped(): void
}

/** The record of taps. Valid ones are written by whoever takes them; refused ones are collected here. */
export class TapLog {
  readonly #db: Db
  readonly #bus = new EventEmitter().setMaxListeners(0)
  readonly #counts: TapCounts
  #refused: NewTap[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(db: Db, counts: TapCounts) {
    this.#db = db
    this.#counts = counts
  }

  /** Tells followers of a tap that is already written. */
  publish(tap: SeenTap): void {
    this.#counts.judged(tap.outcome)
    this.#bus.emit('tap', tap)
  }

  /** Records a refused tap, soon. */
  refuse(tap: NewTap): void {
    if (this.#refused.length >= refusedKept) this.#counts.dropped()
    else this.#refused.push(tap)
    this.publish({ ...tap, id: null })
    this.#timer ??= setTimeout(() => void this.flush(), flushAfter).unref()
  }

  /** Writes what was collected. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const taps = this.#refused
    this.#refused = []
    if (taps.length > 0)
      await this.#db.write((trx) => insertTaps(trx, taps)).catch(() => this.#counts.dropped())
  }

  /** @returns a function that ends the following */
  follow(listener: (tap: SeenTap) => void): () => void {
    this.#bus.on('tap', listener)
    return () => this.#bus.off('tap', listener)
  }
}
