import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage early, at the cost of some CPU time: a sheet of 100,000 rows leaves far more garbage than it
 * keeps, and the machine that sends it may be a small one. Call it before the first row; a second call does nothing.
 */
export const collectEarly = (): void => {
  // The first lets the heap grow by a third at a time, the second keeps garbage in the space that is cleared quickly.
  for (const flag of ['--optimize-for-size', '--semi-space-growth-factor=1']) setFlagsFromString(flag)
}
