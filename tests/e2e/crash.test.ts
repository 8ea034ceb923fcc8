import { expect, test } from 'vitest'
import { crashInTheMiddleOfTaps } from '../support/crash.ts'

test.each([300, 450])(
  'killed %i ms into a stream of taps, no tap that was answered valid is valid again',
  async (ms) => {
    const { answeredValid, validAgain, recorded } = await crashInTheMiddleOfTaps(ms)
    expect(answeredValid).toBeGreaterThan(20)
    expect(validAgain).toBe(0)
    expect(recorded).toBeGreaterThanOrEqual(answeredValid)
  },
)
