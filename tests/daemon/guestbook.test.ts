import { getAddress, zeroHash } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { guestbookFactoryAbi } from '../../src/daemon/chain/artifacts/guestbook-factory.ts'
import { guestbookAddress, guestbookFactory } from '../../src/daemon/chain/deterministic-deployment.ts'
import { type Guestbooks, metadata, openGuestbooks, seeded } from '../support/guestbook.ts'
import { bob } from '../support/phygitals.ts'
import { minedReceipt } from '../support/receipt.ts'
import { otherKey } from '../support/seeds.ts'
import { tapPath } from '../support/taps.ts'
import { somebodyOn } from '../support/wallet.ts'

let g: Guestbooks
beforeAll(async () => {
  g = await openGuestbooks()
})
afterAll(() => g.close())

/** A UID as the wire has it. */
const uidFromHex = (hex: string): string => BigInt(`0x${hex}`).toString()

const deploy = (symbol: string, more: object = {}, options = {}) =>
  g.ask('/events/contracts', { name: 'Summer', symbol, chainId: 31337, ...more }, options)
const create = (contractId: number | string, tokenId: string, more: object = {}, options = {}) =>
  g.ask('/events', { name: 'Evening', tokenId, contractId, metadata: metadata('Evening'), ...more }, options)
const read = async (
  symbol: string,
  functionName: 'uri' | 'name',
  args: readonly [bigint] | readonly [] = [],
) =>
  g.ctx.chains.get(31337).client.readContract({
    abi: guestbookAbi,
    address: getAddress((await g.contract(symbol)).address),
    functionName,
    args,
  } as never)

describe('a guestbook contract', () => {
  test('is pending without an address, and confirmed with it once its deployment is', async () => {
    const { status, body } = await deploy('NEW')
    expect({ status, body }).toEqual({ status: 200, body: { success: true, contractId: expect.any(Number) } })
    await g.settled()
    const listed = (await g.ask('/events/contracts')).body
    expect(listed.at(-1)).toEqual({
      id: body.contractId,
      name: 'Summer',
      symbol: 'NEW',
      address: (await g.contract('NEW')).address,
      chainId: 31337,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      status: 'confirmed',
    })
    expect(await read('NEW', 'name')).toBe('Summer')
  })

  test('is deployed once for one Idempotency-Key, and one of a symbol', async () => {
    const headers = { 'idempotency-key': 'deploy-1' }
    const answers = await Promise.all([1, 2, 3].map(() => deploy('ONE', {}, { headers })))
    expect(new Set(answers.map(({ body }) => body.contractId)).size).toBe(1)
    expect(await deploy('ONE')).toMatchObject({ status: 409, body: { code: 'already_exists' } })
    const ten = await Promise.all(Array.from({ length: 10 }, () => deploy('TEN')))
    expect(ten.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
  })

  test('with the longest name there may be has the gas that it takes', async () => {
    expect((await deploy('界'.repeat(32), { name: '界'.repeat(200) })).status).toBe(200)
    await g.settled()
    expect((await g.ask('/events/contracts')).body.at(-1).status).toBe('confirmed')
  })

  test('on a chain that is not configured is a 400 that says what to set, and nothing is recorded', async () => {
    const before = (await g.ask('/events/contracts')).body.length
    expect(await deploy('FARAWAY', { chainId: 10 })).toMatchObject({
      status: 400,
      body: { code: 'chain_not_configured', message: expect.stringMatching(/TAPCHIP_RPC_10/) },
    })
    expect((await g.ask('/events/contracts')).body).toHaveLength(before)
  })

  test('another team sees its own alone, and the list has no contract of another kind', async () => {
    expect((await g.ask('/events/contracts', undefined, { key: otherKey })).body).toEqual([])
    const symbols = (await g.ask('/events/contracts')).body.map(({ symbol }: { symbol: string }) => symbol)
    expect(symbols).toContain('GB')
    expect(symbols).not.toContain('JKT')
  })

  test.each([
    [{ name: ' ' }, /name/],
    [{ symbol: 'X'.repeat(33) }, /symbol/],
    [{ chainId: 'main' }, /chainId/],
    [{ chainId: undefined }, /chainId: Required/],
  ])('with %o is a 400 that names the field', async (more, why) => {
    const { status, body } = await deploy('BAD', more)
    expect(status).toBe(400)
    expect(body.message).toMatch(why)
  })
})

describe('a guestbook event', () => {
  test('is created, listed with both names of its address, and told of by its contract', async () => {
    const { id, address } = await g.contract('GB')
    const { status, body } = await create(String(id), '7')
    expect({ status, body }).toEqual({ status: 200, body: { success: true, id: expect.any(Number) } })
    await g.settled()
    const events = (await g.ask(`/events?contractId=${id}`)).body
    expect(events.at(-1)).toEqual({
      id: body.id,
      name: 'Evening',
      contract: { id, address, contractAddress: address, chainId: 31337, tokenId: '7' },
      createdAt: expect.any(String),
    })
    const uri = String(await read('GB', 'uri', [7n]))
    const told = await g.app.inject({ url: new URL(uri).pathname })
    expect(told.json()).toEqual(JSON.parse(metadata('Evening')))
  })

  test('of a token id that the contract has already is a 409: of ten at once, one is made', async () => {
    const { id } = await g.contract('GB')
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(id, '8')))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    expect(await create(id, '1')).toMatchObject({ status: 409, body: { code: 'already_exists' } })
    const headers = { 'idempotency-key': 'event-9' }
    const first = await create(id, '9', {}, { headers })
    expect((await create(id, '9', {}, { headers })).body).toEqual(first.body)
  })

  test("on another team's contract, or one of another kind, is a 404", async () => {
    const { id } = await g.contract('GB')
    expect((await create(id, '20', {}, { key: otherKey })).status).toBe(404)
    expect((await create((await g.contract('JKT')).id, '20')).status).toBe(404)
    expect((await g.ask('/events?contractId=999')).body).toEqual([])
    expect((await g.ask(`/events?contractId=${id}`, undefined, { key: otherKey })).body).toEqual([])
  })

  test('with metadata that does not fit is refused field by field', async () => {
    const { id } = await g.contract('GB')
    const { status, body } = await create(id, '21', { metadata: '{"name":"x"}' })
    expect(status).toBe(400)
    expect(body).toMatchObject({
      success: false,
      errors: { 'metadata.collection': 'Required', 'metadata.attributes': 'Required' },
    })
    expect((await create(id, '21', { metadata: undefined })).body.errors).toEqual({ metadata: 'Required' })
  })
})

