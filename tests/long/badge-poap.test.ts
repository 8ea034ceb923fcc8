import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AuthenticationProviderHttp, PoapCompass, PoapsClient, PoapTokenApi } from '@poap-xyz/poap-sdk'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openBadgeApp, openEvent, openPoapApp, poapEnv, tapRef, wallet } from '../support/badges.ts'
import { type Fault, faults } from '../support/poap/faults.ts'
import type { PoapStandIn } from '../support/poap/stand-in.ts'
import { acmeKey, derived, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const claimUrl = 'POST /actions/claim-qr'
const lookUpUrl = 'GET /actions/claim-qr'

afterEach(() => {
  vi.unstubAllGlobals()
})

/** POAP's own client on the stand-in that the daemon uses. */
function poapSdk(poap: PoapStandIn) {
  const { apiKey, clientId, clientSecret, audience } = poap.config
  const realFetch = globalThis.fetch
  vi.stubGlobal('fetch', (url: string, init?: RequestInit) =>
    realFetch(url.replace('https://auth.accounts.poap.xyz', poap.url), init),
  )
  const http = new AuthenticationProviderHttp(clientId, clientSecret)
  const authenticationProvider = { getAuthToken: () => http.getAuthToken(audience) }
  const api = new PoapTokenApi({ apiKey, baseUrl: poap.url, authenticationProvider })
  return new PoapsClient(new PoapCompass({ apiKey }), api, {
    maxRetries: 5,
    initialDelay: 1,
    backoffFactor: 1,
  })
}

/** What of an event's codes is gone at POAP, and how many the daemon thinks are left. */
async function tally(t: Awaited<ReturnType<typeof openPoapApp>>, event: { id: number; upstreamId: number }) {
  const { body } = await t.call('GET /admin/badge-events')
  const left = body.find(({ id }: { id: number }) => id === event.id).remainingCodesCount
  const claimed = t.poap.event(event.upstreamId).codes.filter(({ claim }) => claim !== undefined).length
  return { left, claimed }
}

describe('an event at POAP', () => {
  test('is created with the e-mail and a secret code, which is sealed at rest', async () => {
    const t = await openPoapApp()
    const { status, body } = await t.create()
    expect(status).toBe(200)
    const event = t.poap.event(body.poapResponse.id)
    expect(event.fields).toMatchObject({
      name: 'Opening night',
      city: 'Lisbon',
      start_date: '2026-05-30',
      email: t.poap.config.email,
      secret_code: expect.stringMatching(/^\d{6}$/),
      requested_codes: '5',
      private_event: 'false',
    })
    expect(body.poapResponse).toMatchObject({
      start_date: '05-30-2026',
      image_url: expect.stringMatching(/^https:\/\/assets\.poap\.xyz\//),
    })
    await t.ctx.db.maintenance.backupTo(join(t.dataDir, 'copy.db'))
    const bytes = readFileSync(join(t.dataDir, 'copy.db')).toString('latin1')
    expect(bytes).toContain('Opening night')
    expect(bytes).not.toContain(event.secretCode)
  })

  test('waits for approval, then has the codes that POAP gave, which are sealed at rest', async () => {
    const t = await openPoapApp()
    const { body } = await t.create()
    await t.assign({ poapEventId: body.id, tagUID: uids.blank })
    await t.ctx.badges.tick()
    const status = async () => (await t.call('GET /admin/badge-events?limit=1')).body[0]
    expect(await status()).toMatchObject({
      status: 'pending-approval',
      remainingCodesCount: 0,
      provider: 'poap',
    })
    const code = (await t.codes()).get(body.id) ?? ''
    expect((await t.mint(code, { recipient: wallet(1), poapEventId: body.id })).status).toBe(400)
    expect(await t.isGood(code)).toBe(true)

    const codes = t.poap.approve(body.poapResponse.id, 3)
    await t.ctx.badges.tick()
    expect((await status()).status).toBe('pending-approval')
    t.clock.advance('2m')
    await t.ctx.badges.tick()
    expect(await status()).toMatchObject({ status: 'active', remainingCodesCount: 3, requestedCodes: 5 })
    await t.ctx.db.maintenance.backupTo(join(t.dataDir, 'copy.db'))
    const bytes = readFileSync(join(t.dataDir, 'copy.db')).toString('latin1')
    for (const secret of codes) expect(bytes).not.toContain(secret)
    expect((await t.mint(code, { recipient: wallet(1), poapEventId: body.id })).status).toBe(200)
  })

  test('that was rejected is asked about all the same, and can be approved later', async () => {
    const t = await openPoapApp()
    const { body } = await t.create()
    t.poap.reject(body.poapResponse.id)
    t.clock.advance('25h')
    await t.ctx.badges.tick()
    const status = async () => (await t.call('GET /admin/badge-events?limit=1')).body[0].status
    expect(await status()).toBe('rejected')
    t.poap.approve(body.poapResponse.id)
    t.clock.advance('10m')
    await t.ctx.badges.tick()
    expect(await status()).toBe('rejected')
    t.clock.advance('2h')
    await t.ctx.badges.tick()
    expect(await status()).toBe('active')
  })

  test('is decided on by nobody here', async () => {
    const t = await openPoapApp()
    const { body } = await t.create()
    expect((await t.call(`POST /admin/badge-events/${body.id}/approve`)).status).toBe(409)
  })

  test("POAP's own client finds the codes as we left them, and we notice what it claims", async () => {
    const t = await openPoapApp()
    const event = await t.event()
    await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })
    const [ours = '', theirs = ''] = event.codes
    const sdk = poapSdk(t.poap)
    expect(await sdk.getMintCode(ours)).toMatchObject({ minted: true })
    expect(await sdk.getMintCode(theirs)).toMatchObject({ minted: false, isActive: true })
    await sdk.mintAsync({ mintCode: theirs, address: wallet(2) })
    t.poap.mine()
    t.poap.mine()
    expect(await sdk.waitMintStatus(ours)).toMatchObject({
      txHash: t.poap.code(ours).transactions[0]?.tx_hash,
    })
    // The second code is gone: the next mint takes the third.
    expect((await t.mint(await event.code(), { recipient: wallet(3), poapEventId: event.id })).status).toBe(
      200,
    )
    expect(await tally(t, event)).toEqual({ left: 2, claimed: 3 })
  })

  test.each([
    [{ requestedCodes: '0' }, 'requestedCodes'],
    [{ requestedCodes: '50001' }, 'requestedCodes'],
  ])('%j is a 400 before POAP hears of it', async (fields, named) => {
    const t = await openPoapApp()
    const { status, body } = await t.create(fields)
    expect(status).toBe(400)
    expect(body.message).toContain(named)
    expect(t.poap.seen).toEqual([])
  })

  test('an image that is none is refused before POAP hears of it', async () => {
    const t = await openPoapApp()
    const image = Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(500, 'x')])
    expect((await t.create({}, { image })).status).toBe(415)
    expect(t.poap.seen).toEqual([])
  })

  test.each([
    ['500', faults.status(500), 60],
    ['HTML', faults.html(502), 60],
    ['half a body', faults.halfJson, 60],
    ['half an answer', faults.halfConnection, 60],
    ['nothing', faults.dropBefore, 60],
    ['no end', faults.holdBefore, 60],
    ['429', faults.rateLimit('7'), 7],
  ])(
    'creation that is answered with %s is a 503 with Retry-After, and leaves nothing here',
    async (_what, fault, seconds) => {
      const t = await openPoapApp()
      t.poap.fail('POST /events', fault)
      const { status, body, headers } = await t.create()
      expect({ status, code: body.code }).toEqual({ status: 503, code: 'badge_unavailable' })
      expect(Number(headers['retry-after'])).toBe(seconds)
      expect((await t.call('GET /admin/badge-events')).body).toHaveLength(2)
      t.clock.advance('7s')
      expect((await t.create()).status).toBe(200)
    },
  )

  test("what POAP says against an event is a 400 with POAP's words", async () => {
    const t = await openPoapApp()
    t.poap.fail(
      'POST /events',
      faults.status(400, { statusCode: 400, error: 'Bad Request', message: 'city is odd' }),
    )
    expect(await t.create()).toMatchObject({
      status: 400,
      body: { message: 'city is odd', code: 'badge_refused' },
    })
  })
})

