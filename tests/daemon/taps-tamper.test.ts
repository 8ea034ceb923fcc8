import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const chip = uids.blank
const decimal = BigInt(`0x${chip}`).toString()
const clock = testClock('2026-06-01T12:00:00.000Z')
let t: AdminApp
beforeAll(async () => {
  t = await openAdminApp({ seed, clock })
  await t.call('POST /admin/webhooks', {
    team: 'Acme',
    url: 'https://hooks.example/in',
    events: ['chip.opened'],
  })
})
afterAll(async () => {
  await t.close()
})

let counter = 0
/** What a chip's URL says at its next tap, in the order of the URL. */
const shows = (status?: string, uid: string = chip): Record<string, string> => {
  counter += 1
  return { ...tap(derived, status === undefined ? { uid } : { uid, t: status }, counter) }
}
const find = async (query: Record<string, string>) =>
  (await t.app.inject({ url: tapPath(query, '/chips/find') })).json().isValidTap
const seal = async (uid: string = chip) => {
  const { tamper, openedAt } = (await t.call(`GET /admin/chips/${uid}`)).body
  return { tamper, openedAt }
}
const page = async (query: Record<string, string>, language = 'en') =>
  (await t.app.inject({ url: tapPath(query), headers: { 'accept-language': language } })).body
/** Recorded for the webhook. */
const told = () => t.ctx.db.read.selectFrom('webhookDeliveries').select(['type', 'data']).execute()
const without = ({ t: _, ...rest }: Record<string, string>) => rest

test('the seal of a TagTamper chip is read under the MAC, kept, and told', async () => {
  // The first tap after a set-up: the chip has not measured yet.
  expect(await find(shows('II'))).toBe(true)
  expect(await seal()).toEqual({ tamper: null, openedAt: null })
  expect(await page(shows('CC'))).toContain('<dt>Seal</dt><dd>closed</dd>')
  expect(await seal()).toEqual({ tamper: 'closed', openedAt: null })
  // Apps that know e, c and d alone work on; what is signed cannot be changed.
  expect(await find(without(shows('CC')))).toBe(true)
  expect(await find({ ...shows('CC'), t: 'OO' })).toBe(false)
  expect(await find({ ...shows('OO'), t: 'CC' })).toBe(false)
  expect(await find({ ...shows('OO'), t: 'no status' })).toBe(false)
  expect(await seal()).toEqual({ tamper: 'closed', openedAt: null })
  expect(await told()).toEqual([])
})

test('its first opening is told once, if ten taps tell of it at the same time; it stays open', async () => {
  const taps = Array.from({ length: 10 }, (_, at) => (at % 2 ? shows('OO') : without(shows('OO'))))
  const valid = await Promise.all(taps.map(find))
  expect(valid).toContain(true)
  const opened = { tamper: 'open', openedAt: '2026-06-01T12:00:00.000Z' }
  expect(await seal()).toEqual(opened)
  clock.advance('2d')
  // Closed again by a repaired loop: the chip remembers.
  expect(await find(shows('OC'))).toBe(true)
  expect(await page(shows('OC'))).toContain('<dt>Seal</dt><dd>open, first seen on June 1, 2026</dd>')
  expect(await page(shows('OC'), 'de')).toContain('<dt>Siegel</dt><dd>offen, zuerst gesehen am 1. Juni 2026')
  expect(await seal()).toEqual(opened)

  const [event, ...more] = await told()
  expect(more).toEqual([])
  expect(event?.type).toBe('chip.opened')
  expect(JSON.parse(event?.data ?? '')).toEqual({ uid: decimal, counter: expect.any(Number) })
  const rows: { outcome: string; tamper: string | null }[] = (
    await t.call(`GET /admin/taps?uid=${chip}&limit=100`)
  ).body
  const seals = rows.filter(({ outcome }) => outcome === 'valid').map(({ tamper }) => tamper)
  expect(new Set(seals)).toEqual(new Set(['open', 'closed', null]))
  expect(seals.slice(0, 3)).toEqual(['open', 'open', 'open'])
  expect(rows.filter(({ outcome }) => outcome !== 'valid').every(({ tamper }) => tamper === null)).toBe(true)
})

test('another chip has no seal, whatever stands in its URL', async () => {
  expect(await find({ ...shows(undefined, uids.twin), t: 'OO' })).toBe(true)
  expect(await find(shows(undefined, uids.twin))).toBe(true)
  expect(await seal(uids.twin)).toEqual({ tamper: null, openedAt: null })
})
