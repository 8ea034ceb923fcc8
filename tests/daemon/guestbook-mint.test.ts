import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { receiverAbi, receiverBytecode } from '../contracts/artifacts/receiver.ts'
import { testClock } from '../support/daemon.ts'
import { type Guestbooks, openGuestbooks, seeded } from '../support/guestbook.ts'
import { bob, carol } from '../support/phygitals.ts'
import { minedReceipt } from '../support/receipt.ts'
import { acmeKey, alice, otherKey } from '../support/seeds.ts'
import { somebodyOn } from '../support/wallet.ts'

const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
const clock = testClock()
let g: Guestbooks
beforeAll(async () => {
  g = await openGuestbooks({ clock })
})
afterAll(() => g.close())

const isUsed = async (code: string): Promise<boolean> => (await g.ask(`/otps/${code}`)).body.isExpired
const mintSelf = (code: string | undefined, recipient: string, headers = {}) =>
  g.ask('/events/mint/self', { recipient }, { ...(code === undefined ? { key: '' } : { code }), headers })
const place = async (tokenId = '1') => ({
  tokenId,
  contractAddress: (await g.contract('GB')).address,
  chainId: 31337,
})

/** A contract that takes tokens as it is told: 0 yes, 1 no, 2 it burns all gas. */
async function receiver(mood: 0 | 1 | 2) {
  const wallet = await somebodyOn(g)
  const created = await wallet.deployContract({ abi: receiverAbi, bytecode: receiverBytecode })
  const { contractAddress } = await minedReceipt(wallet, created)
  const address = getAddress(contractAddress ?? '')
  const told = await wallet.writeContract({
    abi: receiverAbi,
    address,
    functionName: 'behave',
    args: [mood, address, []],
  })
  await minedReceipt(wallet, told)
  return address
}

describe('a mint by key', () => {
  test('by the event id, as text or as a number, answers with the hash of its transaction', async () => {
    for (const eventId of ['1', 1]) {
      const { status, body } = await g.ask('/events/mint', { eventId, recipient: bob })
      expect({ status, body }).toEqual({ status: 200, body: { success: true, txnHash: hash } })
    }
    expect(await g.balance('GB', 1, bob)).toBe(2)
  })

  test('by the place of the event, its address in any case, to a name', async () => {
    const { tokenId, contractAddress, chainId } = await place('2')
    const body = { tokenId, contractAddress: contractAddress.toLowerCase(), chainId, recipient: 'Bob.eth' }
    expect((await g.ask('/events/mint', body)).status).toBe(200)
    expect(await g.balance('GB', 2, bob)).toBe(1)
  })

  test('by contractId and tokenId, as the sample of the metadata endpoint names an event', async () => {
    const body = { tokenId: '2', contractId: (await g.contract('GB')).id, recipient: carol }
    expect((await g.ask('/events/mint', body)).status).toBe(200)
    expect(await g.balance('GB', 2, carol)).toBe(1)
  })

  test('says what is missing where neither is given whole', async () => {
    const { status, body } = await g.ask('/events/mint', { tokenId: '1' })
    expect(status).toBe(400)
    expect(body.message).toMatch(/recipient: Required/)
    expect(body.message).toMatch(/contractAddress: Required, unless eventId is given/)
    expect(body.message).toMatch(/chainId: Required, unless/)
  })

  test("of another team's event, and of one that is nowhere, is a 404", async () => {
    const other = await g.ask('/events/mint', { eventId: 1, recipient: bob }, { key: otherKey })
    expect(other.status).toBe(404)
    expect((await g.ask('/events/mint', { ...(await place('99')), recipient: bob })).status).toBe(404)
  })

  test('again with its Idempotency-Key mints once, and gives the same answer', async () => {
    const headers = { 'idempotency-key': 'guest-1' }
    const ask = (recipient: string) => g.ask('/events/mint', { eventId: 2, recipient }, { headers })
    const answers = await Promise.all([ask(alice), ask(alice), ask(alice)])
    expect(new Set(answers.map(({ body }) => body.txnHash)).size).toBe(1)
    expect((await ask(alice)).body).toEqual(answers[0]?.body)
    expect(await g.balance('GB', 2, alice)).toBe(1)
    expect(await ask(bob)).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
  })

  test('carries an intent id, so that sending it again does nothing', async () => {
    const sent = (await g.transactions()).find(({ kind }) => kind === 'guestbook-mint')
    const { client, relayer } = g.ctx.chains.get(31337)
    const before = await g.balance('GB', 1, bob)
    await g.ctx.db.write(async (trx) => {
      const { recordIntent } = await import('../../src/daemon/chain/relayer/record-intent.ts')
      await recordIntent(trx, {
        chainId: 31337,
        call: { to: getAddress(sent?.to ?? ''), data: sent?.data as `0x${string}` },
        gasHint: 150_000,
        kind: 'guestbook-mint',
        subject: {},
        teamId: null,
        now: clock.now(),
      })
    })
    g.ctx.chains.relayer.wake()
    expect(await g.balance('GB', 1, bob)).toBe(before)
    expect((await g.transactions()).at(-1)?.state).toBe('confirmed')
    expect(await client.getCode({ address: relayer })).toBeUndefined()
  })

  test('stands in the audit log, with whom and where', async () => {
    const { body } = await g.app
      .inject({ url: '/admin/audit?action=guestbook.mint&limit=1', headers: g.admin })
      .then((answer) => ({ body: answer.json() }))
    expect(body).toMatchObject([
      { actor: 'key:ops', team: 'Acme', detail: { eventId: 2, recipient: alice, chainId: 31337 } },
    ])
  })
})

