import { expect, test } from 'vitest'
import { endOfDay, isTimeZone, periodsOf, startOfDay } from '../../src/values/time-zone.ts'

const iso = (at: number) => new Date(at).toISOString()
const day = (date: string, zone: string) => [iso(startOfDay(date, zone)), iso(endOfDay(date, zone))]

test('a day of a zone begins at its midnight, also where clocks change', () => {
  expect(day('2026-11-22', 'UTC')).toEqual(['2026-11-22T00:00:00.000Z', '2026-11-23T00:00:00.000Z'])
  expect(day('2026-03-29', 'Europe/Berlin')).toEqual(['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'])
  expect(day('2026-10-25', 'Europe/Berlin')).toEqual(['2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'])
  expect(day('2026-11-22', 'America/New_York')[0]).toBe('2026-11-22T05:00:00.000Z')
  expect(day('2026-11-22', 'Asia/Kathmandu')[0]).toBe('2026-11-21T18:15:00.000Z')
  // In Cairo the clocks go from midnight to one.
  expect(day('2026-04-24', 'Africa/Cairo')[0]).toBe('2026-04-23T22:00:00.000Z')
})

test('hours cover the span without gaps: 23 or 25 of them where clocks change, and off the hour where zones are', () => {
  const hours = (date: string, zone: string) =>
    periodsOf('hour', { since: startOfDay(date, zone), until: endOfDay(date, zone), zone }, 100)
  expect(hours('2026-11-22', 'UTC').map(({ label }) => label)).toEqual(
    Array.from({ length: 24 }, (_, hour) => `2026-11-22 ${String(hour).padStart(2, '0')}:00`),
  )
  expect(hours('2026-03-29', 'Europe/Berlin')).toHaveLength(23)
  const autumn = hours('2026-10-25', 'Europe/Berlin')
  expect(autumn).toHaveLength(25)
  expect(autumn.slice(2, 4).map(({ label, from }) => [label, iso(from)])).toEqual([
    ['2026-10-25 02:00', '2026-10-25T00:00:00.000Z'],
    ['2026-10-25 02:00', '2026-10-25T01:00:00.000Z'],
  ])
  expect(iso(hours('2026-11-22', 'Asia/Kathmandu')[1]?.from ?? 0)).toBe('2026-11-21T19:15:00.000Z')
  expect(hours('2026-04-05', 'Australia/Lord_Howe').map(({ from }) => from)).toEqual(
    [...new Set(hours('2026-04-05', 'Australia/Lord_Howe').map(({ from }) => from))].sort((a, b) => a - b),
  )
})

test('days are whole from the first one on, each once, and stop at a limit', () => {
  const span = { since: Date.parse('2026-03-27T20:00:00Z'), until: Date.parse('2026-03-31T00:00:00Z') }
  const labels = (zone: string) => periodsOf('day', { ...span, zone }, 100).map(({ label }) => label)
  expect(labels('UTC')).toEqual(['2026-03-27', '2026-03-28', '2026-03-29', '2026-03-30'])
  expect(labels('Asia/Tokyo')).toEqual(['2026-03-28', '2026-03-29', '2026-03-30', '2026-03-31'])
  expect(periodsOf('day', { since: 0, until: Date.now(), zone: 'UTC' }, 100)).toHaveLength(101)
  // Samoa had no 30 December 2011.
  const samoa = { since: Date.parse('2011-12-29T12:00:00Z'), until: Date.parse('2012-01-02T00:00:00Z') }
  const starts = periodsOf('day', { ...samoa, zone: 'Pacific/Apia' }, 100).map(({ from }) => from)
  expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b))
})

test('a zone is known or not', () => {
  expect(['UTC', 'Europe/Berlin', 'Atlantis/Poseidonis', ''].map(isTimeZone)).toEqual([
    true,
    true,
    false,
    false,
  ])
})
