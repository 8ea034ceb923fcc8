import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BadgeApp, openBadgeApp, openEvent, openPoapApp, wallet } from '../support/badges.ts'
import { allSettled, testClock } from '../support/daemon.ts'
import { png } from '../support/poap/image-bytes.ts'
import { acmeKey, otherKey, uids } from '../support/seeds.ts'

let t: BadgeApp
beforeAll(async () => {
  t = await openBadgeApp({ chain: true, clock: testClock() })
})
afterAll(() => t.close())

const get = async (url: string, key?: string) => {
  const headers = { origin: 'https://app.example', ...(key ? { 'x-svc-api-key': key } : {}) }
  const answer = await t.app.inject({ url, headers })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}
const pathOf = (url: string): string => url.replace(t.ctx.baseUrl, '')
const statuses = async (urls: string[], key?: string) =>
  Promise.all(
    urls.map(
      async (url) => (await t.app.inject({ url, headers: key ? { 'x-svc-api-key': key } : {} })).statusCode,
    ),
  )

describe('a badge event', () => {
  test('can be read by anyone, from any page', async () => {
    const { id, upstreamId } = await openEvent(t, { virtualEvent: 'true' })
    const { status, body, headers } = await get(`/badge-events/${id}`)
    expect(status).toBe(200)
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(body).toEqual({
      id,
      poapEventId: upstreamId,
      name: 'Opening night',
      description: 'Doors open at nine.',
      imageUrl: `${t.ctx.baseUrl}/badge-events/${id}/image`,
      city: 'Lisbon',
      country: 'Portugal',
      startDate: '2026-05-30',
      endDate: '2026-06-02',
      expiryDate: '2026-07-01',
      eventURL: 'https://acme.example/opening',
      virtualEvent: true,
      status: 'active',
    })
    const image = await t.app.inject({ url: pathOf(body.imageUrl) })
    expect(image.rawPayload.equals(Buffer.from(png()))).toBe(true)
    // An event of a seed has no image.
    expect((await get('/badge-events/1')).body.imageUrl).toBe('')
  })

  test("a private one is there for its team alone, and its image for those who know the image's address", async () => {
    const { body: made } = await t.create({ privateEvent: 'true' })
    const upstreamId = made.poapResponse.id
    const reads = [`/badge-events/${made.id}`, `/events/id/${upstreamId}`]
    expect(await statuses(reads)).toEqual([404, 404])
    expect(await statuses(reads, otherKey)).toEqual([404, 404])
    expect(await statuses(reads, 'svc_unknown')).toEqual([401, 401])
    expect(await statuses(reads, acmeKey)).toEqual([200, 200])
    const { imageUrl } = (await get(`/badge-events/${made.id}`, acmeKey)).body
    expect(imageUrl).toMatch(/\/image\?file=[\w-]{21}$/)
    expect(made.poapResponse.image_url).toBe(imageUrl)
    const bare = `/badge-events/${made.id}/image`
    const tried = [pathOf(imageUrl), bare, `${bare}?file=`, `${bare}?file=${'x'.repeat(21)}`]
    expect(await statuses(tried)).toEqual([200, 404, 404, 404])
  })

  test('a rejected one says so, and its image and what POAP would list are gone', async () => {
    const { id, upstreamId } = await openEvent(t)
    await t.call(`POST /admin/badge-events/${id}/reject`)
    expect((await get(`/badge-events/${id}`)).body.status).toBe('rejected')
    const gone = [`/badge-events/${id}/image`, `/events/id/${upstreamId}`, `/metadata/${upstreamId}/1`]
    expect(await statuses(gone)).toEqual([404, 404, 404])
  })

  test.each([
    ['/badge-events/999999', 404, 'No such badge event'],
    ['/badge-events/x', 400, 'id'],
    ['/events/id/1', 404, 'No such badge event'],
    ['/metadata/1/1', 404, 'No such badge event'],
    ['/metadata/100000/x', 400, 'tokenId'],
    ['/actions/scan/0x12', 400, 'address: must be an address: 0x and 40 hex digits'],
    [`/transactions/0x${'0'.repeat(64)}`, 404, 'sent no transaction with this hash'],
    [
      '/transactions/0x12',
      400,
      'hash: must be the hash of a transaction, 0x and 64 hex digits, or its number',
    ],
  ])('%s is a %i', async (url, status, words) => {
    const answer = await get(url)
    expect(answer.status).toBe(status)
    expect(answer.body.message).toContain(words)
  })

  test("at POAP it has POAP's image, and POAP alone answers POAP's reads of it", async () => {
    const poap = await openPoapApp()
    const event = await poap.event()
    const read = async (url: string) => poap.app.inject({ url })
    const { imageUrl, poapEventId } = (await read(`/badge-events/${event.id}`)).json()
    expect([poapEventId, imageUrl]).toEqual([event.upstreamId, expect.stringMatching(/^https?:\/\/.+\.png$/)])
    expect((await read(`/events/id/${event.upstreamId}`)).statusCode).toBe(404)
  })
})

