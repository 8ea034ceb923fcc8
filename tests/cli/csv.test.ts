import fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvRows, sniffDelimiter } from '../../src/cli/batch/input/columns.ts'
import { csvPieces, guardCell, sheetLine, unguardCell } from '../../src/cli/io/lists.ts'
import { clean, shown, widthOf } from '../../src/cli/io/text.ts'
import { parseExact } from '../../src/values/json.ts'

test('no cell that we write runs as a formula, and a round trip changes nothing', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^'{0,3}[=+@\-＝＋－＠a-z\t\r]?.{0,9}$/), (cell) => {
      expect(guardCell(cell)).not.toMatch(/^[=+\-@＝＋－＠\t\r]/)
      expect(unguardCell(guardCell(cell))).toBe(cell)
    }),
  )
})

test('what is written as CSV is read as it was, however the bytes are cut', async () => {
  const cell = fc.string({
    unit: fc.constantFrom('a', '"', ',', ';', '\n', ' ', "'", '=', 'é'),
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 40 }),
      async (rows, size) => {
        const text = `uid,label\n${rows.map(([a, b]) => sheetLine([`x${a}`, b])).join('')}`
        async function* chunks() {
          for (let i = 0; i < text.length; i += size) yield text.slice(i, i + size)
        }
        const read: (readonly string[])[] = []
        for await (const { rows } of csvRows(chunks()))
          read.push(...rows.map((cells) => cells.map(unguardCell)))
        expect(read.slice(1)).toEqual(rows.map(([a, b]) => [`x${a}`, b]))
      },
    ),
  )
})

test('the delimiter is the one that the heading holds most of', () => {
  expect(sniffDelimiter('uid,redirectUrl')).toBe(',')
  expect(sniffDelimiter('uid;"a,b,c";redirectUrl')).toBe(';')
  expect(sniffDelimiter('uid\tredirectUrl')).toBe('\t')
  expect(sniffDelimiter('uid')).toBe(',')
})

test('a number that no double holds is printed as it is, in lines and in cells', () => {
  const previous = parseExact('{"edition":18446744073709551615}')
  expect(shown(previous)).toBe('{"edition":18446744073709551615}')
  expect([...csvPieces()([{ previous }])]).toEqual(['previous', '"{""edition"":18446744073709551615}"'])
})

test('text from a daemon cannot steer a terminal', () => {
  expect(clean('a\u001b[2Jb\u202ec\nd')).toBe('a\\u001b[2Jb\\u202ec\\u000ad')
  expect([widthOf('abc'), widthOf('日本'), widthOf('e\u0301')]).toEqual([3, 4, 1])
})
