// Long jobs run in time slices, so that a tap waits for at most one slice.

const sliceMs = 6

const waiting: (() => void)[] = []

/** Only one slice runs per event-loop turn, even with several long jobs. */
function timeSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(yieldToNext)
  })
}

// A tap takes a few turns, and a slice in each turn would delay it repeatedly.
const yieldTurns = 4

function yieldToNext(): void {
  // The current job stays in the queue, so that new jobs wait for the next turn.
  const [next] = waiting
  next?.()
  let remaining = yieldTurns
  const rest = () => {
    remaining -= 1
    if (remaining > 0) {
      setImmediate(rest)
      return
    }
    waiting.shift()
    if (waiting.length > 0) yieldToNext()
  }
  setImmediate(rest)
}

/** Usage: `for (…) { …; if (slice.isOver) await slice.next() }`. */
export class TimeSlice {
  #until = performance.now() + sliceMs

  get shouldYield(): boolean {
    return performance.now() >= this.#until
  }

  async next(): Promise<void> {
    await timeSlice()
    this.#until = performance.now() + sliceMs
  }
}

/** Adapts the batch size to take half a slice; the disk flush takes the rest. */
export class AdaptiveSize {
  size: number
  readonly #min: number
  readonly #max: number
  /** @param bounds `min` must take a fraction of a slice even on a slow machine */
  constructor({ min, max }: { min: number; max: number }) {
    this.size = min
    this.#min = min
    this.#max = max
  }

  /** @param work must await only queries */
  async timed<T>(count: number, work: () => Promise<T>): Promise<T> {
    const begun = performance.now()
    const result = await work()
    const ideal = (count * sliceMs) / 2 / Math.max(performance.now() - begun, 0.1)
    // One measurement may be off, so the size changes at most by a factor of two.
    const next = Math.min(Math.max(ideal, this.size / 2), this.size * 2)
    this.size = Math.max(this.#min, Math.min(this.#max, Math.round(next)))
    return result
  }
}

/** Yields batches and lets pending work run in between. */
export async function* piecesOf<T>(
  items: Iterable<T> | AsyncIterable<T>,
  size: AdaptiveSize,
): AsyncGenerator<T[]> {
  const slice = new TimeSlice()
  let piece: T[] = []
  for await (const item of items) {
    piece.push(item)
    if (piece.length < size.size) continue
    yield piece
    piece = []
    await slice.next()
  }
  if (piece.length > 0) yield piece
}

/** Reads page by page and lets pending work run in between. */
export async function* pagesOf<T>(
  page: (after: T | undefined, limit: number) => Promise<readonly T[]>,
  bounds: { min: number; max: number },
): AsyncGenerator<T> {
  const size = new AdaptiveSize(bounds)
  const slice = new TimeSlice()
  for (let after: T | undefined; ; ) {
    const limit = size.size
    // The pace allows for processing the rows, which takes about as long as reading them.
    const rows = await size.timed(limit, () => page(after, limit))
    yield* rows
    if (rows.length < limit) return
    after = rows.at(-1)
    await slice.next()
  }
}

type Compare<T> = (one: T, other: T) => number

const runLength = 2000

/** A stable sort in slices. */
export async function sorted<T>(items: readonly T[], compare: Compare<T>): Promise<T[]> {
  const slice = new TimeSlice()
  let runs: T[][] = []
  for (let from = 0; from < items.length; from += runLength) {
    runs.push(items.slice(from, from + runLength).sort(compare))
    if (slice.shouldYield) await slice.next()
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], compare, slice))
    runs = merged
  }
  return runs[0] ?? []
}

async function merge<T>(
  ones: T[],
  others: readonly T[],
  compare: Compare<T>,
  slice: TimeSlice,
): Promise<T[]> {
  const [last] = ones.slice(-1)
  const [first] = others
  if (last === undefined || first === undefined || compare(last, first) <= 0) return ones.concat(others)
  const merged: T[] = []
  let at = 0
  for (const one of ones) {
    for (let other = others[at]; other !== undefined && compare(other, one) < 0; other = others[++at])
      merged.push(other)
    merged.push(one)
    if (slice.shouldYield) await slice.next()
  }
  return merged.concat(others.slice(at))
}
