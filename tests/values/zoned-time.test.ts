import { expect, test } from 'vitest'
import { readZonedTime } from '../../src/values/zoned-time.ts'

test.each([
  ['2026-11-27T18:00+01:00', '2026-11-27T17:00:00.000Z'],
  ['2026-11-27T18:00:30Z', '2026-11-27T18:00:30.000Z'],
  ['2026-11-27T18:00 Europe/Rome', '2026-11-27T17:00:00.000Z'],
  ['2026-07-01T18:00 Europe/Rome', '2026-07-01T16:00:00.000Z'],
  ['2026-07-01 18:00:05 America/New_York', '2026-07-01T22:00:05.000Z'],
  ['2026-01-01T00:30 Asia/Kathmandu', '2025-12-31T18:45:00.000Z'],
  ['2026-01-01T00:30 Pacific/Kiritimati', '2025-12-31T10:30:00.000Z'],
  ['2026-01-01T12:00 UTC', '2026-01-01T12:00:00.000Z'],
  // The last minute before the clocks are set, and the first after.
  ['2026-03-29T01:59 Europe/Rome', '2026-03-29T00:59:00.000Z'],
  ['2026-03-29T03:00 Europe/Rome', '2026-03-29T01:00:00.000Z'],
  ['2026-10-25T01:59 Europe/Rome', '2026-10-24T23:59:00.000Z'],
  ['2026-10-25T03:00 Europe/Rome', '2026-10-25T02:00:00.000Z'],
  ['2026-11-01T12:00 America/New_York', '2026-11-01T17:00:00.000Z'],
])('%s is %s', (text, time) => {
  expect(readZonedTime(text)).toEqual({ time })
})

test.each([
  ['2026-03-29T02:30 Europe/Rome', 'does not exist: the clocks of Europe/Rome are set forward then'],
  [
    '2026-10-25T02:30 Europe/Rome',
    'happens twice, as the clocks of Europe/Rome are set back then: give 2026-10-25T02:30+02:00 or 2026-10-25T02:30+01:00',
  ],
  [
    '2026-11-01T01:30 America/New_York',
    'happens twice, as the clocks of America/New_York are set back then: give 2026-11-01T01:30-04:00 or 2026-11-01T01:30-05:00',
  ],
  // Half an hour forward.
  [
    '2026-10-04T02:15 Australia/Lord_Howe',
    'does not exist: the clocks of Australia/Lord_Howe are set forward then',
  ],
  ['2026-11-27T18:00 Europe/Nowhere', 'names no known time zone: "Europe/Nowhere"'],
])('%s is refused', (text, problem) => {
  expect(readZonedTime(text)).toEqual({ problem })
})

test.each([
  '2026-11-27',
  '2026-11-27T18:00',
  '2026-02-30T18:00 Europe/Rome',
  '18:00 Europe/Rome',
  '',
  'tomorrow',
])('"%s" is no time', (text) => {
  expect(readZonedTime(text)).toEqual({ problem: expect.stringContaining('with an offset or a zone') })
})
