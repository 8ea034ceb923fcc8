import type { Clock } from '../time.ts'

const repeatMs = 5000
const mostRefs = 1000

/**
 * For development alone: a ref that is queried again within five seconds of its first query gets the same codes, since
 * pages under React's StrictMode, or ones that reload as their source changes, query twice. It is kept in memory, so the
 * codes of a ref are made once all the same.
 */
export class RepeatedRefs<Codes> {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #first = new Map<string, { codes: Promise<Codes | undefined>; until: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** @param take uses the ref up; undefined: it is not valid (any more), which is not repeated */
  async codes(id: string, take: () => Promise<Codes | undefined>): Promise<Codes | undefined> {
    const now = this.#clock.monotonic()
    for (const [old, { until }] of this.#first)
      if (until <= now || this.#first.size > mostRefs) this.#first.delete(old)
    const known = this.#first.get(id)
    if (known) return known.codes
    const codes = take()
    this.#first.set(id, { codes, until: now + repeatMs })
    const isKept = await codes.then(
      (taken) => taken !== undefined,
      () => false,
    )
    if (!isKept) this.#first.delete(id)
    return codes
  }
}