describe('a mint by code', () => {
  test('mints the token of its event, and uses the code up', async () => {
    const code = await g.code(seeded.assigned(1))
    const before = await g.balance('GB', 1, carol)
    expect(await mintSelf(code, carol)).toMatchObject({ status: 200, body: { success: true, txnHash: hash } })
    expect(await g.balance('GB', 1, carol)).toBe(before + 1)
    expect(await isUsed(code)).toBe(true)
    expect(await mintSelf(code, carol)).toMatchObject({ status: 401, body: { code: 'otp_used' } })
  })

  test('ten at once with one code: one mints, nine are refused', async () => {
    const code = await g.code(seeded.assigned(2))
    const before = await g.balance('GB', 1, bob)
    const answers = await Promise.all(Array.from({ length: 10 }, () => mintSelf(code, bob)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
    expect(await g.balance('GB', 1, bob)).toBe(before + 1)
  })

  test('again with its Idempotency-Key gives the first answer, though the code is used', async () => {
    const code = await g.code(seeded.assigned(3))
    const headers = { 'idempotency-key': 'k' }
    const first = await mintSelf(code, bob, headers)
    expect(await mintSelf(code, bob, headers)).toMatchObject({ status: 200, body: first.body })
  })

  test('without a code, or with one that is not good, is a 401 that says which', async () => {
    expect(await mintSelf(undefined, bob)).toMatchObject({ status: 401, body: { code: 'otp_missing' } })
    expect(await mintSelf('x'.repeat(21), bob)).toMatchObject({ status: 401, body: { code: 'otp_unknown' } })
    const deleted = await g.code(seeded.assigned(4))
    await g.ask(`/otps/${deleted}`, undefined, { method: 'DELETE' })
    expect(await mintSelf(deleted, bob)).toMatchObject({ status: 401, body: { code: 'otp_deleted' } })
    const late = await g.code(seeded.assigned(4))
    clock.advance('31m')
    expect(await mintSelf(late, bob)).toMatchObject({ status: 401, body: { code: 'otp_expired' } })
  })

  test('that is for something else is a 400, and stays good', async () => {
    const code = await g.code(seeded.assigned(5))
    const wrong = await g.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect(wrong).toMatchObject({ status: 400, body: { code: 'otp_unsupported' } })
    expect(await isUsed(code)).toBe(false)
  })

  test.each([
    ['an unknown name', 'nobody.eth', 'recipient_invalid'],
    ['the zero address', `0x${'0'.repeat(40)}`, 'recipient_invalid'],
    ['nothing', ' ', 'invalid_input'],
  ])('to %s is a 400, and its code stays good', async (_what, recipient, why) => {
    const code = await g.code(seeded.assigned(5))
    expect(await mintSelf(code, recipient)).toMatchObject({ status: 400, body: { code: why } })
    expect(await isUsed(code)).toBe(false)
  })
})

describe('a recipient that is a contract', () => {
  test('takes its token where it can', async () => {
    const address = await receiver(0)
    expect((await g.ask('/events/mint', { eventId: 1, recipient: address })).status).toBe(200)
    expect(await g.balance('GB', 1, address)).toBe(1)
  })

  test('and takes none is a 400 that says why, and the code stays good', async () => {
    const code = await g.code(seeded.assigned(6))
    const deaf = (await g.contract('JKT')).address
    const refusals = {
      [deaf]: /onERC1155Received/,
      [await receiver(1)]: /revert/,
      [await receiver(2)]: /gas/i,
    }
    for (const [address, why] of Object.entries(refusals)) {
      const { status, body } = await mintSelf(code, address)
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'simulation_reverted' })
      expect(body.message).toMatch(why)
    }
    expect(await isUsed(code)).toBe(false)
  })
})

