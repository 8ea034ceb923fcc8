import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bob, type Phygitals } from '../support/phygitals.ts'
import { openRemoteChain, type RemoteChain, remoteRelayer } from '../support/remote-chain.ts'
import { acmeKey } from '../support/seeds.ts'

const oracle = '0x420000000000000000000000000000000000000F'
const weiPerByte = 1_000_000_000_000n
// Answers a call with its size times that, as the OP stack's oracle goes by the bytes of a transaction.
const charging = `0x3665${weiPerByte.toString(16).padStart(12, '0')}025f5260205ff3`
const reverting = '0x5f5ffd'

let chain: RemoteChain
beforeAll(async () => {
  chain = await openRemoteChain()
})
afterAll(() => chain.close())

/** A daemon that sees this code where the oracle is. */
async function openWith(code: string): Promise<Phygitals> {
  await chain.rpc('anvil_setCode', [oracle, code])
  const p = await chain.open()
  onTestFinished(() => p.close())
  await p.settled()
  return p
}

const moves = (p: Phygitals, ns: number[]) =>
  ns.map((n) => JSON.stringify({ ...p.token('JKT', n), chainId: 7, recipient: bob })).join('\n')

async function totalsOf(p: Phygitals, path: string, payload: string) {
  const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' }
  const { body } = await p.app.inject({ method: 'POST', url: path, headers, payload })
  const last = JSON.parse(body.trim().split('\n').at(-1) ?? '')
  return last.totals[0]
}
const checked = (p: Phygitals, ns: number[]) => totalsOf(p, '/phygitals/transfer/check', moves(p, ns))

const setBalance = (wei: bigint) =>
  chain.rpc('anvil_setBalance', [remoteRelayer.address, `0x${wei.toString(16)}`])

describe('the L1 fee of the OP stack', () => {
  test('is part of what the relayer needs, for each transaction', async () => {
    const p = await openWith(charging)
    const totals = await checked(p, [1, 2, 3, 4])
    const [cost, l1Fee, needed] = [totals.cost, totals.l1Fee, totals.needed].map(BigInt) as [
      bigint,
      bigint,
      bigint,
    ]
    // 260 bytes of call data in a transaction of about 320, and 68 that ask for it.
    expect(l1Fee / 4n / weiPerByte).toBeGreaterThan(350n)
    expect(l1Fee / 4n / weiPerByte).toBeLessThan(450n)
    expect(needed).toBe(cost + l1Fee)
    expect(totals.canPay).toBe(true)

    onTestFinished(() => setBalance(10n ** 19n).then(() => undefined))
    // Enough for the gas alone.
    expect(l1Fee).toBeGreaterThan(cost)
    await setBalance(l1Fee)
    expect(await checked(p, [1, 2, 3, 4])).toMatchObject({ canPay: false })
    // A node would refuse even one: nothing is recorded, and no code used up.
    await setBalance(l1Fee / 4n)
    const { status, body } = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 9), chainId: 7, recipient: bob },
      { key: acmeKey },
    )
    expect([status, body.message]).toEqual([503, expect.stringContaining('cannot pay')])
  })

  test('is counted for announcements of metadata as well', async () => {
    const p = await openWith(charging)
    const row = {
      ...p.token('JKT', 1),
      chainId: 7,
      metadata: {
        name: 'New',
        collection: 'c',
        description: '',
        image: '',
        attributes: [],
        media_gallery: [],
      },
    }
    const totals = await totalsOf(p, '/phygitals/metadata/batch?dryRun=true', JSON.stringify(row))
    expect(BigInt(totals.l1Fee) / weiPerByte).toBeGreaterThan(100n)
  })

  test('that cannot be read refuses no dry run, and says so', async () => {
    const totals = await checked(await openWith(reverting), [1])
    expect(totals).toMatchObject({ l1Fee: null, canPay: true })
  })

  test('is nothing where there is no oracle', async () => {
    const totals = await checked(await openWith('0x'), [1])
    expect(totals).toMatchObject({ canPay: true })
    expect(totals).not.toHaveProperty('l1Fee')
  })
})
