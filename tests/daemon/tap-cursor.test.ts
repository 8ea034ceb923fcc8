import { expect, test } from 'vitest'
import { TapCursor } from '../../src/daemon/domain/taps/tap-cursor.ts'

test('a tap that is stored after one with a greater ID is looked for, until its write must have ended', () => {
  const cursor = new TapCursor(5, [1, 2, 3, 5], 0)
  expect([cursor.position, cursor.complete, cursor.gaps]).toEqual([5, 3, [4]])
  cursor.advance([6, 9], 1000)
  expect([cursor.position, cursor.complete, cursor.gaps]).toEqual([9, 3, [4, 7, 8]])
  cursor.advance([4, 8], 2000)
  expect([cursor.position, cursor.complete, cursor.gaps]).toEqual([9, 6, [7]])
  cursor.advance([], 11_001)
  expect([cursor.complete, cursor.gaps]).toEqual([9, []])
})

test('what is looked for is bounded', () => {
  const cursor = new TapCursor(1_000_000, [1_000_000], 0)
  expect(cursor.gaps).toHaveLength(TapCursor.within - 1)
  cursor.advance([9_000_000], 0)
  expect(cursor.gaps.length).toBeLessThanOrEqual(2000)
  cursor.advance([9_000_010], 20_000, 9_000_008)
  expect(cursor.gaps).toEqual([9_000_008, 9_000_009])
})
