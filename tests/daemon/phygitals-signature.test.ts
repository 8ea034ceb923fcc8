import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { testClock } from '../support/daemon.ts'
import { bob, carol, chips, openPhygitals, type Phygitals, phygitalsForTest } from '../support/phygitals.ts'
import { minedReceipt } from '../support/receipt.ts'
import { acmeKey, alice, otherKey } from '../support/seeds.ts'
import { somebodyOn } from '../support/wallet.ts'

let p: Phygitals

beforeAll(async () => {
  p = await openPhygitals()
})

afterAll(() => p.close())

const submit = async (
  functionName: 'claimNFT' | 'mintNFT',
  n: number,
  to: `0x${string}`,
  { signature, blockExpiry }: { signature: Hex; blockExpiry: string },
) => {
  const wallet = await somebodyOn(p)
  const hash = await wallet.writeContract({
    abi: phygitalAbi,
    address: p.addressOf('JKT'),
    functionName,
    args: [signature, BigInt(blockExpiry), to, BigInt(n)],
  })
  return minedReceipt(wallet, hash)
}

const pull = (code: string, recipient: string, of = p) =>
  of.ask('/phygitals/transfer-signature/pullable', { recipient }, { code, method: 'GET' })

describe('a transfer signature', () => {
  test('by key moves the token when somebody else submits it', async () => {
    const { status, body } = await p.ask(
      `/phygitals/transfer-signature?${new URLSearchParams({ ...p.token('JKT', 1), chainId: '31337', recipient: bob })}`,
      undefined,
      { key: acmeKey },
    )
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        signature: expect.stringMatching(/^0x[0-9a-f]{130}$/),
        blockExpiry: expect.stringMatching(/^\d+$/),
        tokenRef: { ...p.token('JKT', 1), chainId: '31337' },
      },
    })
    expect((await submit('claimNFT', 1, bob, body)).status).toBe('success')
    expect(await p.owner('JKT', 1)).toBe(getAddress(bob))
  })

  test('takes its fields from the body of a GET as well', async () => {
    const { status, body } = await p.ask(
      '/phygitals/transfer-signature',
      { ...p.token('JKT', 2), recipient: carol },
      { key: acmeKey, method: 'GET' },
    )
    expect(status).toBe(200)
    expect(body.tokenRef.tokenId).toBe('2')
  })

  test('by code mints an unminted token; the code is used up, but for a client that lost the answer', async () => {
    const code = await p.code(chips.unminted(1))
    const { status, body, headers } = await pull(code, carol)
    expect(status).toBe(200)
    expect(headers['cache-control']).toBe('no-store')
    expect((await submit('mintNFT', Number(body.tokenRef.tokenId), carol, body)).status).toBe('success')
    expect(await p.owner('JKT', body.tokenRef.tokenId)).toBe(getAddress(carol))
    expect((await pull(code, carol)).body).toEqual(body)
    expect((await pull(code, bob)).body).toMatchObject({ statusCode: 401, code: 'otp_used' })
    expect((await p.ask(`/otps/${code}`)).body.isExpired).toBe(true)
  })

  test('is one, of ten requests at once with the same code, for the recipient that was first', async () => {
    const code = await p.code(chips.jacket(4))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => pull(code, n % 2 === 0 ? bob : carol)),
    )
    const given = answers.filter(({ status }) => status === 200)
    expect(new Set(given.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(given).toHaveLength(5)
    expect(answers.flatMap(({ body }) => body.code ?? [])).toEqual(Array(5).fill('otp_used'))
  })

  test('is given again after a restart, and stands in the database for nobody without the code', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-signature-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
    const before = await openPhygitals({ dataDir })
    const code = await before.code(chips.jacket(1))
    const given = await pull(code, 'bob.eth', before)
    const { signature } = await before.ctx.db.read
      .selectFrom('spentCodes')
      .select('signature')
      .where('signature', 'is not', null)
      .executeTakeFirstOrThrow()
    expect(Buffer.from(signature ?? []).includes(given.body.signature)).toBe(false)
    await before.close()
    const after = await phygitalsForTest({ dataDir })
    expect((await pull(code, bob, after)).body).toEqual(given.body)
    // Deleting the code ends that.
    await after.ask(`/otps/${code}`, undefined, { key: acmeKey, method: 'DELETE' })
    expect((await pull(code, bob, after)).body).toMatchObject({ statusCode: 401, code: 'otp_deleted' })
  })

  test('counts the transfers that are under way to the same recipient', async () => {
    await Promise.all(
      [5, 6, 7].map((n) =>
        p.ask('/phygitals/transfer', { ...p.token('JKT', n), recipient: carol }, { key: acmeKey }),
      ),
    )
    const { body } = await p.ask(
      '/phygitals/transfer-signature',
      { ...p.token('JKT', 8), recipient: carol },
      { key: acmeKey, method: 'GET' },
    )
    await p.settled()
    expect((await submit('claimNFT', 8, carol, body)).status).toBe('success')
    expect(await p.owner('JKT', 8)).toBe(getAddress(carol))
  })

  test('that is refused leaves the code good', async () => {
    const code = await p.code(chips.jacket(9))
    expect((await pull(code, 'nobody.eth')).status).toBe(400)
    expect((await p.ask(`/otps/${code}`)).body.isExpired).toBe(false)
    expect((await pull(code, bob)).status).toBe(200)
  })

  test("for another team's token is a 404", async () => {
    const { status } = await p.ask(
      '/phygitals/transfer-signature',
      { ...p.token('JKT', 1), recipient: carol },
      { key: otherKey, method: 'GET' },
    )
    expect(status).toBe(404)
  })
})

