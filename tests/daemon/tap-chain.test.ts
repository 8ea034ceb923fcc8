import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { spendCode } from '../../src/daemon/domain/codes/otps.ts'
import { deleteOld, makeTapMonths } from '../../src/daemon/domain/operations/retention.ts'
import { deleteOldestRefusedTaps } from '../../src/daemon/store/taps/taps.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { haloChip } from '../support/halo.ts'
import { acmeKey, derived, plain, seed, uids } from '../support/seeds.ts'
import { type SeedKeySet, tap, tapPath } from '../support/taps.ts'

// Taps that used a chip's counter up are a chain, which begins at the chip, or at what is remembered of it.

const sameKeys: SeedKeySet = { ...derived, id: 111 }
const otherKeys: SeedKeySet = {
  ...derived,
  id: 112,
  fileReadKey: 'a2'.repeat(16),
  metaReadKey: 'b3'.repeat(16),
}
const keySets = [...seed.keySets, sameKeys, otherKeys]
const others = '04827F12647380'

let clock: TestClock
let t: AdminApp
beforeEach(async () => {
  clock = testClock()
  const opened = await openAdminApp({ seed: { ...seed, keySets }, clock })
  onTestFinished(() => opened.close())
  t = opened
})

interface Listed {
  id: number
  counter: number
  outcome: string
  at: string
  team: string
  uid: string
}

const decimal = (hex: string): string => BigInt(`0x${hex}`).toString()
const list = async (query = '', uid: string = uids.blank): Promise<Listed[]> =>
  (await t.call(`GET /admin/taps?uid=${uid}&${query}`)).body
/** Those that were refused have an R. */
const shown = (taps: Listed[]) =>
  taps.map(({ counter, outcome }) => (outcome === 'valid' ? `${counter}` : `${counter} R`)).join(', ')
const find = async (counter: number, { set = derived, uid = uids.blank as string } = {}) => {
  clock.advance('1s')
  return (await t.call(`GET ${tapPath(tap(set, { uid }, counter), '/chips/find')}`)).body
}
const remove = async (uid: string = uids.blank) =>
  expect((await t.call(`DELETE /admin/chips/${uid}`)).status).toBe(200)
const register = async (keySet: number, uid: string = uids.blank, team = 'Acme') => {
  const headers = { ...t.admin, 'content-type': 'text/csv' }
  const path = `POST /admin/chips/import?team=${team}&chipGroup=Again&keySet=${keySet}`
  expect((await t.call(path, `uid\n${uid}\n`, headers)).text).toContain('"created"')
}