describe('a mint at POAP', () => {
  test.each([
    ['an address', wallet(1)],
    ['an ENS name', 'poap.eth'],
    ['an email address', 'ana@example.org'],
  ])('to %s takes one code', async (_what, recipient) => {
    const t = await openPoapApp()
    const event = await t.event()
    const code = await event.code()
    expect((await t.mint(code, { recipient, poapEventId: event.upstreamId })).body).toEqual({ success: true })
    expect(await tally(t, event)).toEqual({ left: 4, claimed: 1 })
    expect(await t.isGood(code)).toBe(false)
    expect(t.poap.event(event.upstreamId).codes[0]?.claim).toMatchObject({
      sendEmail: recipient.includes('@'),
    })
  })

  test('its transaction is followed to its end', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })
    const claim = async () => (await t.call(`GET /admin/badge-events/${event.id}/claims`)).body[0]
    expect(await claim()).toMatchObject({ state: 'claimed', transaction: 'pending' })
    t.poap.mine()
    t.clock.advance('1m')
    await t.ctx.badges.tick()
    expect(await claim()).toMatchObject({
      transaction: 'pending',
      transactionHash: expect.stringMatching(/^0x/),
    })
    t.poap.mine()
    t.clock.advance('3m')
    await t.ctx.badges.tick()
    expect(await claim()).toMatchObject({ transaction: 'mined' })
    const asked = t.poap.count('GET /transactions')
    t.clock.advance('1h')
    await t.ctx.badges.tick()
    expect(t.poap.count('GET /transactions')).toBe(asked)
  })

  test('a code that somebody claimed elsewhere is passed over', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    for (const qrHash of event.codes.slice(0, 3))
      t.poap.ledger.claim(t.poap.code(qrHash), wallet(77 + Number(event.codes.indexOf(qrHash))), false)
    expect((await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })).status).toBe(
      200,
    )
    expect(await tally(t, event)).toEqual({ left: 1, claimed: 4 })
  })

  test('with all codes claimed elsewhere it is a 400, and the OTP stays good', async () => {
    const t = await openPoapApp()
    const event = await t.event({ requestedCodes: '2' })
    for (const [n, qrHash] of event.codes.entries())
      t.poap.ledger.claim(t.poap.code(qrHash), wallet(70 + n), false)
    const code = await event.code()
    const { status, body } = await t.mint(code, { recipient: wallet(1), poapEventId: event.id })
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'badge_codes_gone' })
    expect(await t.isGood(code)).toBe(true)
    expect((await tally(t, event)).left).toBe(0)
  })

  test("POAP's refusal is forwarded, and neither code is used up", async () => {
    const t = await openPoapApp()
    const event = await t.event()
    await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })
    const code = await event.code()
    const { status, body } = await t.mint(code, {
      recipient: wallet(1),
      poapEventId: event.id,
      deviceId: 'phone',
    })
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { statusCode: 400, error: 'Bad Request', message: 'You already minted a POAP for this drop.' },
    })
    expect(await t.isGood(code)).toBe(true)
    expect(await tally(t, event)).toEqual({ left: 4, claimed: 1 })
    const other = await t.mint(code, { recipient: wallet(2), poapEventId: event.id, deviceId: 'phone' })
    expect(other.status).toBe(200)
  })

  test('ten at once for the last code: one success, nine 400s, nine codes that are still good', async () => {
    const t = await openPoapApp()
    const event = await t.event({ requestedCodes: '1' })
    const codes: string[] = []
    for (let n = 0; n < 10; n += 1) codes.push(await event.code())
    const answers = await Promise.all(
      codes.map((code, n) => t.mint(code, { recipient: wallet(n), poapEventId: event.id })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(400)])
    expect((await Promise.all(codes.map((code) => t.isGood(code)))).filter(Boolean)).toHaveLength(9)
    expect(t.poap.count(claimUrl)).toBe(1)
  })

  test('ten at once for ten codes take ten', async () => {
    const t = await openPoapApp()
    const event = await t.event({ requestedCodes: '10' })
    const codes: string[] = []
    for (let n = 0; n < 10; n += 1) codes.push(await event.code())
    const answers = await Promise.all(
      codes.map((code, n) => t.mint(code, { recipient: wallet(n), poapEventId: event.id })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await tally(t, event)).toEqual({ left: 0, claimed: 10 })
  })
})

