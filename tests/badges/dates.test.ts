import { describe, expect, test } from 'vitest'
import { creationResponse } from '../../src/daemon/badges/creation-response.ts'
import { dayProblems, monthFirst, readDay } from '../../src/daemon/badges/dates.ts'
import { newSecretCode } from '../../src/daemon/badges/provider.ts'
import { retryAfterMs } from '../../src/daemon/outbound/foreign-text.ts'
import { isDay } from '../../src/values/date.ts'

describe('days', () => {
  test.each(['2024-02-29', '2025-12-31', '2025-01-01'])('%s is one', (day) => expect(isDay(day)).toBe(true))

  test.each([
    '2025-02-31',
    '2025-02-29',
    '2025-13-01',
    '2025-00-10',
    '2025-04-00',
    '2025-4-1',
    '04-01-2025',
    '2025-01-01T23:30:00-05:00',
    '2025-01-01Z',
    ' 2025-01-01',
    '0000-01-01',
    '',
  ])('%j is none', (day) => expect(isDay(day)).toBe(false))

  test.each([
    ['07-18-2022', '2022-07-18'],
    ['18-Jul-2022', '2022-07-18'],
    ['07-Dec-2021', '2021-12-07'],
    ['7-december-2021', '2021-12-07'],
    ['2022-07-18', '2022-07-18'],
    ['2023-09-20T10:30:00Z', '2023-09-20'],
    ['2023-09-20T23:30:00-05:00', '2023-09-20'],
    ['2023-09-20 10:30:00', '2023-09-20'],
    ['18-07-2022', undefined],
    ['02-30-2022', undefined],
    ['31-Foo-2022', undefined],
    ['yesterday', undefined],
    ['', undefined],
  ])('POAP writes %j: %j', (text, day) => {
    expect(readDay(text)).toBe(day)
    if (day !== undefined) expect(readDay(monthFirst(day))).toBe(day)
  })

  test('an event starts before it ends, and ends before its badges do', () => {
    const days = (startDate: string, endDate: string, expiryDate: string) =>
      dayProblems({ startDate, endDate, expiryDate }).map(({ field }) => field)
    expect(days('2025-05-01', '2025-05-01', '2025-05-01')).toEqual([])
    expect(days('2025-05-01', '2025-05-03', '2026-01-01')).toEqual([])
    expect(days('2025-05-02', '2025-05-01', '2025-06-01')).toEqual(['endDate'])
    expect(days('2025-05-01', '2025-05-02', '2025-05-01')).toEqual(['expiryDate'])
    expect(days('2025-02-31', '2025-05-02T00:00:00Z', '2025-06-01')).toEqual(['startDate', 'endDate'])
  })
})

test('a secret code has six digits, from anywhere in their range', () => {
  const codes = Array.from({ length: 2000 }, newSecretCode)
  expect(codes.every((code) => /^[0-9]{6}$/.test(code))).toBe(true)
  expect(new Set(codes).size).toBeGreaterThan(1900)
  expect(new Set(codes.map((code) => code[0])).size).toBe(10)
})

test('an event that is taken as it is answers in the shape of POAP', () => {
  const event = {
    name: 'Fête de l’été № 1!',
    description: 'd',
    city: 'c',
    country: 'f',
    startDate: '2025-12-31',
    endDate: '2026-01-01',
    expiryDate: '2026-02-28',
    eventUrl: '',
    virtualEvent: false,
    privateEvent: true,
    requestedCodes: 3,
    maxPerRecipient: 1,
  }
  expect(creationResponse(event, { id: 100_000, imageUrl: 'http://x/i.png' })).toEqual({
    id: 100_000,
    fancy_id: 'fete-de-l-ete-no-1-2025-100000',
    name: 'Fête de l’été № 1!',
    description: 'd',
    city: 'c',
    country: 'f',
    event_url: '',
    image_url: 'http://x/i.png',
    animation_url: '',
    year: 2025,
    start_date: '12-31-2025',
    end_date: '01-01-2026',
    expiry_date: '02-28-2026',
    from_admin: false,
    virtual_event: false,
    event_template_id: 0,
    private_event: true,
  })
  expect(creationResponse({ ...event, name: '東京' }, { id: 7, imageUrl: '' }).fancy_id).toBe('event-2025-7')
})

test('Retry-After: seconds, a date, nothing, nonsense; between a second and an hour', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  expect(retryAfterMs('7', now, { min: 1000, max: 3_600_000 })).toBe(7_000)
  expect(retryAfterMs('0', now, { min: 1000, max: 3_600_000 })).toBe(1_000)
  expect(retryAfterMs('999999', now, { min: 1000, max: 3_600_000 })).toBe(3_600_000)
  expect(retryAfterMs('Thu, 01 Jan 2026 00:00:30 GMT', now, { min: 1000, max: 3_600_000 })).toBe(30_000)
  expect(retryAfterMs('Thu, 01 Jan 2020 00:00:30 GMT', now, { min: 1000, max: 3_600_000 })).toBe(1_000)
  expect(retryAfterMs(['5', '9'], now, { min: 1000, max: 3_600_000 })).toBe(5_000)
  for (const text of [undefined, '', 'soon', '-3x'])
    expect(retryAfterMs(text, now, { min: 1000, max: 3_600_000 })).toBeUndefined()
})