describe('a pause', () => {
  const pause = async (pauseState: boolean, by: 'id' | 'place' = 'id') => {
    const { id, address } = await g.contract('GB')
    const which = by === 'id' ? { contractId: id } : { contractAddress: address, chainId: 31337 }
    return g.ask('/events/toggle-pause-state', { ...which, pauseState })
  }

  test('stops transfers between holders, and no mint; the end of it lets them go on', async () => {
    const wallet = await somebodyOn(g)
    const holder = wallet.account.address
    await g.ask('/events/mint', { eventId: 1, recipient: holder })
    const held = await g.balance('GB', 1, holder)
    const address = getAddress((await g.contract('GB')).address)
    const transfer = { abi: guestbookAbi, address, functionName: 'safeTransferFrom' } as const
    const args = [holder, getAddress(bob), 1n, 1n, '0x'] as const

    expect(await pause(true)).toMatchObject({ status: 200, body: { success: true, txnHash: hash } })
    await g.settled()
    await expect(wallet.writeContract({ ...transfer, args })).rejects.toThrow('TransfersPaused')
    expect((await g.ask('/events/mint', { eventId: 1, recipient: holder })).status).toBe(200)
    expect(await g.balance('GB', 1, holder)).toBe(held + 1)

    // Setting what is set does no harm.
    expect((await pause(true, 'place')).status).toBe(200)
    await g.settled()
    expect((await g.transactions()).at(-1)?.state).toBe('confirmed')

    await pause(false, 'place')
    await g.settled()
    const moved = await wallet.writeContract({ ...transfer, args })
    expect((await minedReceipt(wallet, moved)).status).toBe('success')
    expect(await g.balance('GB', 1, holder)).toBe(held)
  })

  test('takes true and false alone, and one of its two ways to name a contract', async () => {
    const { id } = await g.contract('GB')
    for (const pauseState of ['true', 1, null, undefined])
      expect((await g.ask('/events/toggle-pause-state', { contractId: id, pauseState })).status).toBe(400)
    const without = await g.ask('/events/toggle-pause-state', { contractAddress: bob, pauseState: true })
    expect(without).toMatchObject({ status: 400, body: { message: expect.stringMatching(/chainId/) } })
  })

  test("is refused for another team's contract, and for one of another kind", async () => {
    const { id } = await g.contract('GB')
    const body = { contractId: id, pauseState: true }
    expect((await g.ask('/events/toggle-pause-state', body, { key: otherKey })).status).toBe(404)
    const phygital = { contractId: (await g.contract('JKT')).id, pauseState: true }
    expect((await g.ask('/events/toggle-pause-state', phygital, { key: acmeKey })).status).toBe(404)
  })
})
