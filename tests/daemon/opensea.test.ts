import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createOpenSea, type OpenSeaSettings } from '../../src/daemon/marketplace/opensea.ts'
import { createOutbound } from '../../src/daemon/outbound/outbound.ts'
import { type OpenSeaStandIn, openOpenSea } from '../support/opensea.ts'

const apiKey = 'a-key-of-opensea'
const contract = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const token = { chainId: 1, contract, tokenId: '7' }
const now = Date.parse('2030-01-01T00:00:00Z')

let stand: OpenSeaStandIn
beforeEach(async () => {
  stand = await openOpenSea(apiKey)
})
afterEach(() => stand.close())

const outbound = (allowPrivate: string[], timeoutMs = 10_000) =>
  createOutbound({ allowPrivate, timeoutMs, maxBytes: 10_000 })

const openSea = (more: Partial<OpenSeaSettings> = {}) =>
  createOpenSea({
    request: outbound([stand.url]).request,
    baseUrl: stand.url,
    apiKey,
    clock: { now: () => now },
    ...more,
  })

describe('a refresh', () => {
  test.each([
    [1, 'ethereum'],
    [137, 'matic'],
    [8453, 'base'],
    [42161, 'arbitrum'],
    [10, 'optimism'],
    [11155111, 'sepolia'],
    [84532, 'base_sepolia'],
    [43114, 'avalanche'],
  ])('of a token on chain %s asks for %s', async (chainId, slug) => {
    const tokenId = String(2n ** 256n - 1n)
    expect(await openSea().refresh({ chainId, contract, tokenId })).toEqual({ kind: 'done' })
    expect(stand.refreshed).toEqual([`${slug}/${contract}/${tokenId}`])
  })

  test('goes where the configuration says: another base URL, other slugs', async () => {
    const other = openSea({ baseUrl: `${stand.url}//`, slugs: { 137: 'base', 31337: 'ethereum' } })
    expect(await other.refresh({ ...token, chainId: 137 })).toEqual({ kind: 'done' })
    expect(await other.refresh({ ...token, chainId: 31337 })).toEqual({ kind: 'done' })
    expect(stand.refreshed).toEqual([`base/${contract}/7`, `ethereum/${contract}/7`])
  })

  test('on a chain without a marketplace is refused, and nobody is asked', async () => {
    const result = await openSea().refresh({ ...token, chainId: 31337 })
    expect(result).toEqual({ kind: 'refused', reason: 'no marketplace for chain 31337' })
    expect(stand.asked()).toBe(0)
  })

  test('cannot be sent to another path by its token', async () => {
    const result = await openSea().refresh({ ...token, tokenId: '7/../../../../../account?' })
    expect(result).toEqual({ kind: 'refused', reason: 'OpenSea answered 404' })
    expect(stand.asked()).toBe(1)
  })
})

describe('what OpenSea says', () => {
  test('about a wrong key is a refusal that names the key, and does not show it', async () => {
    const result = await openSea({ apiKey: 'wrong-key' }).refresh(token)
    expect(result).toEqual({ kind: 'refused', reason: 'OpenSea answered 401: check the API key' })
  })

  test('about a token or chain that it does not know is a refusal', async () => {
    const result = await openSea().refresh({ ...token, chainId: 7777777 })
    expect(result).toEqual({ kind: 'refused', reason: 'OpenSea answered 400' })
  })

  test('with a redirect is a refusal: nobody follows it with the key', async () => {
    stand.answer({ status: 301, headers: { location: `${stand.url}/elsewhere` } })
    expect(await openSea().refresh(token)).toMatchObject({ kind: 'refused' })
    expect(stand.asked()).toBe(1)
  })

  test.each([
    ['120', 120_000],
    ['0', 0],
    ['Tue, 01 Jan 2030 00:01:30 GMT', 90_000],
    ['Mon, 31 Dec 2029 23:00:00 GMT', 0],
    ['99999999', 86_400_000],
    ['soon', 60_000],
    [undefined, 60_000],
  ])('with 429 and Retry-After %s holds all tokens back for %s ms', async (after, afterMs) => {
    stand.answer({ status: 429, ...(after === undefined ? {} : { headers: { 'retry-after': after } }) })
    expect(await openSea().refresh(token)).toEqual({
      kind: 'retry',
      afterMs,
      scope: 'all',
      reason: 'OpenSea answered 429',
    })
  })

  test.each([500, 502, 503, 408])('with %s is tried again', async (status) => {
    stand.answer({ status })
    const result = await openSea().refresh(token)
    expect(result).toMatchObject({ kind: 'retry', scope: 'token', reason: `OpenSea answered ${status}` })
  })
})

describe('no answer', () => {
  test('within the time is tried again, and shows no key', async () => {
    stand.answer({ status: 0, hang: true })
    const result = await openSea({ request: outbound([stand.url], 150).request }).refresh(token)
    expect(result).toMatchObject({ kind: 'retry', scope: 'all' })
    expect(JSON.stringify(result)).toContain('did not answer in full within 150 ms')
    expect(JSON.stringify(result)).not.toContain(apiKey)
  })

  test('since nobody listens is tried again', async () => {
    await stand.close()
    expect(JSON.stringify(await openSea().refresh(token))).toContain('ECONNREFUSED')
  })

  test('comes from a private address that the configuration does not name', async () => {
    const result = await openSea({ request: outbound([]).request }).refresh(token)
    expect(result).toMatchObject({ kind: 'retry' })
    expect(JSON.stringify(result)).toContain('not on the public internet')
    expect(stand.asked()).toBe(0)
  })
})
