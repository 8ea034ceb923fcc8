import { expect, test } from 'vitest'
import { showInvisible, tidyCell, withoutInvisible } from '../../src/values/invisible.ts'

const family = '👨\u200D👩\u200D👧'

test.each([
  ['\uFEFF Jacket\u00A0\u200B', 'Jacket'],
  ['\u2066Jacket\u2069\r\n', 'Jacket'],
  ['Winter\u00A0Jacket', 'Winter\u00A0Jacket'],
  [`${family} of four`, `${family} of four`],
  ['می\u200Cخواهم', 'می\u200Cخواهم'],
  ['\u200B', ''],
])('of a text, %j, only the ends are dropped', (cell, text) => {
  expect(tidyCell('label', cell)).toBe(text)
})

test.each([
  ['uid', '04A1\u200BB2C3D4E5F6\u00A0', '04A1B2C3D4E5F6'],
  ['tokenId', '\u200E1\u200F2', '12'],
  ['chainId', '8453\u2060', '8453'],
  ['recipient', '0xd8dA\u00AD6BF26964', '0xd8dA6BF26964'],
  ['recipient', `${family}.eth`, `${family}.eth`],
])('in a cell of %s they are dropped anywhere, but for the joiners of emoji', (column, cell, text) => {
  expect(tidyCell(column, cell)).toBe(text)
})

test('an identifier loses all of them', () => {
  expect(withoutInvisible('04\u200D9\u200C8')).toBe('0498')
})

test('messages show them, and leave emoji whole', () => {
  expect(showInvisible('04A1\u200B\u00A0\uFEFF')).toBe('04A1<U+200B><U+00A0><U+FEFF>')
  expect(showInvisible(`${family} x\u200Dy`)).toBe(`${family} x<U+200D>y`)
})
