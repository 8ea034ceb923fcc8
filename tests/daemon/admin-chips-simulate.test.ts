import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { applySeed } from '../../src/daemon/seed/load.ts'
import { seedFile } from '../../src/daemon/seed/schema.ts'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { haloChip } from '../support/halo.ts'
import { derived, listed, listedKey, plain, seed, uids } from '../support/seeds.ts'
import { type SeedKeySet, tap, tapPath } from '../support/taps.ts'

let t: AdminApp
const ephemeral = { TAPCHIP_EPHEMERAL: 'on' }
beforeEach(async () => {
  t = await openAdminApp({ seed, env: ephemeral })
})
afterEach(() => t.close())

interface Simulated {
  uid: string
  url: string
  e: string
  c: string
  d: string
  counter: number
}

const decimal = (hex: string): string => uidFromBytes(Buffer.from(hex, 'hex'))
const simulate = async (uid: string, count?: number): Promise<Simulated[]> =>
  (await t.call(`POST /admin/chips/${uid}/simulate`, count === undefined ? {} : { count })).body
const find = async ({ url }: { url: string }) =>
  (await t.app.inject({ url: `/chips/find${new URL(url).search}` })).json()

test('a simulated tap is valid once, and a replay afterwards', async () => {
  const [shown] = await simulate(uids.blank)
  expect(shown).toMatchObject({ uid: decimal(uids.blank), counter: 1, d: '101' })
  expect(shown?.e).toMatch(/^[0-9A-F]{32}$/)
  expect(shown?.c).toMatch(/^[0-9A-F]{16}$/)
  expect(shown?.url).toBe(`${t.ctx.baseUrl}/t?d=101&e=${shown?.e}&c=${shown?.c}`)
  expect(await find(shown ?? { url: '' })).toMatchObject({ uid: decimal(uids.blank), isValidTap: true })
  expect(await find(shown ?? { url: '' })).toMatchObject({ isValidTap: false })
})

test('calls go on where the last one ended, tapped or not, and all of it is valid in order', async () => {
  const first = await simulate(uids.blank, 2)
  const second = await simulate(uids.blank)
  expect([...first, ...second].map(({ counter }) => counter)).toEqual([1, 2, 3])
  for (const shown of [...first, ...second]) expect((await find(shown)).isValidTap).toBe(true)
  await find({ url: `http://x/${tapPath(tap(derived, { uid: uids.blank }, 40), '')}` })
  expect((await simulate(uids.blank)).map(({ counter }) => counter)).toEqual([41])
  expect(await t.audit('action=taps.simulate')).toMatchObject([
    { target: decimal(uids.blank), detail: { from: 41, to: 41 } },
    { detail: { from: 3, to: 3 } },
    { detail: { from: 1, to: 2 } },
  ])
})

test('ten calls at once get ten different counters', async () => {
  const shown = await Promise.all(Array.from({ length: 10 }, () => simulate(uids.blank)))
  expect(new Set(shown.flat().map(({ counter }) => counter)).size).toBe(10)
})

const renamed: SeedKeySet = {
  ...plain,
  id: 104,
  macInputFrom: 'e',
  parameters: { e: 'picc', c: 'cmac', d: 'set' },
}
const chips: [string, SeedKeySet, object][] = [
  ['no derivation', plain, {}],
  ['derived keys', derived, {}],
  ['derived keys of a chip that was personalised twice again', derived, { generation: 2 }],
  ['listed keys', listed, { fileReadKey: listedKey }],
  ['parameters of other names', renamed, {}],
]
test.each(chips)('a key set with %s', async (_title, set, more) => {
  await t.close()
  const { fileReadKey, ...rest } = set
  const keySet = fileReadKey === '' ? rest : set
  const group = { name: 'G', chips: [{ uid: uids.blank, keySet: set.id, ...more }] }
  t = await openAdminApp({
    env: ephemeral,
    seed: { version: 1, keySets: [keySet], teams: [{ name: 'T', chipGroups: [group] }] },
  })
  const [shown] = await simulate(uids.blank)
  const { e, c, d } = { e: 'e', c: 'c', d: 'd', ...set.parameters }
  expect(shown?.url).toBe(`${t.ctx.baseUrl}/t?${d}=${set.id}&${e}=${shown?.e}&${c}=${shown?.c}`)
  expect((await find(shown ?? { url: '' })).isValidTap).toBe(true)
  expect((await find(shown ?? { url: '' })).isValidTap).toBe(false)
})

