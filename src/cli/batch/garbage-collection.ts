import { setFlagsFromString } from 'node:v8'

/** Fewer rows take little memory, and the time is better spent on them. */
const manyRows = 10_000

let isEarly = false

/**
 * Makes V8 collect garbage early, at the cost of some CPU time: a sheet of 100,000 rows leaves far more garbage than it
 * keeps, and the machine that sends it may be a small one. Call it with the number of rows that there are so far.
 */
export const tuneGarbageCollection = (rows: number): void => {
  if (isEarly || rows < manyRows) return
  isEarly = true
  // The first lets the heap grow by a third at a time, the second keeps garbage in the space that is cleared quickly.
  for (const flag of ['--optimize-for-size', '--semi-space-growth-factor=1']) setFlagsFromString(flag)
}
