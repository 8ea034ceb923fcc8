import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { openOpenSea } from '../support/opensea.ts'
import { carol, openPhygitals, type Phygitals, phygitalsForTest } from '../support/phygitals.ts'
import { minedReceipt } from '../support/receipt.ts'
import { acmeKey, otherKey } from '../support/seeds.ts'
import { somebodyOn } from '../support/wallet.ts'

let p: Phygitals

beforeAll(async () => {
  p = await openPhygitals()
})

afterAll(() => p.close())

const metadata = {
  name: 'Jacket #1, mended',
  collection: 'Jackets',
  description: '',
  image: 'https://img.acme.example/1.png',
  attributes: [
    { trait_type: 'Size', value: 'M' },
    { trait_type: 'Repairs', value: 2, display_type: 'number' },
  ],
  media_gallery: [{ media: 'https://img.acme.example/1.mp4', type: 'video/mp4' }],
  external_url: 'https://acme.example/1',
}

const replace = (value: unknown, { key = acmeKey, n = 1 }: { key?: string; n?: number } = {}) =>
  p.ask(
    '/phygitals/metadata',
    { ...p.token('JKT', n), ...(value === undefined ? {} : { metadata: value }) },
    { key, method: 'PATCH' },
  )

describe('PATCH /phygitals/metadata', () => {
  test('replaces what tokenURI leads to, and announces it on the chain', async () => {
    const { client } = p.ctx.chains.get(31337)
    const address = p.addressOf('JKT')
    const from = (await client.getBlockNumber()) + 1n
    expect((await replace(JSON.stringify(metadata))).body).toEqual({ success: true })
    const uri = await client.readContract({
      abi: phygitalAbi,
      address,
      functionName: 'tokenURI',
      args: [1n],
    })
    expect(uri).toBe(`${p.ctx.baseUrl}/metadata/31337/${address}/1`)
    const served = await p.ask(new URL(uri).pathname)
    expect(served.body).toEqual(metadata)
    await p.settled()
    const events = await client.getContractEvents({
      abi: phygitalAbi,
      address,
      eventName: 'MetadataUpdate',
      fromBlock: from,
    })
    expect(events.map(({ args }) => args._tokenId)).toEqual([1n])
  })

  test('keeps every byte of what the schema does not know', async () => {
    const odd = { ...metadata, name: 'Zoë 🧥', properties: { nested: [1, { deep: null }] } }
    await replace(JSON.stringify(odd), { n: 2 })
    expect((await p.ask(`/metadata/31337/${p.addressOf('JKT').toLowerCase()}/2`)).body).toEqual(odd)
  })

  test.each([
    { background_color: 'FF8800' },
    { attributes: [{ trait_type: 'kg', value: '1,5' }] },
    { attributes: [{ trait_type: 'kg', value: '1.5', display_type: 'number' }] },
    { attributes: [{ trait_type: 'Born', value: '1 May 2026', display_type: 'date' }] },
  ])('takes %j', async (some) => {
    expect((await replace(JSON.stringify({ ...metadata, ...some }), { n: 3 })).status).toBe(200)
  })

  test.each<[string, unknown, Record<string, string>]>([
    ['a missing field', { ...metadata, name: undefined }, { 'metadata.name': 'Required' }],
    [
      'a field of an attribute',
      { ...metadata, attributes: [{ trait_type: 'a', value: 'b' }, { value: 'c' }] },
      { 'metadata.attributes.1.trait_type': 'Required' },
    ],
    [
      'a colour that marketplaces do not read',
      { ...metadata, background_color: '#FF8800' },
      { 'metadata.background_color': 'must be six hex digits without #: FF8800' },
    ],
    [
      'a short one',
      { ...metadata, background_color: '#f80' },
      { 'metadata.background_color': 'must be six hex digits without #, such as ff8800' },
    ],
    [
      'a number with a comma, where a number is shown',
      { ...metadata, attributes: [{ trait_type: 'kg', value: '1,5', display_type: 'boost_number' }] },
      { 'metadata.attributes.0.value': 'must be a number with a point and without commas: 1.5' },
    ],
    [
      'a text, where a number is shown',
      { ...metadata, attributes: [{ trait_type: 'kg', value: 'heavy', display_type: 'number' }] },
      { 'metadata.attributes.0.value': 'must be a number, such as 12 or 0.5' },
    ],
    [
      'a number that programs read as infinite',
      JSON.stringify(metadata).replace('"value":2', '"value":1e400'),
      { 'metadata.attributes.1.value': 'must be a number that programs can read: at most 1.7e308' },
    ],
    [
      'a gallery that is missing',
      { ...metadata, media_gallery: undefined },
      { 'metadata.media_gallery': 'Required' },
    ],
    [
      'a value of another type',
      { ...metadata, attributes: [{ trait_type: 'a', value: true }] },
      { 'metadata.attributes.0.value': expect.stringMatching(/text or a number/) as unknown as string },
    ],
  ])('names %s by its path', async (_what, value, errors) => {
    const { status, body } = await replace(typeof value === 'string' ? value : JSON.stringify(value))
    expect(status).toBe(400)
    expect(body).toMatchObject({ success: false, code: 'invalid_metadata' })
    expect(body.errors).toEqual(errors)
  })

  test.each([
    ['no metadata at all', undefined, 'Required'],
    ['text that is no JSON', '{', 'valid JSON'],
    ['a number', 7, 'JSON string'],
    ['a list', '[]', 'an object with name'],
  ])('refuses %s', async (_what, value, words) => {
    const { status, body } = await replace(value)
    expect({ status, success: body.success }).toEqual({ status: 400, success: false })
    expect(body.errors.metadata).toContain(words)
  })

  test("is a 404 for another team's token, and changes nothing", async () => {
    const before = (await p.ask(`/metadata/31337/${p.addressOf('JKT')}/3`)).body
    expect((await replace(JSON.stringify(metadata), { key: otherKey, n: 3 })).status).toBe(404)
    expect((await p.ask(`/metadata/31337/${p.addressOf('JKT')}/3`)).body).toEqual(before)
  })
})

