import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testClock } from '../support/daemon.ts'
import { bob, carol, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { acmeKey, alice, otherKey } from '../support/seeds.ts'

const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
const clock = testClock()
let p: Phygitals
beforeAll(async () => {
  p = await openPhygitals({ clock })
})
afterAll(() => p.close())

const isUsed = async (code: string): Promise<boolean> => (await p.ask(`/otps/${code}`)).body.isExpired

describe('a seed', () => {
  test('is on the chain when the daemon is ready: contracts, and tokens with their owners', async () => {
    expect(await p.owner('JKT', 1)).toBe(alice)
    expect(await p.owner('JKT', 20)).toBe(alice)
    expect(await p.owner('ART', 3)).toBe(alice)
    expect(await p.owner('JKT', 21)).toBeUndefined()
    const rows = await p.ctx.db.read.selectFrom('contracts').select('status').execute()
    expect(rows.map(({ status }) => status)).toEqual(['confirmed', 'confirmed'])
  })
})

describe('a transfer by key', () => {
  test('answers with the hash of its transaction, and moves the token', async () => {
    const { status, body } = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 1), recipient: bob },
      { key: acmeKey },
    )
    expect({ status, body }).toEqual({ status: 200, body: { success: true, initialTxHash: hash } })
    expect(await p.owner('JKT', 1)).toBe(getAddress(bob))
  })

  test('ends the codes of earlier taps of its chip alone, whatever IDs those of other chips have', async () => {
    await p.tapped(chips.jacket(2))
    // A server hands IDs out before they can be seen, so a tap of another chip may seem to be later than it is.
    await p.ctx.db.write(async (trx) => {
      const taken = await trx.selectFrom('taps').selectAll().limit(1).executeTakeFirstOrThrow()
      await trx
        .insertInto('taps')
        .values({ ...taken, id: 1_000_000, chipUid: chips.jacket(1) })
        .execute()
    })
    const ref = await p.refOf(chips.jacket(4))
    expect(
      (await p.ask('/phygitals/transfer', { ...p.token('JKT', 4), recipient: bob }, { key: acmeKey })).status,
    ).toBe(200)
    expect((await p.ask(`/refs/${ref}`)).body.linkedToken.otp).toBeUndefined()
    await p.ctx.db.write((trx) => trx.deleteFrom('taps').where('id', '=', 1_000_000).execute())
    expect(await p.code(chips.jacket(4))).toMatch(/./)
  })

  test('takes a name, resolved when it is accepted', async () => {
    const { body } = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 2), recipient: 'Bob.eth' },
      { key: acmeKey },
    )
    expect(body.success).toBe(true)
    expect(await p.owner('JKT', 2)).toBe(getAddress(bob))
  })

  test('mints a token that nobody has yet, and the next one moves it', async () => {
    const transfer = (recipient: string) =>
      p.ask('/phygitals/transfer', { ...p.token('JKT', 21), recipient }, { key: acmeKey })
    const answers = await Promise.all([transfer(bob), transfer(carol)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect([getAddress(bob), getAddress(carol)]).toContain(await p.owner('JKT', 21))
    const states = (await p.transactions()).slice(-2).map(({ kind, state }) => [kind, state])
    expect(states).toEqual([
      ['phygital-mint', 'confirmed'],
      ['phygital-transfer', 'confirmed'],
    ])
  })

  test("another team's token, and one that is nowhere, are a 404", async () => {
    const body = { ...p.token('JKT', 1), recipient: bob }
    expect((await p.ask('/phygitals/transfer', body, { key: otherKey })).status).toBe(404)
    const nowhere = { ...body, tokenId: '999' }
    expect((await p.ask('/phygitals/transfer', nowhere, { key: acmeKey })).status).toBe(404)
  })

  test.each([
    ['the zero address', `0x${'0'.repeat(40)}`],
    ['a name that nobody has', 'nobody.eth'],
    ['no address at all', '0x12'],
    ['a wrong checksum', '0xde709F2102306220921060314715629080e2fb77'],
    ['nothing', ' '],
  ])('to %s is a 400 that says why', async (_what, recipient) => {
    const { status, body } = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 1), recipient },
      { key: acmeKey },
    )
    expect(status).toBe(400)
    expect(body.message).toMatch(/recipient/i)
  })

  test('to a contract that takes no tokens is a 400 with its reason', async () => {
    const recipient = p.addressOf('ART')
    const { status, body } = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 3), recipient },
      { key: acmeKey },
    )
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'simulation_reverted' })
    expect(body.message).toMatch(/ERC721InvalidReceiver/)
  })
})

