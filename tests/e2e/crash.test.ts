import { expect, test } from 'vitest'
import { crashWithLedger } from '../support/crash.ts'

// The long suite has two hundred of these.
test.each([
  { withChain: false, rounds: 3 },
  { withChain: true, rounds: 2 },
])(
  'killed in the middle of what it answers ($withChain), nothing is lost and nothing comes twice',
  async (how) => {
    const ledger = await crashWithLedger(101, how)
    expect(ledger).toMatchObject({ kills: how.rounds, lost: [], twice: [], refused: [] })
    expect(ledger.answered.taps).toBeGreaterThan(10)
  },
)
