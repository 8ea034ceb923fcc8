import { getAddress, parseEventLogs } from 'viem'
import { getTransactionReceipt } from 'viem/actions'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { announceDeferred } from '../../src/daemon/domain/chain/announcements.ts'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'

const bob = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const carol = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const shown = {
  description: 'Jackets with a chip',
  image: 'ipfs://QmTNgv3jx2HHfBjQX9RnKtxj2xv2xQDtbVXoRi5rJ3a46e',
  banner: 'https://acme.example/banner.png',
  externalLink: 'https://acme.example',
}

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({
    chain: true,
    seed: {
      version: 1,
      names: { 'bob.eth': bob },
      teams: [
        {
          name: 'Acme',
          contracts: [
            { symbol: 'JKT', name: 'Jackets', chainId: 31337 },
            { symbol: 'FUT', name: 'Future', chainId: 5 },
          ],
          guestbookContracts: [{ symbol: 'GB', name: 'Guests', chainId: 31337 }],
        },
      ],
    },
  })
})
afterEach(() => t.close())

const idOf = { JKT: 1, FUT: 2, GB: 3 } as const
const edit = (fields: object, id: number = idOf.JKT) => t.call(`PATCH /admin/contracts/${id}`, fields)
const row = async (id: number = idOf.JKT) => (await t.call(`GET /admin/contracts/${id}`)).body
const settled = (id: number) => t.ctx.chains.relayer.settled(id)
const chain = () => t.ctx.chains.get(31337)
const served = async (id: number = idOf.JKT) => {
  const { chainId, address } = await row(id)
  return (await t.call(`GET /metadata/${chainId}/${address}/contract`)).body
}
const royaltyOnChain = async (price: bigint) =>
  chain().client.readContract({
    abi: phygitalAbi,
    address: getAddress((await row()).address),
    functionName: 'royaltyInfo',
    args: [1n, price],
  })
const sent = async (kind: string) =>
  t.ctx.db.read.selectFrom('transactions').selectAll().where('kind', '=', kind).orderBy('id').execute()
const eventsOf = async (id: number) => {
  const { minedHash } = await t.ctx.db.read
    .selectFrom('transactions')
    .select('minedHash')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const { logs } = await getTransactionReceipt(chain().client, { hash: minedHash as `0x${string}` })
  return parseEventLogs({ abi: phygitalAbi, logs }).map(({ eventName }) => eventName)
}
/** From now on nothing is sent. */
const stopSending = () => t.ctx.chains.relayer.close()

