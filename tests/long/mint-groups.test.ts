import { expect, test } from 'vitest'
import { type MintKill, mintSheetKilledAt, mintWrites } from '../support/mint-crashes.ts'

const writes = Object.keys(mintWrites) as MintKill['writes'][]
// The relayer may sign, send, or settle all groups of 500 rows by one write.
const later = { 'a group that is recorded': 8, results: 2 }
const kills = writes.flatMap((name): MintKill[] => [
  { writes: name, at: 1, when: 'after' },
  { writes: name, at: name in later ? later[name as keyof typeof later] : 1, when: 'before' },
])

test.each(kills)(
  '1,000 mints of a sheet, killed $when commit $at of $writes: each once, in 20 at most',
  async (kill) => {
    expect(await mintSheetKilledAt(kill, 1000)).toBeLessThanOrEqual(20)
  },
)

test('1,000 guests of a sheet, killed amid their groups: each once, in 20 at most', async () => {
  expect(
    await mintSheetKilledAt({ writes: 'results', at: 2, when: 'before' }, 1000, 'guests'),
  ).toBeLessThanOrEqual(20)
})
