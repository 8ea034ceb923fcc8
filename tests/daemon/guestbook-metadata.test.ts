import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { type Guestbooks, metadata, openGuestbooks, seeded } from '../support/guestbook.ts'
import { acmeKey, otherKey } from '../support/seeds.ts'

let g: Guestbooks
beforeAll(async () => {
  // Somewhere to ask that marketplaces read it again; nobody answers there, and nothing fails for it.
  g = await openGuestbooks({
    env: { TAPCHIP_OPENSEA_URL: 'http://127.0.0.1:9', TAPCHIP_OPENSEA_API_KEY: 'key' },
  })
})
afterAll(() => g.close())

/** A UID as the wire has it. */
const uidFromHex = (hex: string): string => BigInt(`0x${hex}`).toString()

describe("an event's metadata", () => {
  const patch = (body: object, key = acmeKey) => g.ask('/events/metadata', body, { method: 'PATCH', key })
  const shown = async (tokenId: string) =>
    (await g.ask(`/metadata/31337/${(await g.contract('GB')).address}/${tokenId}`)).body

  test('is replaced by id, extra fields kept, announced on the chain, and asked to be read again', async () => {
    const { status, body } = await patch({ eventId: '2', metadata: metadata('Finale') })
    expect({ status, body }).toEqual({ status: 200, body: { success: true } })
    expect(await shown('2')).toEqual(JSON.parse(metadata('Finale')))
    await g.settled()
    const { address } = await g.contract('GB')
    const { client } = g.ctx.chains.get(31337)
    const logs = await client.getContractEvents({
      abi: guestbookAbi,
      address: getAddress(address),
      eventName: 'URI',
      args: { id: 2n },
      fromBlock: 0n,
    })
    expect(logs).toHaveLength(2)
    const refreshes = await g.ctx.db.read.selectFrom('marketplaceRefreshes').selectAll().execute()
    expect(refreshes.at(-1)).toMatchObject({ chainId: 31337, contract: address, tokenId: '2' })
  })

  test('is replaced by place, and as the sample of the interface names an event', async () => {
    const { id, address } = await g.contract('GB')
    const place = { tokenId: '2', contractAddress: address.toLowerCase(), chainId: 31337 }
    expect((await patch({ ...place, metadata: metadata('By place') })).status).toBe(200)
    expect((await shown('2')).name).toBe('By place')
    expect((await patch({ tokenId: '2', contractId: id, metadata: metadata('By sample') })).status).toBe(200)
    expect((await shown('2')).name).toBe('By sample')
  })

  test('takes a new label with it, where one is given', async () => {
    const label = async () => (await g.ask('/events')).body.find(({ id }: { id: number }) => id === 2).name
    await patch({ eventId: 2, name: 'Last evening', metadata: metadata('Finale') })
    expect(await label()).toBe('Last evening')
    await patch({ eventId: 2, name: '', metadata: metadata('Finale') })
    expect(await label()).toBe('Last evening')
  })

  test('that does not fit is refused with the path of every field', async () => {
    const bad = JSON.stringify({
      name: '',
      collection: '',
      description: '',
      image: '',
      attributes: [{ trait_type: 'ok', value: 1 }, { value: true }],
    })
    const { status, body } = await patch({ eventId: 2, metadata: bad })
    expect(status).toBe(400)
    expect(body).toMatchObject({
      statusCode: 400,
      success: false,
      errors: {
        'metadata.attributes.1.trait_type': 'Required',
        'metadata.attributes.1.value': 'must be text or a number',
      },
    })
    expect((await patch({ eventId: 2 })).body.errors).toEqual({ metadata: 'Required' })
    expect((await patch({ eventId: 2, metadata: 'no' })).body.errors.metadata).toMatch(/valid JSON/)
    expect((await patch({ metadata: metadata('x') })).body.errors).toEqual({
      tokenId: 'Required, unless eventId is given',
      contractAddress: 'Required, unless eventId is given',
      chainId: 'Required, unless eventId is given',
    })
  })

  test("of another team's event is a 404, and stays", async () => {
    expect((await patch({ eventId: 2, metadata: metadata('Mine now') }, otherKey)).status).toBe(404)
    expect((await shown('2')).name).toBe('Finale')
  })
})

describe('assigning an event', () => {
  const assign = (tagUIDs: string[], guestbookEventId: number | string = 2, key = acmeKey) =>
    g.ask('/events/assign/legacy', { tagUIDs, guestbookEventId }, { key })
  const assignments = () => g.ctx.db.read.selectFrom('guestbookAssignments').selectAll().execute()

  test("gives a chip's taps codes for it; a second time changes nothing", async () => {
    const uid = seeded.blank(1)
    expect((await assign([uid, uidFromHex(uid)])).body).toEqual({ success: true })
    const before = await assignments()
    expect((await assign([uid])).status).toBe(200)
    expect(await assignments()).toEqual(before)
    const { address } = await g.contract('GB')
    expect((await g.tapped(uid)).guestbookEvents).toEqual([
      { contractAddress: address, chainId: 31337, tokenId: '2', otp: expect.stringMatching(/^[\w-]{21}$/) },
    ])
    const audit = await g.app.inject({ url: '/admin/audit?action=guestbook.assign', headers: g.admin })
    expect(audit.json()).toMatchObject([
      { actor: 'key:ops', target: uidFromHex(uid), detail: { eventId: 2 } },
    ])
  })

  test("assigns all or none, and names those that are not the team's", async () => {
    const before = await assignments()
    const foreign = uidFromHex('04827F12647380')
    const { status, body } = await assign([seeded.blank(2), foreign])
    expect({ status, message: body.message }).toEqual({
      status: 404,
      message: expect.stringContaining(foreign),
    })
    expect(await assignments()).toEqual(before)
  })

  test('reads 14 digits as a decimal number where the team has no such chip in hex', async () => {
    const decimal = '12345678901234'
    expect((await assign([decimal])).status).toBe(200)
    expect((await assign(['000B3A73CE2FF2'])).status).toBe(200)
    expect((await assignments()).filter(({ chipUid }) => chipUid === decimal)).toHaveLength(1)
  })

  test("of another team's event, or of one that is nowhere, is a 404", async () => {
    expect((await assign(['04827F12647380'], 2, otherKey)).status).toBe(404)
    expect((await assign([seeded.blank(2)], 999)).status).toBe(404)
    expect((await assign([], 2)).status).toBe(400)
  })
})
