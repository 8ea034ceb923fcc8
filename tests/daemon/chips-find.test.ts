import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { haloChip } from '../support/halo.ts'
import { acmeKey, derived, listed, listedKey, plain, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const decimal = (hex: string): string => BigInt(`0x${hex}`).toString()

describe('GET /chips/find', () => {
  let t: TestApp
  const halo = haloChip('find')
  let counter = 10
  const clock = testClock()

  beforeAll(async () => {
    const [acme, other] = structuredClone(seed.teams)
    const withHalo = { name: 'HaLo', chips: [{ family: 'halo', publicKey: halo.pk2 }] }
    t = await openTestApp({
      clock,
      seed: { ...seed, teams: [{ ...acme, chipGroups: [...(acme?.chipGroups ?? []), withHalo] }, other] },
    })
  })
  afterAll(() => t.close())

  const find = async (parameters: Record<string, string>, headers: Record<string, string> = {}) => {
    const answer = await t.app.inject({ url: tapPath(parameters, '/chips/find'), headers })
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
  }

  test("the tap of NXP's application note (AN12196 table 2 and 4) is valid once", async () => {
    const parameters = { d: '102', e: 'EF963FF7828658A599F3041510671E88', c: '94EED9EE65337086' }
    // That chip is UID 04DE5F1EACC040 under zero keys; here it is registered under the key set of zero keys alone.
    const own = await openTestApp({
      seed: {
        version: 1,
        keySets: [plain],
        teams: [{ name: 'T', chipGroups: [{ name: 'G', chips: [{ uid: '04DE5F1EACC040', keySet: 102 }] }] }],
      },
    })
    const first = await own.app.inject({ url: tapPath(parameters, '/chips/find') })
    expect(first.json()).toEqual({ uid: decimal('04DE5F1EACC040'), isValidTap: true })
    const second = await own.app.inject({ url: tapPath(parameters, '/chips/find') })
    expect(second.json()).toEqual({ uid: decimal('04DE5F1EACC040'), isValidTap: false })
    await own.close()
  })

  test('a linked chip gives its token and a code for it', async () => {
    const { status, body, headers } = await find(tap(derived, { uid: uids.jacket }, ++counter))
    expect(status).toBe(200)
    expect(body).toEqual({
      uid: decimal(uids.jacket),
      isValidTap: true,
      linkedToken: {
        contractAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
        chainId: 31337,
        tokenId: '1',
      },
      otp: { code: expect.stringMatching(/^[A-Za-z0-9_-]{21}$/), expiresAt: '2026-06-01T12:30:00.000Z' },
    })
    expect(headers['cache-control']).toBe('no-store')
  })

  test('a replayed tap tells the token and gives no code', async () => {
    const parameters = tap(derived, { uid: uids.jacket }, ++counter)
    await find(parameters)
    const { status, body } = await find(parameters)
    expect(status).toBe(200)
    expect(Object.keys(body).sort()).toEqual(['isValidTap', 'linkedToken', 'uid'])
    expect(body.isValidTap).toBe(false)
  })

  test('an older tap than the last one taken is a replay; a gap in the counter is none', async () => {
    const older = tap(derived, { uid: uids.jacket }, counter + 1)
    const newer = tap(derived, { uid: uids.jacket }, counter + 500)
    counter += 500
    expect((await find(newer)).body.isValidTap).toBe(true)
    expect((await find(older)).body.isValidTap).toBe(false)
  })

  test('a chip with events gives the first listed badge event and a code for it', async () => {
    const { body } = await find(tap(derived, { uid: uids.events }, ++counter))
    expect(body.badgeEvent).toEqual({ id: 1, poapEventId: 100_000, remainingCodesCount: 10 })
    const otp = (await t.app.inject({ url: `/otps/${body.otp.code}` })).json()
    expect(otp).toMatchObject({ type: 'POAP_EVENT', badgeEvent: { id: 1, status: 'active' } })
  })

  test('an unminted chip gives a code that claims it', async () => {
    const { body } = await find(tap(derived, { uid: uids.unminted }, ++counter))
    expect(Object.keys(body).sort()).toEqual(['isValidTap', 'otp', 'uid'])
    expect((await t.app.inject({ url: `/otps/${body.otp.code}` })).json().type).toBe('PHYGITAL_CLAIM')
  })

  test('a wrong MAC on a chip that is known tells its UID and nothing more', async () => {
    const good = tap(derived, { uid: uids.jacket }, ++counter)
    const { status, body } = await find({
      ...good,
      c: good.c === '0000000000000000' ? '1'.repeat(16) : '0'.repeat(16),
    })
    expect(status).toBe(200)
    expect(body).toEqual({ uid: decimal(uids.jacket), isValidTap: false })
    expect((await find(good)).body.isValidTap).toBe(true)
  })

  test('parameters in any order and in lower case verify', async () => {
    const { d, e, c } = tap(derived, { uid: uids.jacket }, ++counter)
    expect((await find({ c: c.toLowerCase(), e: e.toLowerCase(), d })).body.isValidTap).toBe(true)
  })

  test('a listed key and a MAC over e verify', async () => {
    const { body } = await find(tap(listed, { uid: uids.listed, fileReadKey: listedKey }, 1))
    expect(body).toEqual({ uid: decimal(uids.listed), isValidTap: true })
  })

  test('an LRP tap verifies', async () => {
    const parameters = tap(plain, { uid: uids.plain, mode: 'lrp' }, 7)
    expect(parameters.e).toHaveLength(48)
    expect((await find(parameters)).body.isValidTap).toBe(true)
    expect((await find(parameters)).body.isValidTap).toBe(false)
  })

  test("a chip verifies under its own key set alone, also with another's keys", async () => {
    const { status, body } = await find(tap(derived, { uid: uids.plain }, 5000))
    expect({ status, body }).toEqual({ status: 200, body: { uid: decimal(uids.plain), isValidTap: false } })
  })

  test('a HaLo tap verifies once, by pk1 and pk2 and by static', async () => {
    const { rnd, rndsig } = halo.tap(5)
    const first = await find({ pk1: halo.pk1, pk2: halo.pk2, rnd, rndsig })
    expect(first.body.isValidTap).toBe(true)
    expect(Number.isSafeInteger(Number(first.body.uid))).toBe(true)
    expect((await find({ static: halo.static, rnd, rndsig })).body.isValidTap).toBe(false)
    const later = halo.tap(6)
    expect((await find({ static: halo.static, rnd: later.rnd, rndsig: later.rndsig })).body.isValidTap).toBe(
      true,
    )
    const forged = await find({ pk1: halo.pk1, pk2: halo.pk2, rnd: halo.tap(9).rnd, rndsig })
    expect(forged.body).toEqual({ uid: first.body.uid, isValidTap: false })
  })

  test('a chip that nobody registered is a 404, like a key set that is not there', async () => {
    expect((await find(tap(derived, { uid: '04AAAAAAAAAA80' }, 1))).status).toBe(404)
    expect((await find({ ...tap(derived, { uid: uids.jacket }, 9000), d: '999' })).status).toBe(404)
    const stranger = haloChip('stranger')
    const { rnd, rndsig } = stranger.tap(1)
    expect((await find({ pk1: stranger.pk1, pk2: stranger.pk2, rnd, rndsig })).status).toBe(404)
  })

  test('a tap without d is tried under all key sets, and is the chip’s under its own', async () => {
    const { e, c } = tap(derived, { uid: uids.jacket }, ++counter)
    expect(await find({ e, c })).toMatchObject({ status: 200, body: { isValidTap: true } })
  })

  test.each([
    [{}, 'e'],
    [{ e: 'EF963FF7828658A599F3041510671E88' }, 'c'],
    [{ e: 'EF96', c: '94EED9EE65337086', d: '101' }, 'e'],
    [{ e: 'EF963FF7828658A599F3041510671E88', c: '94', d: '101' }, 'c'],
    [{ e: 'EF963FF7828658A599F3041510671E8G', c: '94EED9EE65337086', d: '101' }, 'e'],
    [{ e: 'EF963FF7828658A599F3041510671E88', c: '94EED9EE65337086', d: 'x' }, 'd'],
    [{ pk1: 'zz', rnd: '00', rndsig: '00' }, 'pk1'],
  ])('malformed parameters are refused by name: %j', async (parameters, field) => {
    const { status, body } = await find({ ...parameters })
    expect(status).toBe(400)
    expect(body.message).toMatch(new RegExp(`^${field} `))
    expect(body).toEqual({
      statusCode: 400,
      error: 'Bad Request',
      message: expect.any(String),
      code: 'tap_malformed',
      requestId: expect.any(String),
    })
  })

  test('a parameter given twice is refused', async () => {
    const { e, c, d } = tap(derived, { uid: uids.jacket }, 9001)
    const answer = await t.app.inject({ url: `/chips/find?e=${e}&e=${e}&c=${c}&d=${d}` })
    expect(answer.statusCode).toBe(400)
  })

  test('a key that comes along is tolerated, an unknown one as well', async () => {
    const parameters = tap(derived, { uid: uids.blank }, 1)
    expect((await find(parameters, { 'x-svc-api-key': acmeKey })).body.isValidTap).toBe(true)
    const next = tap(derived, { uid: uids.blank }, 2)
    expect((await find(next, { 'x-svc-api-key': 'svc_nobody' })).body.isValidTap).toBe(true)
  })

  test('HEAD uses nothing up', async () => {
    const parameters = tap(derived, { uid: uids.blank }, 3)
    const head = await t.app.inject({ method: 'HEAD', url: tapPath(parameters, '/chips/find') })
    expect(head.statusCode).toBe(200)
    expect((await find(parameters)).body.isValidTap).toBe(true)
  })

  test('of ten concurrent uses of one tap exactly one is valid, and it alone has a code', async () => {
    for (let round = 0; round < 20; round++) {
      const parameters = tap(derived, { uid: uids.jacket }, ++counter)
      const answers = await Promise.all(Array.from({ length: 10 }, () => find(parameters)))
      expect(answers.filter(({ body }) => body.isValidTap)).toHaveLength(1)
      expect(answers.filter(({ body }) => body.otp)).toHaveLength(1)
    }
  })

  test('the record of taps has the refused ones with their reason', async () => {
    const answer = await t.app.inject({ url: '/admin/taps?limit=1000', headers: t.admin })
    const outcomes = new Set(answer.json().map((seen: { outcome: string }) => seen.outcome))
    expect([...outcomes].sort()).toEqual([
      'replayed',
      'unknown-chip',
      'unknown-key-set',
      'valid',
      'wrong-mac',
    ])
  })
})

test('a tap without d belongs to the only key set there is', async () => {
  const chips = [{ uid: uids.jacket, keySet: 101 }]
  const t = await openTestApp({
    seed: { version: 1, keySets: [derived], teams: [{ name: 'T', chipGroups: [{ name: 'G', chips }] }] },
  })
  const { e, c } = tap(derived, { uid: uids.jacket }, 4)
  const answer = await t.app.inject({ url: `/chips/find?e=${e}&c=${c}` })
  expect(answer.json()).toEqual({ uid: decimal(uids.jacket), isValidTap: true })
  await t.close()
})

test("a chip's own parameter names are understood", async () => {
  const named = { ...derived, parameters: { e: 'picc', c: 'cmac', d: 'k' } }
  const chips = [{ uid: uids.jacket, keySet: 101 }]
  const t = await openTestApp({
    seed: { version: 1, keySets: [named], teams: [{ name: 'T', chipGroups: [{ name: 'G', chips }] }] },
  })
  const { e, c, d } = tap(named, { uid: uids.jacket }, 4)
  const answer = await t.app.inject({ url: `/chips/find?k=${d}&picc=${e}&cmac=${c}` })
  expect(answer.json()).toEqual({ uid: decimal(uids.jacket), isValidTap: true })
  await t.close()
})
