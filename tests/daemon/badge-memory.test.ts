import { expect, test } from 'vitest'
import { MB, measureUpload } from '../support/badge-memory.ts'

// The long suite uploads more often, and to POAP as well.
test('an upload of 4 MB raises the memory by a few times its size, which the database takes to store it', async () => {
  const { rise } = await measureUpload()
  expect(rise).toBeLessThan(40 * MB)
})