describe('what marketplaces show of a collection', () => {
  test('is served, announced on the chain, and can be taken back', async () => {
    expect(await served()).toEqual({ name: 'Jackets', symbol: 'JKT' })
    const { status, body } = await edit(shown)
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { ...shown, royalty: null, sentTransactionId: null, warnings: [] },
    })
    expect(await served()).toEqual({
      name: 'Jackets',
      symbol: 'JKT',
      description: shown.description,
      image: shown.image,
      banner_image: shown.banner,
      featured_image: shown.banner,
      external_link: shown.externalLink,
    })
    const [announced] = await sent('collection-refresh')
    expect(await settled(announced?.id ?? 0)).toMatchObject({ name: 'confirmed' })
    expect(await eventsOf(announced?.id ?? 0)).toEqual(['ContractURIUpdated'])
    expect((await t.audit('action=contracts.edit'))[0]).toMatchObject({ target: 'JKT', detail: shown })

    await edit({ description: '', image: null })
    expect(await served()).not.toHaveProperty('description')
    expect(await served()).toHaveProperty('banner_image', shown.banner)
  })

  test('is announced once for many changes, and not at all for none', async () => {
    await stopSending()
    for (const description of ['One', 'Two', 'Three']) await edit({ description })
    await edit({ description: 'Three' })
    expect(await sent('collection-refresh')).toHaveLength(1)
    expect((await t.audit('action=contracts.edit')).map(({ detail }) => detail)).toEqual([
      { description: 'Three' },
      { description: 'Two' },
      { description: 'One' },
    ])
  })

  test('is announced later where the day is spent, while it is served', async () => {
    await t.call('PATCH /admin/teams/1', { transactionsPerDay: 0 })
    for (const description of ['One', 'Two']) expect((await edit({ description })).status).toBe(200)
    expect((await served()).description).toBe('Two')
    await announceDeferred(t.ctx)
    expect(await sent('collection-refresh')).toEqual([])
    await t.call('PATCH /admin/teams/1', { transactionsPerDay: 10 })
    await announceDeferred(t.ctx)
    const announced = await sent('collection-refresh')
    expect(announced).toHaveLength(1)
    expect(await settled(announced[0]?.id ?? 0)).toMatchObject({ name: 'confirmed' })
  })

  test('is served for guestbooks, too, with what announces it', async () => {
    const { status, body } = await edit(shown, idOf.GB)
    expect(status).toBe(200)
    expect(body.warnings).toEqual([expect.stringContaining('tapchip contracts set-url GB --force')])
    expect(await served(idOf.GB)).toMatchObject({ symbol: 'GB', banner_image: shown.banner })
    expect(await sent('collection-refresh')).toEqual([])
  })

  const misfits: [object, string][] = [
    [{ image: 'http://acme.example/a.png' }, 'image'],
    [{ banner: 'javascript:alert(1)' }, 'banner'],
    [{ externalLink: 'acme.example' }, 'externalLink'],
    [{ description: 'x'.repeat(2001) }, 'description'],
    [{ royaltyPercent: 2.555, royaltyTo: bob }, 'royaltyPercent'],
    [{ royaltyPercent: 100.01, royaltyTo: bob }, 'royaltyPercent'],
    [{ royaltyPercent: '-1', royaltyTo: bob }, 'royaltyPercent'],
    [{ royaltyPercent: '2,5', royaltyTo: bob }, 'royaltyPercent'],
    [{ royaltyPercent: 2 }, 'royaltyTo'],
    [{ royaltyPercent: 2, royaltyTo: 'nobody.eth' }, 'royaltyTo'],
    [{ royaltyTo: bob }, 'royaltyPercent'],
  ]
  test('is refused where it does not fit', async () => {
    for (const [fields, named] of misfits) {
      const { status, body } = await edit(fields)
      const message = expect.stringMatching(new RegExp(`^${named}[: ]`))
      expect({ status, message: body.message }).toEqual({ status: 400, message })
    }
    expect(await t.audit('action=contracts.edit')).toEqual([])
  })
})