const uid = '04AAAAAAAAAA01'
const opening = { name: 'Opening', tokenId: '1', chips: [uid] }
const fair = {
  name: 'Fair',
  startDate: '2026-05-01',
  endDate: '2026-07-01',
  expiryDate: '2026-07-01',
  chips: [uid],
}
test.each([
  {
    what: 'a guestbook event',
    events: { guestbookContracts: [{ symbol: 'GB2', name: 'Guests', chainId: 31337, events: [opening] }] },
  },
  { what: 'a badge event', events: { badgeEvents: [fair] } },
])(
  'taps that were made up before a seed assigned $what to the chip are worth nothing',
  async ({ events }) => {
    await t.app.inject({
      method: 'POST',
      url: '/admin/chips/import?team=Acme&chipGroup=Test&keySet=101&simulated=true',
      headers: { ...t.admin, 'content-type': 'text/csv' },
      payload: `uid\n${uid}\n`,
    })
    const [before] = await simulate(uid)
    const again = seedFile.parse({ version: 1, teams: [{ name: 'Acme', ...events }] })
    await applySeed(t.ctx, again)
    expect((await find(before ?? { url: '' })).isValidTap).toBe(false)
    const [after] = await simulate(uid)
    // Assigned already: nothing changes, and nothing ends.
    await applySeed(t.ctx, again)
    expect((await find(after ?? { url: '' })).isValidTap).toBe(true)
  },
)

describe('is refused', () => {
  test('for a physical chip of a daemon that keeps its data, and not for one marked as simulated', async () => {
    await t.close()
    t = await openAdminApp({ seed })
    expect(await t.call(`POST /admin/chips/${uids.blank}/simulate`)).toMatchObject({
      status: 409,
      body: { code: 'conflict', message: expect.stringContaining('--ephemeral') },
    })
    await t.app.inject({
      method: 'POST',
      url: '/admin/chips/import?team=Acme&chipGroup=Test&keySet=101&simulated=true',
      headers: { ...t.admin, 'content-type': 'text/csv' },
      payload: 'uid\n04AAAAAAAAAA01\n',
    })
    const [shown] = await simulate('04AAAAAAAAAA01')
    expect((await find(shown ?? { url: '' })).isValidTap).toBe(true)
  })

  test('for a HaLo chip, which alone can sign', async () => {
    const answer = await t.app.inject({
      method: 'POST',
      url: '/admin/chips/import?team=Acme&chipGroup=Test&simulated=true',
      headers: { ...t.admin, 'content-type': 'text/csv' },
      payload: `publicKey\n${haloChip('simulate').pk2}\n`,
    })
    expect(await t.call(`POST /admin/chips/${answer.json().uid}/simulate`)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('HaLo') },
    })
  })

  test('for a chip that is not there, a count that does not fit, and a counter at its end', async () => {
    expect((await t.call('POST /admin/chips/04000000000001/simulate')).status).toBe(404)
    for (const count of [0, -1, 10_001, 1.5, 'many']) {
      expect((await t.call(`POST /admin/chips/${uids.blank}/simulate`, { count })).status).toBe(400)
    }
    await find({ url: `http://x/${tapPath(tap(derived, { uid: uids.blank }, 0xfffffe), '')}` })
    expect((await t.call(`POST /admin/chips/${uids.blank}/simulate`, { count: 2 })).status).toBe(409)
    const [last] = await simulate(uids.blank)
    expect(last?.counter).toBe(0xffffff)
    expect((await find(last ?? { url: '' })).isValidTap).toBe(true)
    expect((await t.call(`POST /admin/chips/${uids.blank}/simulate`)).status).toBe(409)
  })
})

test('answers are kept out of caches', async () => {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/admin/chips/${uids.blank}/simulate`,
    headers: t.admin,
  })
  expect(answer.headers['cache-control']).toBe('no-store')
})
