import { expect, test } from 'vitest'
import { crashWithLedger } from '../support/crash.ts'

// Each kill comes after so many answers, on the same data: two hundred of them, in all places that a seed can name.

test.each([1, 2, 3])(
  '50 kills amid taps, refs and edits, seed %i: 0 lost, 0 twice',
  async (seed) => {
    const ledger = await crashWithLedger(seed, { rounds: 50, withChain: false })
    expect(ledger).toMatchObject({ kills: 50, lost: [], twice: [], refused: [] })
    for (const answered of [ledger.answered.taps, ledger.answered.refs, ledger.answered.edits])
      expect(answered).toBeGreaterThan(50)
  },
  600_000,
)

test('50 kills amid tokens that are sent on and on: 0 lost, 0 twice', async () => {
  const ledger = await crashWithLedger(4, { rounds: 50, withChain: true })
  expect(ledger).toMatchObject({ kills: 50, lost: [], twice: [], refused: [] })
  expect(ledger.answered.transfers).toBeGreaterThan(200)
}, 600_000)