describe('a royalty', () => {
  test('is set by one transaction, which announces all that changed; and ten who ask for it set it once', async () => {
    const fields = { royaltyPercent: 2.5, royaltyTo: 'bob.eth', description: 'New' }
    expect(await tenTimes(() => edit(fields))).toEqual({ 200: 10 })
    const [transaction, another] = await sent('contract-royalty')
    expect(another).toBeUndefined()
    const id = transaction?.id ?? 0
    expect(transaction).toMatchObject({ signer: 'relayer', topic: expect.stringMatching(/^royalty:31337/) })
    expect(await settled(id)).toMatchObject({ name: 'confirmed' })
    expect(await royaltyOnChain(1000n)).toEqual([bob, 25n])
    expect(await eventsOf(id)).toEqual(['RoyaltyUpdated', 'ContractURIUpdated'])
    expect(await sent('collection-refresh')).toEqual([])
    expect(await served()).toMatchObject({ seller_fee_basis_points: 250, fee_recipient: bob })
    expect(await row()).toMatchObject({
      royalty: { percent: 2.5, to: bob },
      features: ['royalty', 'group-mints'],
    })
    expect(await t.audit('action=contracts.edit')).toMatchObject([
      { detail: { royaltyBasisPoints: 250, royaltyReceiver: bob, transaction: id } },
    ])
  })

  test('can be changed by half, and ended', async () => {
    const change = async (fields: object) => {
      const { sentTransactionId, royalty } = (await edit(fields)).body
      expect(await settled(sentTransactionId)).toMatchObject({ name: 'confirmed' })
      return royalty
    }
    expect(await change({ royaltyPercent: '100', royaltyTo: bob })).toEqual({ percent: 100, to: bob })
    expect(await change({ royaltyPercent: '0.29' })).toEqual({ percent: 0.29, to: bob })
    expect(await change({ royaltyTo: carol })).toEqual({ percent: 0.29, to: carol })
    expect(await royaltyOnChain(10_000n)).toEqual([carol, 29n])
    expect(await change({ royaltyPercent: 0 })).toBeNull()
    expect(await royaltyOnChain(10_000n)).toEqual(['0x0000000000000000000000000000000000000000', 0n])
    expect(await served()).not.toHaveProperty('seller_fee_basis_points')
  })

  test('stays what it was where its transaction is given up, unless another follows', async () => {
    const first = (await edit({ royaltyPercent: 1, royaltyTo: bob })).body.sentTransactionId
    await settled(first)
    await stopSending()
    const cancel = (id: number) => t.call(`POST /admin/transactions/${id}/cancel`, { reason: 'test' })
    const second = (await edit({ royaltyPercent: 2 })).body.sentTransactionId
    const third = (await edit({ royaltyPercent: 3 })).body.sentTransactionId
    expect((await cancel(second)).status).toBe(200)
    expect((await row()).royalty.percent).toBe(3)
    const fourth = (await edit({ royaltyPercent: 4 })).body.sentTransactionId
    expect((await cancel(fourth)).status).toBe(200)
    expect((await row()).royalty.percent).toBe(3)
    expect(await served()).toHaveProperty('seller_fee_basis_points', 300)
    // The same again is sent again.
    expect((await edit({ royaltyPercent: 3 })).body.sentTransactionId).toBeNull()
    expect((await edit({ royaltyPercent: 4 })).body.sentTransactionId).toBeGreaterThan(third)
  })

  test('comes with a deployment', async () => {
    const body = {
      symbol: 'CAP',
      name: 'Caps',
      chainId: 31337,
      royaltyPercent: 7.5,
      royaltyTo: 'bob.eth',
      ...shown,
    }
    const made = await t.call('POST /admin/contracts/deploy', body)
    expect(made).toMatchObject({ status: 200, body: { royalty: { percent: 7.5, to: bob }, features: null } })
    expect(await settled(made.body.transactionId)).toMatchObject({ name: 'confirmed' })
    const address = getAddress(made.body.address)
    const abi = phygitalAbi
    expect(
      await chain().client.readContract({ abi, address, functionName: 'royaltyInfo', args: [1n, 1000n] }),
    ).toEqual([bob, 75n])
    expect(await served(made.body.id)).toMatchObject({ fee_recipient: bob, image: shown.image })
    const missing = await t.call('POST /admin/contracts/deploy', {
      ...body,
      symbol: 'HAT',
      royaltyTo: undefined,
    })
    expect(missing).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^royaltyTo is required/) },
    })
  })

  test('is refused, with what can be done, where the contract has none', async () => {
    const royalty = { royaltyPercent: 2, royaltyTo: bob }
    const refused = async (id: number) => {
      const { status, body } = await edit(royalty, id)
      return `${status} ${body.message}`
    }
    expect(await refused(idOf.GB)).toMatch(/^409 GB is a guestbook contract, which has no royalty/)
    expect(await refused(idOf.FUT)).toMatch(/^409 FUT is not deployed yet/)
    expect((await edit(shown, idOf.FUT)).body).toMatchObject({ ...shown, warnings: [], features: null })
    expect(await sent('contract-royalty')).toEqual([])
  })

  test('and all else is only checked by a dry run', async () => {
    const dry = await t.call(`PATCH /dry-run/admin/contracts/${idOf.JKT}`, {
      ...shown,
      royaltyPercent: 2,
      royaltyTo: bob,
    })
    expect(dry).toMatchObject({ status: 200, body: { dryRun: true } })
    expect(await row()).toMatchObject({ royalty: null, image: null })
    expect(await sent('contract-royalty')).toEqual([])
    const refused = await t.call(`PATCH /dry-run/admin/contracts/${idOf.GB}`, {
      royaltyPercent: 2,
      royaltyTo: bob,
    })
    expect(refused.status).toBe(409)
  })
})
