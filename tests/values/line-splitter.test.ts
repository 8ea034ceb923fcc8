import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineSplitter } from '../../src/values/line-splitter.ts'
import { cut, pieceSize } from '../support/cut-text.ts'

test('lines are the same however the text is cut, blank ones left out', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'é', ' ', '\r', '{}'), maxLength: 6 })
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), pieceSize, (lines, size) => {
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
