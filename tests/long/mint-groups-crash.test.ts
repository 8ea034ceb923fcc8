import { expect } from 'vitest'
import { testOfFile } from '../support/engines.ts'
import { mintSheetKilledAt } from '../support/mint-crashes.ts'

testOfFile.each([
  { writes: 'a group that is recorded', at: 1, when: 'after' },
  { writes: 'a group that is signed', at: 1, when: 'after' },
  { writes: 'a group that is settled', at: 1, when: 'before' },
  { writes: 'results', at: 1, when: 'before' },
] as const)('a daemon killed $when the commit of $writes mints each row of the sheet once', async (kill) => {
  // A group that was still open when its daemon was killed is sent without the rows that had not joined.
  expect(await mintSheetKilledAt(kill, 60)).toBeLessThanOrEqual(2)
})

testOfFile.each([
  { writes: 'a group that is recorded', at: 1, when: 'after' },
  { writes: 'a group that is signed', at: 1, when: 'after' },
  { writes: 'a group that is settled', at: 1, when: 'before' },
  { writes: 'results', at: 1, when: 'before' },
] as const)(
  'a daemon killed $when the commit of $writes mints each guest of the sheet once',
  async (kill) => {
    expect(await mintSheetKilledAt(kill, 60, 'guests')).toBeLessThanOrEqual(3)
  },
)