describe('what contracts lead to', () => {
  test('the collection has its own', async () => {
    const { client } = p.ctx.chains.get(31337)
    const uri = await client.readContract({
      abi: phygitalAbi,
      address: p.addressOf('JKT'),
      functionName: 'contractURI',
    })
    expect((await p.ask(new URL(uri).pathname)).body).toEqual({ name: 'Jackets', symbol: 'JKT' })
  })

  test.each([
    '/metadata/31337/0x12/1',
    '/metadata/1/CONTRACT/1',
    '/metadata/31337/CONTRACT/x',
    '/metadata/31337/CONTRACT/4711',
  ])('%s is a 404', async (path) => {
    const { status, body } = await p.ask(path.replace('CONTRACT', p.addressOf('JKT')))
    expect({ status, code: body.code }).toEqual({ status: 404, code: 'not_found' })
  })
})

describe('marketplaces', () => {
  test('are told, and one that is down fails no PATCH', async () => {
    const market = await openOpenSea('key-1')
    const one = await openPhygitals({
      env: { TAPCHIP_OPENSEA_URL: market.url, TAPCHIP_OPENSEA_API_KEY: 'key-1' },
    })
    try {
      const body = { ...one.token('JKT', 1), metadata: JSON.stringify(metadata) }
      const { status } = await one.ask('/phygitals/metadata', body, { key: acmeKey, method: 'PATCH' })
      expect(status).toBe(200)
      // The embedded chain is on no marketplace: the queue says so, and lets go of it.
      await one.ctx.marketplace?.tick()
      const rows = await one.ctx.db.read.selectFrom('marketplaceRefreshes').selectAll().execute()
      expect(rows).toMatchObject([{ tokenId: '1', reason: expect.stringMatching(/31337/) }])
      expect(rows[0]?.givenUpAt).not.toBeNull()
    } finally {
      await one.close()
      await market.close()
    }
  })
})

describe('metadata', () => {
  test('that is nested without end is a 400', async () => {
    const p = await phygitalsForTest()
    const deep = `{"name":"","collection":"","description":"","image":"","attributes":[],"media_gallery":[],"x":${'['.repeat(5000)}${']'.repeat(5000)}}`
    const { status, body } = await p.ask(
      '/phygitals/metadata',
      { ...p.token('JKT', 1), metadata: deep },
      { key: acmeKey, method: 'PATCH' },
    )
    expect({ status, message: body.message }).toEqual({
      status: 400,
      message: expect.stringMatching(/64 levels/),
    })
  })

  test('of a token that somebody minted by a signature is announced as well', async () => {
    const p = await phygitalsForTest()
    const { body: signed } = await p.ask(
      '/phygitals/transfer-signature',
      { ...p.token('JKT', 21), recipient: carol },
      { key: acmeKey, method: 'GET' },
    )
    const somebody = await somebodyOn(p)
    const data: Hex = encodeFunctionData({
      abi: phygitalAbi,
      functionName: 'mintNFT',
      args: [signed.signature, BigInt(signed.blockExpiry), carol, 21n],
    })
    const hash = await somebody.sendTransaction({ to: p.addressOf('JKT'), data })
    await minedReceipt(somebody, hash)
    const text = '{"name":"x","collection":"","description":"","image":"","attributes":[],"media_gallery":[]}'
    await p.ask(
      '/phygitals/metadata',
      { ...p.token('JKT', 21), metadata: text },
      { key: acmeKey, method: 'PATCH' },
    )
    expect((await p.transactions()).at(-1)).toMatchObject({ kind: 'phygital-refresh' })
  })
})
