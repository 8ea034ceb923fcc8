import { expect, test } from 'vitest'
import { MB, measureUpload } from '../support/badge-memory.ts'

// The long suite uploads more often, and to POAP as well.
test('an upload of 4 MB raises the memory by little more than its size', async () => {
  const { rise } = await measureUpload()
  expect(rise).toBeLessThan(16 * MB)
})
