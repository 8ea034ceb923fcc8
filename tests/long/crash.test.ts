import { expect, test } from 'vitest'
import { crashInTheMiddleOfTaps } from '../support/crash.ts'

// A spread of moments: in the first commits, in the middle, after a checkpoint of the log.
test.each(Array.from({ length: 20 }, (_, i) => 60 + i * i * 9))('killed after %i ms', async (ms) => {
  const { answeredValid, validAgain, recorded } = await crashInTheMiddleOfTaps(ms)
  expect(validAgain).toBe(0)
  expect(recorded).toBeGreaterThanOrEqual(answeredValid)
})
