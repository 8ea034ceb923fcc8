/** Newest IDs among which a gap is looked for at the start. */
const gapsWithin = 500
/** A write that takes longer has failed. */
const gapMs = 10_000
const maxGaps = 2000

/**
 * Up to where the table of taps was read. IDs come from a sequence, so that of two taps the one with the greater ID may be
 * stored first: an ID that is missing is looked for again until its write must have ended.
 */
export class TapCursor {
  #position: number
  /** Missing IDs, ascending, and until when they may come. */
  readonly #gaps = new Map<number, number>()

  /** @param ids stored ones, of which the newest `TapCursor.within` matter @param now on a clock that never goes back */
  constructor(newest: number, ids: readonly number[], now: number) {
    this.#position = Math.max(0, newest - gapsWithin)
    this.advance(ids, now)
    this.#position = newest
  }

  static readonly within = gapsWithin

  get position(): number {
    return this.#position
  }

  /** All taps up to here were read, or never will be there. */
  get complete(): number {
    const [first] = this.#gaps.keys()
    return first === undefined ? this.#position : first - 1
  }

  get gaps(): readonly number[] {
    return [...this.#gaps.keys()]
  }

  isGap(id: number): boolean {
    return this.#gaps.has(id)
  }

  /** @param ids read since, in any order: new ones and those of gaps @param from older ones were left out */
  advance(ids: readonly number[], now: number, from = 0): void {
    for (const [id, until] of this.#gaps) if (until < now) this.#gaps.delete(id)
    const found = new Set(ids)
    for (const id of found) this.#gaps.delete(id)
    const newest = ids.reduce((max, id) => Math.max(max, id), this.#position)
    const first = Math.max(this.#position + 1, from, newest - maxGaps)
    for (let id = first; id < newest && this.#gaps.size < maxGaps; id += 1)
      if (!found.has(id)) this.#gaps.set(id, now + gapMs)
    this.#position = newest
  }
}