describe('the taps of a chip', () => {
  test('are listed by counter, with those that were refused in between, by page, date, and outcome', async () => {
    for (const counter of [1, 2, 3]) {
      await find(counter)
      await find(counter, { uid: uids.twin })
    }
    expect((await find(2)).isValidTap).toBe(false)
    await t.ctx.tapLog.flush()
    await t.call(`POST /admin/chips/${uids.blank}/disable`, {})
    await find(4)
    await t.call(`POST /admin/chips/${uids.blank}/enable`)
    for (const counter of [6, 9]) await find(counter)
    const all = await list()
    expect(shown(all)).toBe('9, 6, 4 R, 2 R, 3, 2, 1')
    expect(new Set(all.map(({ uid }) => uid))).toEqual(new Set([decimal(uids.blank)]))
    for (const [query, expected] of [
      ['limit=2', '9, 6'],
      ['outcome=valid', '9, 6, 3, 2, 1'],
      ['outcome=valid&limit=3', '9, 6, 3'],
      ['outcome=refused', '4 R, 2 R'],
      ['outcome=disabled', '4 R'],
      ['outcome=replayed', '2 R'],
      ['outcome=wrong-mac', ''],
      [`since=${all[2]?.at}`, '9, 6, 4 R'],
      [`since=${all[2]?.at}&outcome=valid`, '9, 6'],
      [`before=${all[3]?.id}`, '3, 2, 1'],
      [`before=${all[3]?.id}&outcome=refused`, ''],
      [`before=${all[1]?.id}&since=${all[3]?.at}`, '4 R, 2 R'],
    ] as const)
      expect([query, shown(await list(query))]).toEqual([query, expected])
    const paged: Listed[] = []
    for (let page = await list('limit=2'); page.length > 0; ) {
      paged.push(...page)
      page = await list(`limit=2&before=${page.at(-1)?.id}`)
    }
    expect(paged).toEqual(all)
  })

  test('stay when the oldest of all refused ones go, which used its counter up as well', async () => {
    await find(1)
    await t.call(`POST /admin/chips/${uids.blank}/disable`, {})
    await find(2)
    await t.call(`POST /admin/chips/${uids.blank}/enable`)
    await find(3)
    expect(await t.ctx.db.write((trx) => deleteOldestRefusedTaps(trx, 1))).toBe(1)
    expect(shown(await list())).toBe('3, 1')
  })

  test.each([
    ['the same key set', derived, 3],
    ['another key set with the same keys', sameKeys, 3],
    ['another key set', otherKeys, 1],
  ])('stay when it was removed and registered again under %s', async (_, set, next) => {
    for (const counter of [1, 2]) await find(counter)
    await remove()
    expect(shown(await list())).toBe('2, 1')
    await register(set.id)
    expect(shown(await list())).toBe('2, 1')
    for (const counter of [next, next + 1]) expect((await find(counter, { set })).isValidTap).toBe(true)
    const both = `${next + 1}, ${next}, 2, 1`
    expect(shown(await list())).toBe(both)
    await remove()
    expect(shown(await list())).toBe(both)
    // Back under the first one: its chain goes on, and none of the other's taps is missing.
    await register(derived.id)
    expect((await find(9)).isValidTap).toBe(true)
    expect(shown(await list())).toBe(`9, ${both}`)
    expect(shown(await list('outcome=valid&limit=2'))).toBe(`9, ${next + 1}`)
  })

  test('end where older ones are no longer kept', async () => {
    await makeTapMonths(t.ctx.db, clock.now())
    for (const counter of [1, 2]) await find(counter)
    await find(1, { uid: uids.twin })
    clock.advance('700d')
    await makeTapMonths(t.ctx.db, clock.now())
    for (const counter of [3, 4]) await find(counter)
    clock.advance('62d')
    await deleteOld(t.ctx)
    expect(shown(await list())).toBe('4, 3')
    await find(5)
    expect(shown(await list())).toBe('5, 4, 3')
    // All taps of a chip may be gone.
    expect(await list('', uids.twin)).toEqual([])
    await find(2, { uid: uids.twin })
    expect(shown(await list('', uids.twin))).toBe('2')
  })

  test("of another team are nobody's but its own, also once it has a chip of the first team", async () => {
    await find(1, { uid: others })
    expect(await list('team=Acme', others)).toEqual([])
    expect(shown(await list('team=Other', others))).toBe('1')
    await remove(others)
    await register(derived.id, others)
    await find(2, { uid: others })
    expect((await list('', others)).map(({ counter, team }) => [counter, team])).toEqual([
      [2, 'Acme'],
      [1, 'Other'],
    ])
    expect(shown(await list('team=Acme', others))).toBe('2')
    expect(shown(await list('team=Other&outcome=valid', others))).toBe('1')
  })

  test('of a HaLo chip that came back under another UID are listed by the UID that they had', async () => {
    const halo = haloChip('chain')
    const headers = { ...t.admin, 'content-type': 'text/csv' }
    const path = 'POST /admin/chips/import?team=Acme&chipGroup=Halo'
    const { uid } = JSON.parse((await t.call(path, `publicKey\n${halo.pk2}\n`, headers)).text)
    const take = async (counter: number) =>
      (await t.call(`GET ${tapPath(halo.tap(counter), '/chips/find')}`)).body.isValidTap
    expect(await take(1)).toBe(true)
    await remove(uid)
    await t.call(path, `uid,publicKey\n04AAAAAAAAAA01,${halo.pk2}\n`, headers)
    expect(await take(2)).toBe(true)
    expect(shown(await list('', uid))).toBe('1')
    expect(shown(await list('', '04AAAAAAAAAA01'))).toBe('2')
    await remove('04AAAAAAAAAA01')
    expect(shown(await list('', uid))).toBe('1')
    expect(shown(await list('', '04AAAAAAAAAA01'))).toBe('2')
  })

  test('are found by the thousand', async () => {
    const count = 5000
    const [chip] = await t.ctx.db.read
      .selectFrom('chips')
      .selectAll()
      .where('uid', '=', decimal(uids.blank))
      .execute()
    const at = (n: number) => new Date(clock.now() + n).toISOString()
    const row = (n: number) => ({
      id: 2 * n,
      at: at(n),
      chipUid: chip?.uid ?? null,
      teamId: chip?.teamId ?? null,
      keySetId: chip?.keySetId ?? null,
      counter: n,
      outcome: 'valid' as const,
      via: 'find' as const,
      previous: n === 1 ? null : 2 * (n - 1),
    })
    await t.ctx.db.write(async (trx) => {
      for (let from = 1; from <= count; from += 100) {
        const mine = Array.from({ length: 100 }, (_, n) => row(from + n))
        const foreign = mine.map((tap) => ({ ...tap, id: tap.id + 1, chipUid: decimal(uids.twin) }))
        await trx
          .insertInto('taps')
          .values([...mine, ...foreign])
          .execute()
      }
      const last = { lastTap: 2 * count, lastCounter: count, lastTapAt: at(count) }
      await trx.updateTable('chips').set(last).where('uid', '=', decimal(uids.blank)).execute()
    })
    const counters: number[] = []
    for (let page = await list('limit=1000'); page.length > 0; ) {
      counters.push(...page.map(({ counter }) => counter))
      page = await list(`limit=1000&before=${page.at(-1)?.id}`)
    }
    expect(counters).toEqual(Array.from({ length: count }, (_, n) => count - n))
    expect(shown(await list('limit=2&outcome=valid'))).toBe('5000, 4999')
    expect(await list('outcome=refused')).toEqual([])
  })
})