describe('an upstream on its bad days', () => {
  // Nothing arrived, and that is known: all is as before, for whoever asks next.
  test.each([
    ['answers 500 to the look-up', faults.status(500)],
    ['answers HTML', faults.html(502)],
    ['answers half a body', faults.halfJson],
    ['breaks off', faults.halfConnection],
    ['is silent', faults.holdBefore],
    ['hangs up', faults.dropBefore],
    ['has had enough', faults.rateLimit('120'), 1],
  ])('%s: 503 with Retry-After, and the reservation is released', async (_what, fault, times = 3) => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(lookUpUrl, ...Array<Fault>(times).fill(fault))
    const code = await event.code()
    const { status, body, headers } = await t.mint(code, {
      recipient: wallet(1),
      poapEventId: event.id,
      deviceId: 'd',
    })
    expect({ status, code: body.code }).toEqual({ status: 503, code: 'badge_unavailable' })
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    expect(await t.isGood(code)).toBe(true)
    expect(await tally(t, event)).toEqual({ left: 5, claimed: 0 })
    t.clock.advance('2m')
    const again = await t.mint(code, { recipient: wallet(2), poapEventId: event.id, deviceId: 'd' })
    expect(again.status).toBe(200)
    expect(await tally(t, event)).toEqual({ left: 4, claimed: 1 })
  })

  test('out of reach altogether: 503, and all is as before', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    const code = await event.code()
    await t.poap.close()
    const answer = await t.mint(code, { recipient: wallet(1), poapEventId: event.id })
    expect(answer).toMatchObject({ status: 503, body: { code: 'badge_unavailable' } })
    expect(await t.isGood(code)).toBe(true)
    const [listed] = (await t.call('GET /admin/badge-events?limit=1')).body
    expect(listed.remainingCodesCount).toBe(5)
  })

  test.each([
    ['half a body', faults.halfJson],
    ['half an answer', faults.halfConnection],
    ['nothing', faults.dropAfter],
    ['silence', faults.holdAfter],
  ])('it minted, and answered with %s: it is looked up, and the request succeeds', async (_what, fault) => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(claimUrl, fault)
    expect((await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })).status).toBe(
      200,
    )
    expect(await tally(t, event)).toEqual({ left: 4, claimed: 1 })
    expect(t.poap.count(claimUrl)).toBe(1)
  })

  test.each([
    ['500', faults.status(500)],
    ['HTML', faults.html(504)],
    ['nothing', faults.dropBefore],
    ['silence', faults.holdBefore],
  ])(
    'it did not mint, and answered with %s: 503, the code waits for the same recipient',
    async (_what, fault) => {
      const t = await openPoapApp()
      const event = await t.event()
      t.poap.fail(claimUrl, fault)
      const code = await event.code()
      const body = { recipient: wallet(1), poapEventId: event.id }
      const first = await t.mint(code, body)
      expect(first).toMatchObject({ status: 503, body: { code: 'badge_unavailable' } })
      expect(Number(first.headers['retry-after'])).toBeGreaterThan(0)
      expect(await t.isGood(code)).toBe(true)
      expect(await tally(t, event)).toEqual({ left: 4, claimed: 0 })
      const [open] = (await t.call(`GET /admin/badge-events/${event.id}/claims`)).body
      expect(open).toMatchObject({ state: 'open', reason: expect.any(String) })

      const other = await t.mint(code, { ...body, recipient: wallet(2) })
      expect(other).toMatchObject({ status: 409, body: { code: 'conflict' } })
      expect(await t.isGood(code)).toBe(true)
      expect((await t.mint(code, body)).status).toBe(200)
      expect(await tally(t, event)).toEqual({ left: 4, claimed: 1 })
      expect((await t.mint(code, body)).status).toBe(401)
    },
  )

  test('what was left open the daemon settles by itself, and whoever asks again is told', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(claimUrl, faults.status(500))
    const code = await event.code()
    const body = { recipient: wallet(1), poapEventId: event.id }
    expect((await t.mint(code, body)).status).toBe(503)
    t.clock.advance('1m')
    await t.ctx.badges.tick()
    expect(await tally(t, event)).toEqual({ left: 4, claimed: 1 })
    expect(await t.isGood(code)).toBe(false)
    expect((await t.mint(code, { ...body, recipient: wallet(2) })).status).toBe(401)
    expect((await t.mint(code, body)).status).toBe(200)
    expect((await t.mint(code, body)).status).toBe(401)
    expect(t.poap.event(event.upstreamId).codes.filter(({ claim }) => claim)).toHaveLength(1)
  })

  test('whoever asks again while the daemon settles it gets the same badge', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(claimUrl, faults.status(500))
    const code = await event.code()
    const body = { recipient: wallet(1), poapEventId: event.id }
    expect((await t.mint(code, body)).status).toBe(503)
    t.clock.advance('1m')
    const [, first, second] = await Promise.all([t.ctx.badges.tick(), t.mint(code, body), t.mint(code, body)])
    expect([first.status, second.status].filter((status) => status === 200).length).toBeGreaterThanOrEqual(1)
    expect(await tally(t, event)).toEqual({ left: 4, claimed: 1 })
    expect(t.poap.count(claimUrl)).toBe(2)
  })

  test('however many settle a claim at once, POAP is asked once', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(claimUrl, faults.status(500))
    await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })
    const [open] = (await t.call(`GET /admin/badge-events/${event.id}/claims`)).body
    const settled = await Promise.all(
      Array.from({ length: 5 }, () => t.ctx.badges.settler.settle(open.id, false)),
    )
    expect(settled.map(({ kind }) => kind)).toEqual(Array(5).fill('claimed'))
    expect(t.poap.count(claimUrl)).toBe(2)
  })

  test('a code that was left open, and that somebody else has by now, is passed over', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(claimUrl, faults.status(500))
    const code = await event.code()
    const body = { recipient: wallet(1), poapEventId: event.id }
    expect((await t.mint(code, body)).status).toBe(503)
    t.poap.ledger.claim(t.poap.code(event.codes[0] ?? ''), wallet(9), false)
    expect((await t.mint(code, body)).status).toBe(200)
    const owners = t.poap.event(event.upstreamId).codes.map(({ claim }) => claim?.beneficiary.toLowerCase())
    expect(owners.slice(0, 3)).toEqual([wallet(9), wallet(1), undefined])
    expect(await tally(t, event)).toEqual({ left: 3, claimed: 2 })
  })

  test('with an Idempotency-Key, what came to nothing may be tried again', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(lookUpUrl, ...Array<Fault>(3).fill(faults.status(500)))
    const code = await event.code()
    const body = { recipient: wallet(1), poapEventId: event.id }
    const key = { 'idempotency-key': 'k' }
    expect((await t.mint(code, body, key)).status).toBe(503)
    expect((await t.mint(code, body, key)).status).toBe(200)
    expect(await tally(t, event)).toEqual({ left: 4, claimed: 1 })
  })

  test("a refused mint gives the tap's other codes back as well", async () => {
    const t = await openPoapApp()
    const event = await t.event()
    const page = await t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 700)) })
    const codes: string[] = []
    for (const [, ref] of page.body.matchAll(/svcRef=([\w-]{21})/g)) {
      const answer = await t.app.inject({ url: `/refs/${ref}`, headers: { 'x-svc-api-key': acmeKey } })
      codes.push(answer.json().badgeEvents[0].otp)
    }
    const [first = '', second = ''] = codes
    const before = (await t.call(`GET /otps/${second}`)).body
    t.poap.fail(lookUpUrl, ...Array<Fault>(3).fill(faults.status(500)))
    expect((await t.mint(first, { recipient: wallet(1), poapEventId: event.id })).status).toBe(503)
    expect((await t.call(`GET /otps/${second}`)).body).toEqual(before)
    expect((await t.mint(second, { recipient: wallet(2), poapEventId: event.id })).status).toBe(200)
    expect(await t.isGood(first)).toBe(false)
  })

  test('what was left open and is refused in the end is released', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(claimUrl, faults.status(500))
    const code = await event.code()
    expect((await t.mint(code, { recipient: 'nobody.eth', poapEventId: event.id })).status).toBe(503)
    t.clock.advance('1m')
    await t.ctx.badges.tick()
    expect(await tally(t, event)).toEqual({ left: 5, claimed: 0 })
    const answer = await t.mint(code, { recipient: 'nobody.eth', poapEventId: event.id })
    expect(answer).toMatchObject({ status: 400, body: { message: 'Address is not valid' } })
    expect((await t.mint(code, { recipient: wallet(1), poapEventId: event.id })).status).toBe(200)
  })

  test('an Idempotency-Key goes on with what was left open', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(claimUrl, faults.status(500))
    const code = await event.code()
    const body = { recipient: wallet(1), poapEventId: event.id }
    const key = { 'idempotency-key': 'k' }
    expect((await t.mint(code, body, key)).status).toBe(503)
    expect((await t.mint(code, body, key)).status).toBe(200)
    expect((await t.mint(code, body, key)).status).toBe(200)
    expect(await tally(t, event)).toEqual({ left: 4, claimed: 1 })
  })

  test('an upstream that does not answer about approval is asked again', async () => {
    const t = await openPoapApp()
    const { body } = await t.create()
    t.poap.approve(body.poapResponse.id)
    const url = 'POST /event/{id}/qr-codes'
    t.poap.fail(url, faults.status(500), faults.html(502), faults.halfJson)
    await t.ctx.badges.tick()
    const [before] = (await t.call('GET /admin/badge-events?limit=1')).body
    expect(before.status).toBe('pending-approval')
    t.clock.advance('3m')
    await t.ctx.badges.tick()
    const [after] = (await t.call('GET /admin/badge-events?limit=1')).body
    expect(after).toMatchObject({ status: 'active', remainingCodesCount: 5 })
  })

  test('no code, key, secret or address stands in the log, whatever goes wrong', async () => {
    const lines: string[] = []
    const t = await openPoapApp({ log: (line) => lines.push(line) })
    const event = await t.event()
    t.poap.fail(claimUrl, faults.status(500), faults.halfJson)
    t.poap.fail(lookUpUrl, faults.html(500), faults.html(500), faults.html(500))
    const code = await event.code()
    for (let n = 0; n < 3; n += 1) await t.mint(code, { recipient: 'ana@example.org', poapEventId: event.id })
    const text = lines.join('\n')
    expect(text).toContain('request failed')
    const { secretCode } = t.poap.event(event.upstreamId)
    const { apiKey, clientSecret } = t.poap.config
    for (const secret of [...event.codes, code, secretCode, apiKey, clientSecret, 'ana@', 'eyJ.'])
      expect(text).not.toContain(secret)
  })
})

