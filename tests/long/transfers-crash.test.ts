import { expect, test } from 'vitest'
import { crashTransfers } from '../support/crash-transfers.ts'

const amid = { rounds: 0, interrupted: 0 }

test.each(Array.from({ length: 20 }, (_, index) => index + 1))(
  'daemon and chain killed amid a hundred transfers by code, seed %i: each token moves exactly once',
  async (seed) => {
    const { moves, misplaced, goodCodes, changedAnswers, transfers, nonces, ...killed } =
      await crashTransfers(seed)
    amid.rounds += 1
    if (killed.answeredBefore < 100) amid.interrupted += 1
    expect(moves).toEqual(moves.map(() => 1))
    expect({ misplaced, goodCodes, changedAnswers }).toEqual({
      misplaced: 0,
      goodCodes: 0,
      changedAnswers: 0,
    })
    expect(transfers).toEqual({ count: 100, states: ['confirmed'] })
    expect(nonces.used).toBe(nonces.given)
  },
)

test('the kills came while requests were under way', () => {
  expect(amid.interrupted / amid.rounds).toBeGreaterThan(0.5)
})