describe('a transfer by code', () => {
  test('moves the token and uses the code up', async () => {
    const code = await p.code(chips.jacket(4))
    const first = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect(first).toMatchObject({ status: 200, body: { success: true, initialTxHash: hash } })
    expect(await p.owner('JKT', 4)).toBe(getAddress(bob))
    expect(await isUsed(code)).toBe(true)
    const second = await p.ask('/phygitals/transfer/pullable', { recipient: carol }, { code })
    expect(second).toMatchObject({ status: 401, body: { code: 'otp_used' } })
  })

  test('ten at once with one code: one moves the token, nine are refused', async () => {
    const code = await p.code(chips.jacket(5))
    const before = (await p.transactions()).length
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
    expect((await p.transactions()).length).toBe(before + 1)
  })

  test('ends the codes that older taps gave for the token', async () => {
    const old = await p.code(chips.jacket(6))
    const code = await p.code(chips.jacket(6))
    await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    const late = await p.ask('/phygitals/transfer/pullable', { recipient: carol }, { code: old })
    expect(late).toMatchObject({ status: 401, body: { code: 'otp_expired' } })
    expect(await p.owner('JKT', 6)).toBe(getAddress(bob))
  })

  test.each([
    ['an unknown name', 'nobody.eth', 400],
    ['the zero address', `0x${'0'.repeat(40)}`, 400],
    ['a contract that refuses it', 'ART', 400],
  ])('that is refused for %s leaves the code good', async (_what, to, status) => {
    const code = await p.code(chips.jacket(7))
    const recipient = to === 'ART' ? p.addressOf('ART') : to
    expect((await p.ask('/phygitals/transfer/pullable', { recipient }, { code })).status).toBe(status)
    expect(await isUsed(code)).toBe(false)
  })

  test('without a code, or with one that is not good, is a 401 that says which', async () => {
    const withCode = async (code?: string) =>
      (await p.ask('/phygitals/transfer/pullable', { recipient: bob }, code ? { code } : {})).body
    expect(await withCode()).toMatchObject({ statusCode: 401, code: 'otp_missing' })
    expect(await withCode('x'.repeat(21))).toMatchObject({ statusCode: 401, code: 'otp_unknown' })
    const deleted = await p.code(chips.jacket(8))
    await p.ask(`/otps/${deleted}`, undefined, { method: 'DELETE', key: acmeKey })
    expect(await withCode(deleted)).toMatchObject({ statusCode: 401, code: 'otp_deleted' })
    const late = await p.code(chips.jacket(8))
    clock.advance('31m')
    expect(await withCode(late)).toMatchObject({ statusCode: 401, code: 'otp_expired' })
  })
})

describe('an unminted chip', () => {
  test('gets a token minted for the recipient, with the metadata of its item', async () => {
    const code = await p.code(chips.unminted(1))
    const { status, body } = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect({ status, body }).toEqual({ status: 200, body: { success: true, initialTxHash: hash } })
    const { linkedToken } = await p.tapped(chips.unminted(1))
    expect(linkedToken).toMatchObject({ contractAddress: p.addressOf('JKT'), tokenId: '22' })
    expect(await p.owner('JKT', 22)).toBe(getAddress(bob))
    const metadata = await p.ask(`/metadata/31337/${p.addressOf('JKT')}/22`)
    expect(metadata.body).toMatchObject({
      name: 'Jacket',
      collection: 'Jackets',
      attributes: [{ trait_type: 'Size', value: 'S' }],
    })
  })

  test('ten codes at once mint one token', async () => {
    const codes = await Promise.all(Array.from({ length: 10 }, () => p.code(chips.unminted(2))))
    const answers = await Promise.all(
      codes.map((code) => p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 401]))
    const tokens = await p.ctx.db.read.selectFrom('tokens').where('tokenId', '=', '24').selectAll().execute()
    expect(tokens).toEqual([])
  })

  test('by key and tag: transfer/self-service answers with the token', async () => {
    const { status, body } = await p.ask(
      '/phygitals/transfer/self-service',
      { tagUID: chips.unminted(3), recipient: carol },
      { key: acmeKey },
    )
    expect({ status, body }).toEqual({
      status: 200,
      body: { initialTxHash: hash, tokenRef: p.token('JKT', 24) },
    })
    expect(await p.owner('JKT', 24)).toBe(getAddress(carol))
  })

  test('of an item without a contract says so, and its code stays good', async () => {
    const code = await p.code(chips.unminted(9))
    const { status, body } = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect({ status, message: body.message }).toEqual({
      status: 409,
      message: expect.stringMatching(/no contract/),
    })
    expect(await isUsed(code)).toBe(false)
  })
})

describe('an Idempotency-Key', () => {
  test('gives a repeated request the first answer, also when its code is used up', async () => {
    const code = await p.code(chips.jacket(9))
    const headers = { 'idempotency-key': 'order-17' }
    const send = (recipient = bob) => p.ask('/phygitals/transfer/pullable', { recipient }, { code, headers })
    const answers = await Promise.all([send(), send(), send()])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ body }) => body.initialTxHash)).size).toBe(1)
    expect(await send(carol)).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
  })

  test('is kept only once an intent is recorded: a refused request may be sent again', async () => {
    const headers = { 'idempotency-key': 'order-18' }
    const send = (recipient: string) =>
      p.ask('/phygitals/transfer', { ...p.token('JKT', 10), recipient }, { key: acmeKey, headers })
    expect((await send('nobody.eth')).status).toBe(400)
    expect((await send(bob)).status).toBe(200)
  })
})