test.each([
  ['the same key set', derived],
  ['another key set with the same keys', sameKeys],
  ['another key set', otherKeys],
  ['a key set of another kind', plain],
])('a tap from before a removal gives nothing once the chip is registered again under %s', async (_, set) => {
  const uid = uids.events
  const team = { 'x-svc-api-key': acmeKey }
  const url = tapPath(tap(derived, { uid }, 1))
  const page = await t.app.inject({ url })
  const cookie = String(page.headers['set-cookie']).split(';')[0] ?? ''
  const refs = [...page.body.matchAll(/(?:svcRef=|data-ref=")([A-Za-z0-9_-]{21})/g)].map(([, ref]) => ref)
  const { otp } = await find(2, { uid })
  // As the chip is now, all of it is good.
  expect(new Set(refs).size).toBe(3)
  expect((await t.call(`GET /otps/${otp.code}`)).body.isExpired).toBe(false)
  const load = () => t.app.inject({ url, headers: { cookie } })
  expect((await load()).statusCode).toBe(200)

  await remove(uid)
  await register(set.id, uid)
  const poapEventId = (await t.ctx.db.read.selectFrom('badgeEvents').select('id').execute())[0]?.id
  expect((await t.call('POST /badge-events/assign', { poapEventId, tagUID: uid }, team)).status).toBe(200)

  const nothing = async () => {
    for (const ref of refs) {
      const { body, text } = await t.call(`GET /refs/${ref}`, undefined, team)
      expect(body.isValidRef).toBe(false)
      expect(text).not.toContain('"otp":"')
    }
    expect((await t.call(`GET /otps/${otp.code}`)).body.isExpired).toBe(true)
    const now = new Date(clock.now()).toISOString()
    await expect(t.ctx.db.write((trx) => spendCode(trx, t.ctx, otp.code, now))).rejects.toMatchObject({
      code: 'otp_expired',
    })
    expect([404, 410]).toContain((await load()).statusCode)
    for (const ref of refs) {
      const act = new URLSearchParams({
        ref: ref ?? '',
        kind: 'badge',
        id: `${poapEventId}`,
        recipient: 'a@b.example',
      })
      const pressed = await t.app.inject({
        method: 'POST',
        url: '/t/act',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: act.toString(),
      })
      expect(pressed.statusCode).toBe(410)
    }
  }
  await nothing()
  // A tap of the chip as it is now gives something, and nothing to those before.
  const fresh = await find(3, { uid, set })
  expect((await t.call(`GET /otps/${fresh.otp.code}`)).body.isExpired).toBe(false)
  await nothing()
})
