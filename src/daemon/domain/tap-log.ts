import { EventEmitter } from 'node:events'
import type { Db } from '../store/database.ts'
import type { TapRow } from '../store/schema.ts'
import { insertTaps, type NewTap } from '../store/taps.ts'

/** A tap on its way to those who follow; a refused one has no id before it is written. */
export type SeenTap = Omit<TapRow, 'id'> & { id: number | null }

// A stranger can send refused taps without end. They are written in batches, and beyond this many at once
// only counted, so that they cost neither the disk nor the others' taps.
const refusedKept = 2000
const flushAfter = 200

/** The record of taps. Valid ones are written by whoever takes them; refused ones are collected here. */
export class TapLog {
  readonly #db: Db
  readonly #bus = new EventEmitter().setMaxListeners(0)
  readonly #onDropped: () => void
  #refused: NewTap[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(db: Db, onDropped: () => void = () => undefined) {
    this.#db = db
    this.#onDropped = onDropped
  }

  /** Tells followers of a tap that is already written. */
  publish(tap: SeenTap): void {
    this.#bus.emit('tap', tap)
  }

  /** Records a refused tap, soon. */
  refuse(tap: NewTap): void {
    if (this.#refused.length >= refusedKept) this.#onDropped()
    else this.#refused.push(tap)
    if (this.#bus.listenerCount('tap') > 0) this.publish({ ...tap, id: null })
    this.#timer ??= setTimeout(() => void this.flush(), flushAfter).unref()
  }

  /** Writes what was collected. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const taps = this.#refused
    this.#refused = []
    if (taps.length > 0) await this.#db.write((trx) => insertTaps(trx, taps)).catch(this.#onDropped)
  }

  /** @returns a function that ends the following */
  follow(listener: (tap: SeenTap) => void): () => void {
    this.#bus.on('tap', listener)
    return () => this.#bus.off('tap', listener)
  }
}
