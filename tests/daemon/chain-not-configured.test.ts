import { afterEach, describe, expect, test } from 'vitest'
import { bob, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'

// A setting that is missing is no outage: trying again later does not help.

let p: Phygitals | undefined
afterEach(async () => {
  await p?.close()
  p = undefined
})
const lines: string[] = []
const without = async (env: Record<string, string> = {}): Promise<Phygitals> => {
  lines.length = 0
  p = await openPhygitals({
    chain: false,
    env: { TAPCHIP_DEV_CHAIN: 'off', ...env },
    log: (line) => lines.push(line),
  })
  return p
}
const transfer = (of: Phygitals, recipient = bob as string) =>
  of.ask('/phygitals/transfer', { ...of.token('JKT', 1), recipient }, { key: acmeKey })

describe('a chain that is not configured', () => {
  test('is a 400 that says what to set, and no failure of ours', async () => {
    const refused = await transfer(await without())
    expect(refused).toMatchObject({ status: 400, body: { code: 'chain_not_configured' } })
    expect(refused.body.message).toMatch(/embedded chain, which is turned off here.*TAPCHIP_DEV_CHAIN=on/)
    expect(refused.headers).not.toHaveProperty('retry-after')
    expect(lines.filter((line) => line.includes('request failed'))).toEqual([])
  })

  test('is told of without the names of variables where nobody known asks', async () => {
    const of = await without()
    const code = await of.code(chips.jacket(1))
    const refused = await of.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect(refused).toMatchObject({ status: 400, body: { code: 'chain_not_configured' } })
    expect(refused.body.message).toBe('Chain 31337 is not set up here. Nothing was used up.')
    expect((await of.ask(`/otps/${code}`)).body.isExpired).toBe(false)
  })

  test('but a name needs says so, with the variable for whoever has a key', async () => {
    const of = await without()
    const named = await transfer(of, 'alice.eth')
    expect(named).toMatchObject({ status: 400, body: { code: 'chain_not_configured' } })
    expect(named.body.message).toMatch(/recipient: alice\.eth is looked up on chain 31337.*TAPCHIP_DEV_CHAIN/)
    const question = new URLSearchParams({
      contractAddress: of.addressOf('JKT'),
      chainId: '31337',
      tokenId: '1',
      recipient: 'alice.eth',
    })
    const url = `/phygitals/claim-registration?${question}`
    const stranger = await of.ask(url)
    expect(stranger).toMatchObject({ status: 400, body: { code: 'chain_not_configured' } })
    expect(stranger.body.message).not.toMatch(/TAPCHIP/)
    expect((await of.ask(url, undefined, { key: 'svc_wrong' })).body.message ?? '').not.toMatch(/TAPCHIP/)
    expect((await of.ask(url, undefined, { key: acmeKey })).body.message).toMatch(/TAPCHIP_DEV_CHAIN/)
  })

  test('leaves a batch to its other rows', async () => {
    const of = await without()
    const answer = await of.app.inject({
      method: 'POST',
      url: '/phygitals/transfer/check',
      headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' },
      payload: JSON.stringify({ ...of.token('JKT', 1), recipient: bob }),
    })
    const [row, totals] = answer.body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(row).toMatchObject({ status: 'refused', error: expect.stringContaining('TAPCHIP_DEV_CHAIN') })
    expect(totals).toEqual({ totals: [] })
  })
})

describe('the owner that chips show tells', () => {
  const shown = async (of: Phygitals, uid: string) =>
    (await of.ask(`/admin/chips/${uid}`, undefined, { headers: of.admin })).body.linkedToken

  test('is the chain’s, also after the token moved', async () => {
    p = await openPhygitals()
    await transfer(p)
    await p.settled()
    const token = await shown(p, chips.jacket(1))
    expect(token.ownerAddress.toLowerCase()).toBe(bob)
    expect(token).not.toHaveProperty('ownerNote')
    // Nobody has it yet.
    expect(await shown(p, chips.lazy)).toEqual({ ...p.token('JKT', 21), ownerAddress: null })
  })

  test('is not known where the chain is not there to be asked, and says so', async () => {
    expect(await shown(await without(), chips.jacket(1))).toMatchObject({
      ownerAddress: null,
      ownerNote: 'chain 31337 is not configured here',
    })
  })
})
