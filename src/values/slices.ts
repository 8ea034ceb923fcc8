// Work that is long is done in slices: whoever taps a chip meanwhile waits for one of them, not for all.

const sliceMs = 6

const waiting: (() => void)[] = []

/** A turn of the event loop that no other slice has: several that work long at once do so one after another. */
function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(giveTurn)
  })
}

// A tap takes a few turns: it is read, judged, written and answered. With a slice in each it would wait for as many.
const turnsBetween = 4

function giveTurn(): void {
  // The one whose turn it is stays at the head meanwhile: who comes in this turn waits for the next.
  const [next] = waiting
  next?.()
  let left = turnsBetween
  const rest = () => {
    left -= 1
    if (left > 0) {
      setImmediate(rest)
      return
    }
    waiting.shift()
    if (waiting.length > 0) giveTurn()
  }
  setImmediate(rest)
}

/** A slice of long work: `for (…) { …; if (slice.isOver) await slice.next() }`. */
export class Slice {
  #until = performance.now() + sliceMs

  get isOver(): boolean {
    return performance.now() >= this.#until
  }

  /** Lets all that has come meanwhile be done first. */
  async next(): Promise<void> {
    await ownTurn()
    this.#until = performance.now() + sliceMs
  }
}

/** How many are done at once, so that it takes about half a slice: what is written is then flushed to the disk. */
export class Pace {
  size: number
  readonly #least: number
  readonly #most: number
  /** @param bounds `least` is done in a fraction of a slice anywhere: a machine that is busy makes no work of crumbs */
  constructor({ least, most }: { least: number; most: number }) {
    this.size = least
    this.#least = least
    this.#most = most
  }

  /** @param work of so many, that waits for nothing but queries */
  async timed<T>(count: number, work: () => Promise<T>): Promise<T> {
    const begun = performance.now()
    const result = await work()
    const wanted = (count * sliceMs) / 2 / Math.max(performance.now() - begun, 0.1)
    // One pause of the machine is no reason to go on in tiny steps, nor one stroke of luck for a leap.
    const next = Math.min(Math.max(wanted, this.size / 2), this.size * 2)
    this.size = Math.max(this.#least, Math.min(this.#most, Math.round(next)))
    return result
  }
}

/** Cuts work into pieces by a pace, and lets all that has come meanwhile be done before the next. */
export async function* piecesOf<T>(items: Iterable<T> | AsyncIterable<T>, pace: Pace): AsyncGenerator<T[]> {
  const slice = new Slice()
  let piece: T[] = []
  for await (const item of items) {
    piece.push(item)
    if (piece.length < pace.size) continue
    yield piece
    piece = []
    await slice.next()
  }
  if (piece.length > 0) yield piece
}

/** Goes through a long list page by page, and lets all that has come meanwhile be done in between. */
export async function* pagesOf<T>(
  page: (after: T | undefined, limit: number) => Promise<readonly T[]>,
  bounds: { least: number; most: number },
): AsyncGenerator<T> {
  const pace = new Pace(bounds)
  const slice = new Slice()
  for (let after: T | undefined; ; ) {
    const limit = pace.size
    // What is done with the rows takes as long again as reading them.
    const rows = await pace.timed(limit, () => page(after, limit))
    yield* rows
    if (rows.length < limit) return
    after = rows.at(-1)
    await slice.next()
  }
}

type Compare<T> = (one: T, other: T) => number

const sortedAtOnce = 2000

/** Sorts in slices; the order among equals stays. */
export async function sorted<T>(items: readonly T[], compare: Compare<T>): Promise<T[]> {
  const slice = new Slice()
  let runs: T[][] = []
  for (let from = 0; from < items.length; from += sortedAtOnce) {
    runs.push(items.slice(from, from + sortedAtOnce).sort(compare))
    if (slice.isOver) await slice.next()
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], compare, slice))
    runs = merged
  }
  return runs[0] ?? []
}

async function merge<T>(ones: T[], others: readonly T[], compare: Compare<T>, slice: Slice): Promise<T[]> {
  const [last] = ones.slice(-1)
  const [first] = others
  // What came sorted is only joined.
  if (last === undefined || first === undefined || compare(last, first) <= 0) return ones.concat(others)
  const merged: T[] = []
  let at = 0
  for (const one of ones) {
    for (let other = others[at]; other !== undefined && compare(other, one) < 0; other = others[++at])
      merged.push(other)
    merged.push(one)
    if (slice.isOver) await slice.next()
  }
  return merged.concat(others.slice(at))
}
