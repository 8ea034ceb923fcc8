import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testClock } from '../support/daemon.ts'
import { ownerEdit } from '../support/owner-edit.ts'
import { chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'
import { deployWallet } from '../support/wallet.ts'

const clock = testClock()
let p: Phygitals
const owner = privateKeyToAccount(generatePrivateKey())
const stranger = privateKeyToAccount(generatePrivateKey())
beforeAll(async () => {
  p = await openPhygitals({ clock })
  for (const n of [1, 2, 3]) await give(n, owner.address)
})
afterAll(() => p.close())

async function give(n: number, recipient: string): Promise<void> {
  await p.ask('/phygitals/transfer', { ...p.token('JKT', n), recipient }, { key: acmeKey })
  await p.settled()
}

const typedData = (n: number, redirectUrl: string, requestExpiryTime: number) =>
  ownerEdit(p.addressOf('JKT'), n, redirectUrl, requestExpiryTime)

const soon = () => Math.floor(clock.now() / 1000) + 300
const send = (n: number, redirectUrl: string, requestExpiryTime: number, ownerSignature: Hex) =>
  p.ask(
    '/chips/self-service',
    { ...p.token('JKT', n), updates: { redirectUrl }, requestExpiryTime, ownerSignature },
    { method: 'PATCH' },
  )
const signed = async (n: number, url: string, { by = owner, until = soon() } = {}) =>
  send(n, url, until, await by.signTypedData(typedData(n, url, until)))
const redirectOf = async (uid: string) =>
  (await p.app.inject({ url: `/admin/chips/${uid}`, headers: p.admin })).json().redirectUrl

describe('PATCH /chips/self-service', () => {
  test("changes all chips of the token on its owner's signature", async () => {
    const { status, body } = await signed(1, 'https://owner.example/mine?x=%20')
    expect({ status, body }).toEqual({
      status: 200,
      body: { success: true, updatedTags: [BigInt(`0x${chips.jacket(1)}`).toString()] },
    })
    expect(await redirectOf(chips.jacket(1))).toBe('https://owner.example/mine?x=%20')
    expect((await signed(1, '')).status).toBe(200)
    expect(await redirectOf(chips.jacket(1))).toBeNull()
  })

  test('a signature works once, of ten at once', async () => {
    const until = soon()
    const url = 'https://owner.example/once'
    const signature = await owner.signTypedData(typedData(2, url, until))
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(2, url, until, signature)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
    expect(answers.find(({ status }) => status === 401)?.body.code).toBe('signature_used')
    // The same words signed another way are the same words: with s on the other side of the curve's order.
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
    const flipped = `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}` as Hex
    expect((await send(2, url, until, flipped)).status).toBe(401)
  })

  test.each(['stranger', 'other words', 'other token'])('is a 401 for a signature of %s', async (whose) => {
    const until = soon()
    const url = 'https://evil.example/'
    const signature =
      whose === 'stranger'
        ? await stranger.signTypedData(typedData(3, url, until))
        : await owner.signTypedData(typedData(whose === 'other token' ? 2 : 3, `${url}x`, until))
    expect((await send(3, url, until, signature)).body).toMatchObject({
      statusCode: 401,
      code: 'signature_invalid',
    })
    expect(await redirectOf(chips.jacket(3))).toBeNull()
  })

  test.each([`0x${'00'.repeat(65)}`, `0x${'ff'.repeat(65)}`, '0x12', `0x${'ab'.repeat(64)}`] as Hex[])(
    'is a 401 for bytes that are no signature: %s',
    async (bytes) => {
      expect((await send(3, 'https://evil.example/', soon(), bytes)).body).toMatchObject({
        statusCode: 401,
        code: 'signature_invalid',
      })
    },
  )

  test('asks for a request that has not expired, in seconds', async () => {
    const until = Math.floor(clock.now() / 1000)
    expect((await signed(3, 'https://owner.example/', { until })).body).toMatchObject({
      statusCode: 401,
      code: 'signature_expired',
    })
  })

  test('who owned it before has no say', async () => {
    await give(3, stranger.address)
    expect((await signed(3, 'https://owner.example/late')).status).toBe(401)
    expect((await signed(3, 'https://stranger.example/', { by: stranger })).status).toBe(200)
  })

  test('a URL that no chip may lead to is a 400, and the signature stays good', async () => {
    const until = soon()
    const url = 'javascript:alert(1)'
    const signature = await owner.signTypedData(typedData(1, url, until))
    expect((await send(1, url, until, signature)).status).toBe(400)
  })

  test('a token that nobody has yet has nobody who could sign', async () => {
    expect((await signed(21, 'https://owner.example/')).body).toMatchObject({
      statusCode: 401,
      message: expect.stringMatching(/has no owner/),
    })
    expect((await signed(4711, 'https://owner.example/')).status).toBe(404)
  })
})

describe('an owner that is a contract (ERC-1271)', () => {
  test('says yes to what its keeper signed, and no to anything else', async () => {
    const wallet = await deployWallet(p, owner.address)
    await give(4, wallet)
    expect((await signed(4, 'https://wallet.example/')).status).toBe(200)
    expect(await redirectOf(chips.jacket(4))).toBe('https://wallet.example/')
    expect((await signed(4, 'https://evil.example/', { by: stranger })).status).toBe(401)
  })
})