describe('far from block zero', () => {
  let code: string
  beforeAll(async () => {
    code = await p.code(chips.jacket(15))
    expect((await pull(code, bob)).status).toBe(200)
    await p.ctx.chains.embedded?.mine(1200)
  })

  test('a signature that has expired is not given again', async () => {
    expect((await pull(code, bob)).body).toMatchObject({ statusCode: 401, code: 'otp_used' })
  })

  test('signatures by key and by code move their tokens, and expire after the latest block', async () => {
    const latest = await p.ctx.chains.get(31337).client.getBlockNumber()
    expect(latest).toBeGreaterThan(1100n)
    const byKey = await p.ask(
      '/phygitals/transfer-signature',
      { ...p.token('JKT', 12), recipient: bob },
      { key: acmeKey, method: 'GET' },
    )
    expect(BigInt(byKey.body.blockExpiry)).toBeGreaterThanOrEqual(latest + 1000n)
    expect((await submit('claimNFT', 12, bob, byKey.body)).status).toBe('success')
    const byCode = await p.ask(
      '/phygitals/transfer-signature/pullable',
      { recipient: carol },
      { code: await p.code(chips.jacket(13)), method: 'GET' },
    )
    expect((await submit('claimNFT', 13, carol, byCode.body)).status).toBe('success')
  })

  test('transfers are simulated, signed and mined as ever', async () => {
    const { status } = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 14), recipient: bob },
      { key: acmeKey },
    )
    expect(status).toBe(200)
    expect(await p.owner('JKT', 14)).toBe(getAddress(bob))
  })
})

describe('GET /phygitals/chip', () => {
  test('says which chip a token has, to anybody', async () => {
    const place = new URLSearchParams({ ...p.token('JKT', 3), chainId: '31337' })
    place.set('contractAddress', p.addressOf('JKT').toLowerCase())
    const { body } = await p.ask(`/phygitals/chip?${place}`)
    expect(body).toEqual({ uid: BigInt(`0x${chips.jacket(3)}`).toString() })
    place.set('tokenId', '4711')
    expect((await p.ask(`/phygitals/chip?${place}`)).status).toBe(404)
  })
})

describe('the owner in a ref', () => {
  test('is whoever owns the token on the chain now', async () => {
    expect((await p.tapped(chips.jacket(10))).linkedToken).not.toHaveProperty('ownerAddress')
    await p.ask('/phygitals/transfer', { ...p.token('JKT', 10), recipient: bob }, { key: acmeKey })
    await p.settled()
    const ref = await p.refOf(chips.jacket(10))
    expect((await p.ask(`/refs/${ref}?includeOwner=true`)).body.linkedToken.ownerAddress).toBe(
      getAddress(bob),
    )
    const other = await p.refOf(chips.jacket(11))
    expect((await p.ask(`/refs/${other}?includeOwner=true`)).body.linkedToken.ownerAddress).toBe(alice)
    const lazy = await p.refOf(chips.lazy)
    expect((await p.ask(`/refs/${lazy}?includeOwner=true`)).body.linkedToken).not.toHaveProperty(
      'ownerAddress',
    )
  })
})

describe('a pulled signature', () => {
  test('uses the registration up as a transfer does', async () => {
    const clock = testClock()
    const p = await phygitalsForTest({ clock })
    const register = await p.code(chips.art(1))
    await p.ask('/phygitals/claim-registration/pullable', { recipient: bob }, { code: register })
    clock.advance('60s')
    const code = await p.code(chips.art(1))
    const signed = await p.ask(
      '/phygitals/transfer-signature/pullable',
      { recipient: bob },
      { code, method: 'GET' },
    )
    expect(signed.status).toBe(200)
    const late = await p.code(chips.art(1))
    const { body } = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code: late })
    expect(body).toMatchObject({ statusCode: 409, code: 'registration_missing' })
  })
})
