import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spendCode } from '../../src/daemon/domain/codes/otps.ts'
import { haloUid } from '../../src/nfc/halo/tap.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { haloChip } from '../support/halo.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// What an attacker tried, and how it ends now.

let t: TestApp
let counter = 0
const clock = testClock()
beforeAll(async () => {
  t = await openTestApp({ seed, clock })
})
afterAll(() => t.close())
const admin = (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object, token?: string) =>
  t.app.inject({
    method,
    url,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : t.admin),
      ...(payload ? { 'content-type': 'application/json' } : {}),
    },
    ...(payload ? { payload: JSON.stringify(payload) } : {}),
  })

describe('one tap', () => {
  test('gives codes that are worth one use together, of ten at once too', async () => {
    const { body } = await t.app.inject({ url: tapPath(tap(derived, { uid: uids.events }, ++counter)) })
    const refs = [...body.matchAll(/(?:svcRef=|data-ref=")([A-Za-z0-9_-]{21})/g)].map((match) => match[1])
    const codes: string[] = []
    for (const ref of refs) {
      const answer = await t.app.inject({ url: `/refs/${ref}`, headers: { 'x-svc-api-key': acmeKey } })
      codes.push(answer.json().guestbookEvents[0].otp, answer.json().badgeEvents[0].otp)
    }
    expect(new Set(codes).size).toBe(6)
    const now = new Date(clock.now()).toISOString()
    const guestbook = codes.filter((_, index) => index % 2 === 0)
    const uses = Array.from({ length: 10 }, (_, i) =>
      t.ctx.db.write((trx) => spendCode(trx, t.ctx, guestbook[i % 3] ?? '', now)),
    )
    const used = await Promise.allSettled(uses)
    expect(used.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const use of used)
      if (use.status === 'rejected') expect(use.reason.code).toMatch(/^otp_(used|expired)$/)
    const [, badge = ''] = codes
    expect((await t.app.inject({ url: `/otps/${badge}` })).json().isExpired).toBe(false)
  })

  test('is read with what the query has beside it, and with numbers from a body', async () => {
    const { d, e, c } = tap(derived, { uid: uids.jacket }, ++counter)
    expect(
      (await t.app.inject({ url: `/chips/find?utm=1&utm=2&d=${d}&e=${e}&c=${c}` })).json().isValidTap,
    ).toBe(true)
    const next = tap(derived, { uid: uids.jacket }, ++counter)
    const payload = JSON.stringify({ ...next, d: Number(next.d), extra: {} })
    const headers = { 'content-type': 'application/json' }
    expect(
      (await t.app.inject({ method: 'GET', url: '/chips/find', headers, payload })).json().isValidTap,
    ).toBe(true)
    const opened = await t.app.inject({ url: tapPath(tap(derived, { uid: uids.jacket }, ++counter)) })
    const ref = new URL(String(opened.headers.location)).searchParams.get('svcRef')
    const asked = await t.app.inject({
      method: 'GET',
      url: `/refs/${ref}`,
      headers,
      payload: '{"includeMetadata":true}',
    })
    expect(asked.json().linkedToken.metadata).toMatchObject({ name: 'Jacket #1' })
  })

  test('of a chip that was disabled meanwhile shows its page no more, also once it is enabled', async () => {
    const parameters = tap(derived, { uid: uids.events }, ++counter)
    const first = await t.app.inject({ url: tapPath(parameters) })
    const cookie = String(first.headers['set-cookie']).split(';')[0] ?? ''
    await admin('POST', `/admin/chips/${uids.events}/disable`, {})
    await admin('POST', `/admin/chips/${uids.events}/enable`, {})
    expect((await t.app.inject({ url: tapPath(parameters), headers: { cookie } })).statusCode).toBe(410)
  })
})

describe('a key set', () => {
  const open = (parameters: { e?: string; c?: string; d?: string }) => {
    const set = { ...derived, parameters }
    const chips = [{ uid: uids.jacket, keySet: 101 }]
    return openTestApp({
      seed: { version: 1, keySets: [set], teams: [{ name: 'T', chipGroups: [{ name: 'G', chips }] }] },
    })
  }

  test('that names d alone in another way verifies', async () => {
    const own = await open({ d: 'batch' })
    const { d, e, c } = tap({ ...derived, parameters: { d: 'batch' } }, { uid: uids.jacket }, 3)
    expect((await own.app.inject({ url: `/chips/find?batch=${d}&e=${e}&c=${c}` })).json().isValidTap).toBe(
      true,
    )
    await own.close()
  })

  test('with names that every object has harms no other family', async () => {
    const own = await open({ e: 'constructor', c: 'toString', d: 'valueOf' })
    const { pk1, pk2, tap: haloTap } = haloChip('proto')
    const { rnd, rndsig } = haloTap(1)
    expect(
      (await own.app.inject({ url: tapPath({ pk1, pk2, rnd, rndsig }, '/chips/find') })).statusCode,
    ).toBe(404)
    const { d, e, c } = tap(
      { ...derived, parameters: { e: 'constructor', c: 'toString', d: 'valueOf' } },
      { uid: uids.jacket },
      3,
    )
    const url = `/chips/find?valueOf=${d}&constructor=${e}&toString=${c}`
    expect((await own.app.inject({ url })).json().isValidTap).toBe(true)
    await own.close()
  })
})

test('a chip that comes back under another key set with the same keys goes on where it was', async () => {
  const twinSet = { ...derived, id: 201 }
  const chips = [{ uid: uids.jacket, keySet: 101 }]
  const own = await openTestApp({
    seed: {
      version: 1,
      keySets: [
        { ...derived, macInputFrom: null },
        { ...twinSet, macInputFrom: null },
      ],
      teams: [{ name: 'T', chipGroups: [{ name: 'G', chips }] }],
    },
  })
  const set = { ...derived, macInputFrom: null }
  const used = tap(set, { uid: uids.jacket }, 7)
  expect((await own.app.inject({ url: tapPath(used, '/chips/find') })).json().isValidTap).toBe(true)
  await own.app.inject({ method: 'DELETE', url: `/admin/chips/${uids.jacket}`, headers: own.admin })
  const imported = await own.app.inject({
    method: 'POST',
    url: '/admin/chips/import?chipGroup=G&keySet=201',
    headers: { ...own.admin, 'content-type': 'text/csv' },
    payload: `uid\n${uids.jacket}\n`,
  })
  expect(imported.body).toContain('created')
  expect(
    (await own.app.inject({ url: tapPath({ ...used, d: '201' }, '/chips/find') })).json().isValidTap,
  ).toBe(false)
  const next = tap({ ...set, id: 201 }, { uid: uids.jacket }, 8)
  expect((await own.app.inject({ url: tapPath(next, '/chips/find') })).json().isValidTap).toBe(true)
  await own.close()
})

test('a HaLo chip whose UID has 14 decimal digits is found by it', async () => {
  let halo = haloChip('0')
  for (let i = 1; haloUid(Buffer.from(halo.pk2, 'hex')).length !== 14; i++) halo = haloChip(String(i))
  const uid = haloUid(Buffer.from(halo.pk2, 'hex'))
  const chips = [{ family: 'halo', publicKey: halo.pk2 }]
  const apiKeys = [{ name: 'k', key: 'svc_halo_0123456789abcdef' }]
  const own = await openTestApp({
    seed: { version: 1, teams: [{ name: 'T', apiKeys, chipGroups: [{ name: 'G', chips }] }] },
  })
  const headers = { 'x-svc-api-key': 'svc_halo_0123456789abcdef', 'content-type': 'application/json' }
  const edit = (redirectUrl: string) =>
    own.app.inject({
      method: 'PATCH',
      url: '/chips',
      headers,
      payload: JSON.stringify({ tagUIDs: [uid], updates: { redirectUrl } }),
    })
  expect((await edit('https://one.example/')).statusCode).toBe(200)
  const row = await own.app.inject({
    method: 'POST',
    url: '/chips/batch',
    headers,
    payload: JSON.stringify({ uid, redirectUrl: 'https://two.example/' }),
  })
  expect(row.json()).toMatchObject({ status: 'changed', uid, previous: 'https://one.example/' })
  await own.close()
})