describe('what a tap tells', () => {
  test('the look-up of a chip gives the code of its first guestbook event, and the code tells of it', async () => {
    const parameters = g.nextTap(seeded.assigned(9))
    const found = await g.ask(tapPath(parameters, '/chips/find'))
    const { address } = await g.contract('GB')
    const otp = (await g.ask(`/otps/${found.body.otp.code}`)).body
    expect(otp).toMatchObject({
      type: 'GUESTBOOK_EVENT',
      isExpired: false,
      uid: uidFromHex(seeded.assigned(9)),
      guestbookEvent: { id: 1, name: 'Opening', contractAddress: address, chainId: 31337, tokenId: '1' },
    })
  })

  test('a later query of a ref gives no code, and names the event still', async () => {
    const page = await g.app.inject({ url: tapPath(g.nextTap(seeded.assigned(10))) })
    const ref = /data-ref="([^"]+)"/.exec(page.body)?.[1]
    await g.ask(`/refs/${ref}`)
    const { isValidRef, guestbookEvents } = (await g.ask(`/refs/${ref}`)).body
    const { address } = await g.contract('GB')
    expect({ isValidRef, guestbookEvents }).toEqual({
      isValidRef: false,
      guestbookEvents: [{ contractAddress: address, chainId: 31337, tokenId: '1' }],
    })
  })
})

describe('a guestbook that was deployed elsewhere', () => {
  /** Somebody's own guestbook takes the place of the one that the seed names. */
  const openForeign = async () => {
    const wallet = await somebodyOn(g)
    const me = wallet.account.address
    const deployment = {
      salt: zeroHash,
      name: 'Elsewhere',
      symbol: 'FAR',
      serviceURL: 'https://far.example',
      admin: me,
      minter: me,
    }
    const address = guestbookAddress(deployment)
    const hash = await wallet.writeContract({
      abi: guestbookFactoryAbi,
      address: guestbookFactory,
      functionName: 'deploy',
      args: [deployment],
    })
    await minedReceipt(wallet, hash)
    await g.ctx.db.write(async (trx) => {
      await trx.updateTable('contracts').set({ address }).where('symbol', '=', 'FAR').execute()
    })
    return { wallet, address }
  }

  test('says that nothing is there, or who has to let this daemon in, and then mints', async () => {
    const { id } = await g.contract('FAR')
    const mint = () => g.ask('/events/mint', { tokenId: '1', contractId: id, recipient: bob })
    expect(await mint()).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/no guestbook contract/) },
    })
    const { wallet, address } = await openForeign()
    const { relayer } = g.ctx.chains.get(31337)
    for (const refused of [await mint(), await create(id, '5')])
      expect(refused).toMatchObject({
        status: 409,
        body: { message: expect.stringContaining(`setMinter(${relayer}, true)`) },
      })
    const paused = await g.ask('/events/toggle-pause-state', { contractId: id, pauseState: true })
    expect(paused).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining(wallet.account.address) },
    })
    const hash = await wallet.writeContract({
      abi: guestbookAbi,
      address,
      functionName: 'setMinter',
      args: [relayer, true],
    })
    await minedReceipt(wallet, hash)
    expect((await mint()).status).toBe(200)
    expect(await g.balance('FAR', 1, bob)).toBe(1)
    // An event that is there already is taken as it is.
    expect((await create(id, '5')).status).toBe(200)
    expect((await g.transactions()).at(-1)?.kind).toBe('guestbook-event')
    const kinds = (await g.transactions()).slice(-3).map(({ kind }) => kind)
    expect(kinds).toEqual(['guestbook-event', 'guestbook-mint', 'guestbook-event'])
    await g.settled()
    expect((await g.transactions()).slice(-3).map(({ state }) => state)).toEqual(Array(3).fill('confirmed'))
  })
})
