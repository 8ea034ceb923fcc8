import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CsvReader } from '../../src/values/csv-reader.ts'
import { LineSplitter } from '../../src/values/line-splitter.ts'

const cut = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
const size = fc.integer({ min: 1, max: 20 })

test('lines are the same however the text is cut, blank ones left out', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'é', ' ', '\r', '{}'), maxLength: 6 })
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), size, (lines, size) => {
      const splitter = new LineSplitter()
      const read = cut(lines.join('\n'), size).flatMap((piece) => splitter.push(piece))
      expect([...read, ...splitter.end()]).toEqual(lines.filter((text) => text.trim() !== ''))
      expect(splitter.pending).toBe(0)
    }),
  )
})

test('of a line without end no more is kept than tells that it is too long', () => {
  const splitter = new LineSplitter(10)
  for (let i = 0; i < 100; i += 1) expect(splitter.push('x'.repeat(7))).toEqual([])
  expect(splitter.pending).toBe(11)
  const [line = ''] = splitter.push('\ny\n')
  expect(line.length).toBeGreaterThan(10)
  expect(splitter.end()).toEqual([])
})

test('rows of CSV are the same however the text is cut, with either line end', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', ' ', 'é'), maxLength: 6 })
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell), { maxLength: 12 }),
      size,
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      (rows, size, lineEnd, isEnded) => {
        const text = rows.map((cells) => cells.map(quoted).join(',')).join(lineEnd) + (isEnded ? lineEnd : '')
        const reader = new CsvReader()
        const read = cut(text, size).flatMap((piece) => reader.push(piece).rows)
        read.push(...reader.end().rows)
        const there = rows.filter((cells) => cells.some((one) => one.trim() !== ''))
        expect(read).toEqual(there)
      },
    ),
  )
})

test('a quote in the wrong place is said in words, and the rows around it are good', () => {
  const reader = new CsvReader()
  const read = [reader.push('a,b\n1,"x"y"\n2,z\n3,"open\n4'), reader.end()]
  const reasons = read.flatMap(({ rows, malformed }) => rows.map((cells) => malformed.get(cells)))
  expect(reasons.map((reason) => reason?.slice(0, 20))).toEqual([
    undefined,
    'a quote stands withi',
    undefined,
    'a quote is opened an',
  ])
})
