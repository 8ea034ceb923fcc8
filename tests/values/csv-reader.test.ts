import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CsvReader } from '../../src/values/csv-reader.ts'
import { cut, pieceSize } from '../support/cut-text.ts'

test('rows of CSV are the same however the text is cut, with either line end', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', ' ', 'é'), maxLength: 6 })
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell), { maxLength: 12 }),
      pieceSize,
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

test('a line of what nobody sees is blank', () => {
  const reader = new CsvReader()
  expect(reader.push('a,b\n\u200B,\u00A0\u2060\n1,2\n').rows).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ])
})

test('a quote in the wrong place is said in words, and the rows around it are good', () => {
  const reader = new CsvReader()
  const read = [reader.push('a,b\n1,"x"y"\n2,z\n3,"open\n4'), reader.end()]
  const reasons = read.flatMap(({ rows, malformed }) => rows.map((cells) => malformed.get(cells)))
  expect(reasons.map((reason) => reason?.slice(0, 20))).toEqual([
    undefined,
    'a quoted text contai',
    undefined,
    'a quote is opened bu',
  ])
})
