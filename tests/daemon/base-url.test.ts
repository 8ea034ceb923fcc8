import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { acmeKey } from '../support/seeds.ts'

let dataDir: string
const open: TestApp[] = []
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-base-url-'))
})
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const events = 150
const seed = {
  version: 1,
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }],
      guestbookContracts: [
        {
          symbol: 'GB',
          name: 'Guests',
          chainId: 31337,
          events: Array.from({ length: events }, (_, n) => ({
            name: `Evening ${n + 1}`,
            tokenId: String(n + 1),
          })),
        },
      ],
    },
  ],
}

async function start(baseUrl: string): Promise<TestApp> {
  const t = await openTestApp({ seed, chain: true, dataDir, env: { TAPCHIP_BASE_URL: baseUrl } })
  open.push(t)
  return t
}
const stop = async () => {
  for (const one of open.splice(0)) await one.close()
}

async function uris(t: TestApp) {
  const contracts = await t.ctx.db.read.selectFrom('contracts').selectAll().orderBy('id').execute()
  const [jackets, guests] = contracts.map(({ address }) => getAddress(address))
  const { client } = t.ctx.chains.get(31337)
  return {
    baseUri: await client.readContract({
      abi: phygitalAbi,
      address: jackets ?? '0x',
      functionName: 'baseURI',
    }),
    uri: await client.readContract({
      abi: guestbookAbi,
      address: guests ?? '0x',
      functionName: 'uri',
      args: [BigInt(events)],
    }),
    stored: contracts.map(({ serviceUrl }) => serviceUrl),
  }
}

describe('a daemon that starts with another base URL', () => {
  test('tells its contracts, also a guestbook with many events, and knows it once it has happened', async () => {
    await start('http://one.example')
    await stop()
    const t = await start('https://two.example/tap/')
    const { baseUri, uri, stored } = await uris(t)
    expect(baseUri).toMatch(/^https:\/\/two\.example\/tap\/metadata\/31337\/0x[0-9a-fA-F]{40}\/$/)
    expect(uri).toMatch(/^https:\/\/two\.example\/tap\/metadata\/31337\/0x[0-9a-fA-F]{40}\/150$/)
    expect(stored).toEqual(['https://two.example/tap', 'https://two.example/tap'])
    const states = await t.ctx.db.read
      .selectFrom('transactions')
      .select('state')
      .where('kind', 'in', ['contract-url', 'guestbook-refresh'])
      .execute()
    // One a contract, and the events in hundreds.
    expect(states.map(({ state }) => state)).toEqual(Array(4).fill('confirmed'))
  })

  test('and with the same one sends nothing', async () => {
    const count = async (t: TestApp) =>
      (await t.ctx.db.read.selectFrom('transactions').select('id').execute()).length
    const before = await count(await start('http://one.example'))
    await stop()
    expect(await count(await start('http://one.example'))).toBe(before)
  })
})

test('a base URL of any length fits into a contract', async () => {
  const t = await start(`http://one.example/${'x'.repeat(2300)}`)
  const { baseUri } = await uris(t)
  expect(baseUri.length).toBeGreaterThan(2300)
})
