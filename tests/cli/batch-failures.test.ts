import { expect, test } from 'vitest'
import { failureReporter } from '../../src/cli/batch/failed-file.ts'
import type { Io } from '../../src/cli/io/io.ts'

const told = (failures: readonly { row: number; why: string }[]): string[] => {
  const lines: string[] = []
  const teller = failureReporter({ warn: (line: string) => void lines.push(line) } as unknown as Io)
  for (const failure of failures) teller.report(`row ${failure.row}  failed  ${failure.why}`, failure)
  teller.end('b_1')
  return lines
}
const rows = (count: number, why: (row: number) => string) =>
  Array.from({ length: count }, (_, i) => ({ row: i + 1, why: why(i + 1) }))

test('rows that fail for one reason are named in one line, the first as it comes', () => {
  expect(told([...rows(30, () => 'The contract is paused.'), { row: 31, why: 'No such token.' }])).toEqual([
    'row 1  failed  The contract is paused.',
    'row 31  failed  No such token.',
    'rows 1-30: The contract is paused.',
  ])
})

test('so are those whose reasons differ by the token alone', () => {
  const lines = told(
    rows(12, (row) => `The contract refuses to move token ${row} to 0x${'a'.repeat(40)}: no`),
  )
  expect(lines.at(-1)).toBe('rows 1-12: The contract refuses to move token … to …: no')
  expect(lines).toHaveLength(2)
})

test('a few are told one by one', () => {
  expect(told(rows(4, () => 'No.'))).toEqual([1, 2, 3, 4].map((row) => `row ${row}  failed  No.`))
})

test('nobody reads of a hundred reasons', () => {
  const lines = told(rows(100, (row) => `reason ${'x'.repeat(row)}`))
  expect(lines).toHaveLength(51)
  expect(lines.at(-1)).toBe('… and 50 more failed. See all of them: tapchip batch report b_1 --failed')
})
