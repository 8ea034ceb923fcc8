import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { acmeKey, alice, derived, otherKey, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const anAddress = expect.stringMatching(/^0x[0-9a-fA-F]{40}$/)

describe('refs and their codes', () => {
  let t: TestApp
  let counter = 0
  const clock = testClock()
  beforeAll(async () => {
    t = await openTestApp({ seed, clock, chain: true })
  })
  afterAll(() => t.close())

  /** Taps a chip, and returns the ref that its redirect or its page carries. */
  const tapped = async (uid: string) => {
    const answer = await t.app.inject({ url: tapPath(tap(derived, { uid }, ++counter)) })
    const location = answer.headers.location
    const own = location
      ? new URL(location).searchParams.get('svcRef')
      : /data-ref="([^"]+)"/.exec(answer.body)?.[1]
    const links = [...answer.body.matchAll(/svcRef=([A-Za-z0-9_-]{21})/g)].map((match) => match[1] ?? '')
    return { ref: own ?? '', links }
  }
  const query = async (id: string, options: { key?: string; search?: string } = {}) => {
    const headers = options.key ? { 'x-svc-api-key': options.key } : {}
    const answer = await t.app.inject({ url: `/refs/${id}${options.search ?? ''}`, headers })
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
  }

  test('the first query is valid and carries a code, a later one is not and carries none', async () => {
    const { ref } = await tapped(uids.jacket)
    const first = await query(ref)
    expect(first.headers['cache-control']).toBe('no-store')
    expect(first.body).toEqual({
      uid: BigInt(`0x${uids.jacket}`).toString(),
      isValidRef: true,
      linkedToken: {
        contractAddress: expect.stringMatching(/^0x/),
        chainId: 31337,
        tokenId: '1',
        otp: expect.stringMatching(/^[A-Za-z0-9_-]{21}$/),
      },
      badgeEvents: [],
      guestbookEvents: [],
    })
    const { body } = await query(ref)
    expect(body.isValidRef).toBe(false)
    expect(JSON.stringify(body)).not.toContain('otp')
    expect(body.linkedToken.tokenId).toBe('1')
  })

  test('owner and metadata come when they are asked for', async () => {
    const { ref } = await tapped(uids.jacket)
    const { body } = await query(ref, { search: '?includeOwner=true&includeMetadata=true' })
    expect(body.linkedToken).toMatchObject({ ownerAddress: alice, metadata: { name: 'Jacket #1' } })
    // Each field that the interface lists.
    for (const field of ['name', 'description', 'image', 'external_url'])
      expect(body.linkedToken.metadata[field]).toEqual(expect.any(String))
    expect(body.linkedToken.metadata.attributes).toEqual(expect.any(Array))
    const { body: bare } = await query(ref)
    expect(bare.linkedToken).not.toHaveProperty('ownerAddress')
  })

  test('an unminted chip has a code of its own', async () => {
    const { ref } = await tapped(uids.unminted)
    const { body } = await query(ref)
    expect(body.otp).toMatch(/^[A-Za-z0-9_-]{21}$/)
    expect(body).not.toHaveProperty('linkedToken')
    expect((await query(ref)).body).not.toHaveProperty('otp')
  })

  test('events come with a code each, whatever their status', async () => {
    const { ref } = await tapped(uids.events)
    const { body } = await query(ref)
    expect(body.badgeEvents).toEqual([
      { id: 1, poapEventId: 100_000, status: 'active', otp: expect.any(String) },
      { id: 2, poapEventId: 100_001, status: 'expired', otp: expect.any(String) },
    ])
    expect(body.guestbookEvents).toEqual([
      { contractAddress: anAddress, chainId: 31337, tokenId: '1', otp: expect.any(String) },
    ])
    expect(body).not.toHaveProperty('otp')
    const guestbook = (await t.app.inject({ url: `/otps/${body.guestbookEvents[0].otp}` })).json()
    expect(guestbook).toMatchObject({
      type: 'GUESTBOOK_EVENT',
      guestbookEvent: { id: 1, name: 'Opening', contractAddress: anAddress, chainId: 31337, tokenId: '1' },
    })
  })

  test('of ten concurrent queries exactly one is valid, and it alone has codes', async () => {
    for (let round = 0; round < 10; round++) {
      const { ref } = await tapped(uids.events)
      const answers = await Promise.all(Array.from({ length: 10 }, () => query(ref)))
      const valid = answers.filter(({ body }) => body.isValidRef)
      expect(valid).toHaveLength(1)
      expect(answers.filter(({ body }) => JSON.stringify(body).includes('otp'))).toHaveLength(1)
    }
  })

  test("a redirect's ref ignores any key, a wrong one as well", async () => {
    for (const key of [acmeKey, otherKey, 'svc_unknown']) {
      const { ref } = await tapped(uids.jacket)
      expect((await query(ref, { key })).body.isValidRef).toBe(true)
    }
  })

  test("a link's ref is valid for a key of the chip's team alone, and others do not use it up", async () => {
    const { links } = await tapped(uids.blank)
    expect(links).toHaveLength(2)
    const [link = ''] = links
    expect((await query(link)).body).toMatchObject({
      isValidRef: false,
      badgeEvents: [],
      guestbookEvents: [],
    })
    expect((await query(link, { key: otherKey })).body.isValidRef).toBe(false)
    const unknown = await query(link, { key: 'svc_unknown' })
    expect({ status: unknown.status, code: unknown.body.code }).toEqual({
      status: 401,
      code: 'api_key_unknown',
    })
    expect((await query(link, { key: acmeKey })).body.isValidRef).toBe(true)
    expect((await query(link, { key: acmeKey })).body.isValidRef).toBe(false)
  })

  test('a ref that nobody queried for 30 minutes is not valid any more', async () => {
    const { ref } = await tapped(uids.jacket)
    clock.advance('29m')
    const { ref: fresh } = await tapped(uids.jacket)
    clock.advance('1m')
    expect((await query(ref)).body.isValidRef).toBe(false)
    expect((await query(fresh)).body.isValidRef).toBe(true)
  })

  test('in development alone, queries within five seconds of the first have the same codes, ten at once too', async () => {
    const dev = await openTestApp({ seed, clock, dev: true })
    try {
      const ask = async (id: string, headers = {}) =>
        (await dev.app.inject({ url: `/refs/${id}`, headers })).json()
      const { headers } = await dev.app.inject({ url: tapPath(tap(derived, { uid: uids.jacket }, 1)) })
      const page = await dev.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 1)) })
      const ref = new URL(String(headers.location)).searchParams.get('svcRef') ?? ''
      const link = /svcRef=([A-Za-z0-9_-]{21})/.exec(page.body)?.[1] ?? ''
      // A query that may not take a ref is not the first one.
      expect((await ask(link)).isValidRef).toBe(false)
      expect((await ask(link, { 'x-svc-api-key': acmeKey })).isValidRef).toBe(true)

      const answers = await Promise.all(Array.from({ length: 10 }, () => ask(ref)))
      expect(answers[0]).toMatchObject({ isValidRef: true, linkedToken: { otp: expect.any(String) } })
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
      clock.advance('4s')
      expect(await ask(ref)).toEqual(answers[0])
      clock.advance('1s')
      expect((await ask(ref)).isValidRef).toBe(false)
    } finally {
      await dev.close()
    }
  })

  test.each(['x', 'V1StGXR8_Z5jdHi6B-my!', 'V1StGXR8_Z5jdHi6B-myT', '%00', "' or 1=1 --", 'a'.repeat(300)])(
    'a ref that is none is a 404: %s',
    async (id) => {
      expect((await query(encodeURIComponent(id))).status).toBe(404)
    },
  )

  describe('a code', () => {
    const codeOf = async (): Promise<string> =>
      (await query((await tapped(uids.jacket)).ref)).body.linkedToken.otp
    const fetch = async (code: string) => (await t.app.inject({ url: `/otps/${code}` })).json()
    const remove = (code: string, key: string) =>
      t.app.inject({
        method: 'DELETE',
        url: `/otps/${code}`,
        headers: { 'x-svc-api-key': key, 'content-type': 'application/json' },
      })

    test('tells what it is for, when its chip was tapped and when it ends', async () => {
      const code = await codeOf()
      const now = new Date(clock.now())
      expect(await fetch(code)).toEqual({
        otp: code,
        uid: BigInt(`0x${uids.jacket}`).toString(),
        isExpired: false,
        createdAt: now.toISOString(),
        expiresAt: new Date(now.getTime() + 1_800_000).toISOString(),
        type: 'PHYGITAL_CLAIM',
        linkedToken: { contractAddress: expect.any(String), chainId: 31337, tokenId: '1' },
      })
    })

    test('says when the chip was tapped, however late its ref is queried, which is when its half hour begins', async () => {
      const { ref } = await tapped(uids.jacket)
      const tappedAt = clock.now()
      clock.advance('25m')
      const { otp } = (await query(ref)).body.linkedToken
      expect(await fetch(otp)).toMatchObject({
        createdAt: new Date(tappedAt).toISOString(),
        expiresAt: new Date(clock.now() + 1_800_000).toISOString(),
      })
    })

    test('expires after 30 minutes', async () => {
      const code = await codeOf()
      clock.advance('30m')
      expect((await fetch(code)).isExpired).toBe(true)
    })

    test("is deleted by its team's key alone, once, and is a 404 from then on", async () => {
      const code = await codeOf()
      expect((await remove(code, otherKey)).statusCode).toBe(404)
      const answers = await Promise.all(Array.from({ length: 10 }, () => remove(code, acmeKey)))
      expect(answers.filter((answer) => answer.statusCode === 200).map((answer) => answer.json())).toEqual([
        { success: true },
      ])
      expect(answers.filter((answer) => answer.statusCode === 404)).toHaveLength(9)
      expect((await fetch(code)).statusCode).toBe(404)
    })
  })
})