describe('both providers at once', () => {
  test('seeded events stay embedded, and events stay where they were created', async () => {
    const t = await openPoapApp()
    const { badgeEvents } = await tapRef(t.app, uids.events)
    const [launch] = badgeEvents
    expect((await t.mint(launch.otp, { recipient: wallet(1), poapEventId: launch.id })).status).toBe(200)
    expect(t.poap.seen).toEqual([])
  })

  test('without the settings of POAP its events give 503, and embedded ones go on', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-badges-'))
    const first = await openPoapApp({ dataDir })
    const event = await first.event()
    const code = await event.code()
    await first.close()
    const second = await openBadgeApp({ dataDir, clock: first.clock })
    try {
      const answer = await second.mint(code, { recipient: wallet(1), poapEventId: event.id })
      expect(answer).toMatchObject({ status: 503, body: { code: 'badge_unavailable' } })
      expect(await second.isGood(code)).toBe(true)
      const here = await openEvent(second, {}, uids.twin)
      expect(
        (await second.mint(await here.code(), { recipient: wallet(1), poapEventId: here.id })).status,
      ).toBe(200)
    } finally {
      await second.close()
    }
    const third = await openBadgeApp({ dataDir, clock: first.clock, env: poapEnv(first.poap) })
    try {
      expect((await third.mint(code, { recipient: wallet(1), poapEventId: event.id })).status).toBe(200)
    } finally {
      await third.close()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})
