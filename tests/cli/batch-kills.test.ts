import { test } from 'vitest'
import { killBatches } from '../support/batch-kills.ts'

test.each(['badge-events create'])(
  'kill -9 of the machine of %s, and of its daemon: each row once',
  async (name) => {
    await killBatches(name, 2)
  },
)
