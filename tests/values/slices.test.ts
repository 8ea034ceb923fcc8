import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AdaptiveSize, pagesOf, piecesOf, sorted, TimeSlice } from '../../src/values/time-slices.ts'

test('sorting in slices sorts, and keeps the order among equals', async () => {
  const row = fc.record({ key: fc.integer({ min: 0, max: 50 }), at: fc.nat() })
  const byKey = (one: { key: number }, other: { key: number }) => one.key - other.key
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 100 }), async (rows) => {
      const long = Array.from({ length: 60 }, () => rows).flat()
      expect(await sorted(long, byKey)).toEqual(long.toSorted(byKey))
    }),
    { numRuns: 20 },
  )
})

test('of several that work long at once, one has a turn of the event loop', async () => {
  const log: string[] = []
  let isOver = false
  const turn = () => {
    log.push('turn')
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const work = async (name: string) => {
    const slice = new TimeSlice()
    for (let at = 0; at < 20; at += 1) {
      await slice.next()
      log.push(name)
    }
  }
  await Promise.all(['a', 'b', 'c', 'd'].map(work))
  isOver = true
  const between = log
    .join(' ')
    .split('turn')
    .map((names) => names.trim().split(' ').filter(Boolean).length)
  expect(Math.max(...between)).toBe(1)
  // And they take turns.
  expect(
    log
      .filter((name) => name !== 'turn')
      .slice(0, 8)
      .join(''),
  ).toBe('abcdabcd')
})

test('pieces grow where they are quick, and shrink where they are slow, within their bounds', async () => {
  const sizes = async (msEach: number) => {
    const pace = new AdaptiveSize({ min: 10, max: 100 })
    const seen: number[] = []
    for await (const piece of piecesOf(Array(1000).keys(), pace)) {
      seen.push(piece.length)
      await pace.timed(piece.length, async () => {
        const end = performance.now() + msEach * piece.length
        while (performance.now() < end);
      })
    }
    expect(seen.reduce((sum, size) => sum + size)).toBe(1000)
    return seen
  }
  expect(Math.max(...(await sizes(0)))).toBe(100)
  expect(new Set((await sizes(1)).slice(0, -1))).toEqual(new Set([10]))
})

test.each([0, 1, 9, 10, 11, 1000])('a list of %i is gone through to its end', async (count) => {
  const page = async (after: number | undefined, limit: number) =>
    Array.from({ length: count }, (_, at) => at)
      .filter((at) => at > (after ?? -1))
      .slice(0, limit)
  const seen: number[] = []
  for await (const one of pagesOf(page, { min: 10, max: 100 })) seen.push(one)
  expect(seen).toEqual(Array.from({ length: count }, (_, at) => at))
})