describe("what POAP's clients read", () => {
  test('the event and the metadata of its badges', async () => {
    const { id, upstreamId, code } = await openEvent(t)
    const event = (await get(`/events/id/${upstreamId}`)).body
    const url = event.image_url
    const recipient = wallet(78)
    await t.mint(await code(), { recipient, poapEventId: id })
    const [{ tokenId, event: ofBadge }] = (await get(`/actions/scan/${recipient}`)).body
    expect(ofBadge).toEqual(event)
    // Neither a badge that nobody has, nor another event's.
    const { upstreamId: other } = await openEvent(t)
    const none = [Number(tokenId) + 1, 0, 2 ** 53 - 1, '9'.repeat(70)].map(
      (of) => `/metadata/${upstreamId}/${of}`,
    )
    expect(await statuses([...none, `/metadata/${other}/${tokenId}`])).toEqual([404, 404, 404, 404, 404])
    expect((await get(`/metadata/${upstreamId}/${tokenId}`)).body).toEqual({
      name: 'Opening night',
      description: 'Doors open at nine.',
      image: url,
      image_url: url,
      external_url: `${t.ctx.baseUrl}/metadata/${upstreamId}/${tokenId}`,
      home_url: 'https://acme.example/opening',
      year: 2026,
      tags: ['poap', 'event'],
      attributes: [
        { trait_type: 'startDate', value: '2026-05-30' },
        { trait_type: 'endDate', value: '2026-06-02' },
        { trait_type: 'virtualEvent', value: 'false' },
        { trait_type: 'city', value: 'Lisbon' },
        { trait_type: 'country', value: 'Portugal' },
        { trait_type: 'eventURL', value: 'https://acme.example/opening' },
      ],
    })
  })

  test('the badges of an address, newest first, in any case, without those of private events', async () => {
    const owner = '0x52908400098527886E0F7030069857D2E4169EE7'
    const events = [await openEvent(t), await openEvent(t, { privateEvent: 'true' }), await openEvent(t)]
    for (const { id, code } of events)
      expect((await t.mint(await code(), { recipient: owner.toLowerCase(), poapEventId: id })).status).toBe(
        200,
      )
    const held = async (key?: string) => (await get(`/actions/scan/${owner.toLowerCase()}`, key)).body
    const [first, hidden, last] = events.map(({ upstreamId }) => upstreamId)
    const [newest, ...older] = await held()
    expect(newest).toEqual({
      event: (await get(`/events/id/${last}`)).body,
      tokenId: expect.stringMatching(/^\d+$/),
      owner,
      chain: 'embedded',
      created: '2026-06-01 12:00:00',
    })
    expect(older.map(({ event }: { event: { id: number } }) => event.id)).toEqual([first])
    const forTeam = (await held(acmeKey)).map(({ event }: { event: { id: number } }) => event.id)
    expect(forTeam).toEqual([last, hidden, first])
    expect((await get(`/actions/scan/${wallet(77)}`)).body).toEqual([])

    // Badge pages ask for one event, with a header of POAP's, to say that it was claimed already.
    const one = async (event: number | undefined, address: string, key?: string) => {
      const { status, body } = await get(`/actions/scan/${address}/${event}`, key)
      return status === 200 ? body : status
    }
    expect(await one(first, owner.toLowerCase())).toEqual(older[0])
    expect(await one(last, owner)).toEqual(newest)
    expect([await one(first, wallet(77)), await one(999_999, owner), await one(hidden, owner)]).toEqual([
      404, 404, 404,
    ])
    expect(await one(hidden, owner, acmeKey)).toMatchObject({ owner, event: { id: hidden } })
  })
})

describe('a transaction', () => {
  test('is found by any hash that it had, and says which one counts', async () => {
    const sent = await t.call(
      'POST /phygitals/transfer/self-service',
      { tagUID: uids.jacket, recipient: wallet(3) },
      { 'x-svc-api-key': acmeKey },
    )
    const { initialTxHash } = sent.body
    await allSettled(t.ctx)
    const confirmed = { hash: initialTxHash, initialTxHash, state: 'confirmed', chainId: 31337 }
    const { body, headers } = await get(`/transactions/${initialTxHash.toUpperCase().replace('0X', '0x')}`)
    expect(body).toEqual(confirmed)
    expect([headers['cache-control'], headers['access-control-allow-origin']]).toEqual(['no-store', '*'])

    const { db } = t.ctx
    const attempt = await db.read
      .selectFrom('transactionAttempts')
      .selectAll()
      .where('hash', '=', initialTxHash)
      .executeTakeFirstOrThrow()
    const { id: _, transactionId, ...copied } = attempt
    const replacement = `0x${'ab'.repeat(32)}`
    await db.write((trx) =>
      trx
        .insertInto('transactionAttempts')
        .values({ ...copied, transactionId, hash: replacement })
        .execute(),
    )
    expect((await get(`/transactions/${replacement}`)).body).toEqual(confirmed)
    // By its number for its team alone: numbers can be guessed.
    const byNumber = (key?: string) =>
      t.call(
        `GET /transactions/${transactionId}`,
        undefined,
        key === undefined ? {} : { 'x-svc-api-key': key },
      )
    expect((await byNumber(acmeKey)).body).toMatchObject({ initialTxHash, state: 'confirmed' })
    expect([(await byNumber(otherKey)).status, (await byNumber()).status]).toEqual([404, 404])

    const shown = async (state: 'queued' | 'signed' | 'broadcast' | 'mined' | 'reverted' | 'cancelled') => {
      const change = { state, minedHash: null, reason: 'Paused()' }
      await db.write((trx) =>
        trx.updateTable('transactions').set(change).where('id', '=', transactionId).execute(),
      )
      return (await get(`/transactions/${initialTxHash}`)).body
    }
    const underWay = { hash: replacement, initialTxHash, chainId: 31337 }
    expect(await shown('queued')).toEqual({ ...underWay, state: 'queued' })
    expect(await shown('signed')).toEqual({ ...underWay, state: 'queued' })
    expect(await shown('broadcast')).toEqual({ ...underWay, state: 'sent' })
    expect(await shown('mined')).toEqual({ ...underWay, state: 'sent' })
    expect(await shown('reverted')).toEqual({ ...underWay, state: 'failed', error: 'Paused()' })
    const cancelled = await shown('cancelled')
    expect(cancelled).toMatchObject({ ...underWay, state: 'failed', error: expect.any(String) })
    expect(cancelled.error).not.toContain('Paused')
  })
})
