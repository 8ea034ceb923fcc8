import { describe, expect, test } from 'vitest'
import { isInstant, readMoment } from '../../src/values/date.ts'

describe('times', () => {
  test.each([
    ['2026-12-31', '2026-12-31T00:00:00.000Z'],
    ['2024-02-29T23:59Z', '2024-02-29T23:59:00.000Z'],
    ['2026-12-31T18:00:00+02:00', '2026-12-31T16:00:00.000Z'],
    ['2026-12-31T18:00:00-0530', '2026-12-31T23:30:00.000Z'],
    ['2026-12-31T18:00:00.1234567Z', '2026-12-31T18:00:00.123Z'],
  ])('%s is %s', (text, time) => expect(readMoment(text)).toBe(time))

  test.each([
    '2026-13-45',
    '2026-02-30',
    '2026-02-30T10:00:00Z',
    '2026-12-31T24:00:00Z',
    '2026-12-31T12:60:00Z',
    '2026-12-31T12:00:00+24:00',
    '2026-12-31T12:00:00',
    '2026-12-31 12:00:00Z',
    '12/31/2026',
    '1767139200',
    '',
  ])('%j is none', (text) => expect(readMoment(text)).toBeUndefined())

  test('an instant says its offset, and is to the second at least', () => {
    for (const text of ['2026-12-31T18:00:00Z', '2026-12-31T18:00:00+00:00', '2026-12-31T20:00:00.5+02:00'])
      expect(isInstant(text)).toBe(true)
    for (const text of [
      '2026-02-30T18:00:00Z',
      '2026-12-31T18:00Z',
      '2026-12-31T18:00:00',
      '2026-12-31T18:00:00+99:00',
      '2026-12-31',
    ])
      expect(isInstant(text)).toBe(false)
  })
})
