import { expect, test } from 'vitest'
import { crashTransfers } from '../support/crash-transfers.ts'

// The long suite has twenty of these.
test('daemon and chain killed amid a hundred transfers by code: each token moves exactly once', async () => {
  const { moves, misplaced, goodCodes, changedAnswers, transfers, nonces } = await crashTransfers(101)
  expect(moves).toEqual(moves.map(() => 1))
  expect({ misplaced, goodCodes, changedAnswers }).toEqual({ misplaced: 0, goodCodes: 0, changedAnswers: 0 })
  expect(transfers).toEqual({ count: 100, states: ['confirmed'] })
  expect(nonces.used).toBe(nonces.given)
})
