import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mintEvent } from '../../src/daemon/domain/guestbook/mint.ts'
import { reconcileChains } from '../../src/daemon/process/start.ts'
import { metadata, openGuestbooks, openWaiting, seeded } from '../support/guestbook.ts'
import { bob } from '../support/phygitals.ts'
import { tapPath } from '../support/taps.ts'

// What is asked for while a contract is not there yet.

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-guestbook-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

type Waiting = Awaited<ReturnType<typeof openWaiting>>

/** A contract, an event on it, and two mints, none of which has reached the chain. */
async function askForAll(w: Waiting) {
  const { contractId } = (await w.ask('/events/contracts', { name: 'New', symbol: 'NEW', chainId: 31337 }))
    .body
  const event = { name: 'First', tokenId: '1', contractId, metadata: metadata('First') }
  const { id: eventId } = (await w.ask('/events', event)).body
  await w.ask('/events/assign/legacy', { tagUIDs: [seeded.blank(1)], guestbookEventId: eventId })
  return { contractId, eventId }
}

describe('a contract that is pending', () => {
  test('has no address anywhere, takes events and mints, and all of it comes true in order', async () => {
    const w = await openWaiting()
    try {
      const { contractId, eventId } = await askForAll(w)
      const listed = (await w.ask('/events/contracts')).body.at(-1)
      expect(listed).toMatchObject({ id: contractId, address: null, status: 'pending' })
      const [event] = (await w.ask(`/events?contractId=${contractId}`)).body
      expect(event.contract).toMatchObject({ address: null, contractAddress: null, tokenId: '1' })
      const { otp } = (await w.tapped(seeded.blank(1))).guestbookEvents[0]
      expect((await w.ask(`/otps/${otp}`)).body.guestbookEvent).toMatchObject({ contractAddress: null })

      const pause = w.ask('/events/toggle-pause-state', { contractId, pauseState: true })
      const byKey = w.ask('/events/mint', { eventId, recipient: bob })
      const byCode = w.ask('/events/mint/self', { recipient: bob }, { code: otp })
      await w.ask('/events/metadata', { eventId, metadata: metadata('Early') }, { method: 'PATCH' })
      await w.begin()
      for (const { status, body } of await Promise.all([pause, byKey, byCode]))
        expect({ status, body }).toEqual({
          status: 200,
          body: { success: true, txnHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
        })
      expect(await w.balance('NEW', 1, bob)).toBe(2)
      expect((await w.transactions()).every(({ state }) => state === 'confirmed')).toBe(true)
      const { address } = await w.contract('NEW')
      expect((await w.ask('/events/contracts')).body.at(-1)).toMatchObject({ address, status: 'confirmed' })
      const found = await w.ask(tapPath(w.nextTap(seeded.blank(1)), '/chips/find'))
      const told = (await w.ask(`/otps/${found.body.otp.code}`)).body
      expect(told.guestbookEvent.contractAddress).toBe(address)
    } finally {
      await w.close()
    }
  })

  test('a recipient that takes no tokens is refused though no guestbook is there to ask', async () => {
    const w = await openWaiting()
    try {
      const { eventId } = await askForAll(w)
      const { otp } = (await w.tapped(seeded.blank(1))).guestbookEvents[0]
      // The deterministic deployment proxy is a contract that every such chain has from its beginning.
      const recipient = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
      const refused = await w.ask('/events/mint/self', { recipient }, { code: otp })
      expect(refused).toMatchObject({ status: 400, body: { code: 'simulation_reverted' } })
      expect((await w.ask(`/otps/${otp}`)).body.isExpired).toBe(false)
      expect((await w.ask('/events/mint', { eventId, recipient })).status).toBe(400)
    } finally {
      await w.close()
    }
  })

  test('that was recorded before a stop is deployed after it, with all that waits for it', async () => {
    const w = await openWaiting({ dataDir })
    const { eventId } = await askForAll(w)
    // Over HTTP it would wait for a hash, which nobody gives it here.
    const asking = { teamId: 1, actor: { name: 'test', requestId: null }, idempotency: undefined }
    await mintEvent(w.ctx, asking, { event: { eventId }, recipient: bob })
    await w.close()
    const again = await openGuestbooks({ dataDir })
    try {
      expect(await again.balance('NEW', 1, bob)).toBe(1)
      expect((await again.ask('/events/contracts')).body.at(-1).status).toBe('confirmed')
    } finally {
      await again.close()
    }
  })
})

describe('a deployment that failed', () => {
  /** Too little gas for the clone: it reverts, and what follows goes to where nothing is. */
  async function fail(w: Waiting) {
    const { contractId, eventId } = await askForAll(w)
    const mint = w.ask('/events/mint', { eventId, recipient: bob })
    await w.ctx.db.write(async (trx) => {
      await trx
        .updateTable('transactions')
        .set({ gas: 80_000 })
        .where('kind', '=', 'guestbook-deploy')
        .where('subject', 'like', `%"contractId":${contractId},%`)
        .execute()
    })
    w.ctx.start()
    expect((await mint).status).toBe(200)
    await w.settled()
    const states = (await w.transactions()).slice(-3).map(({ kind, state }) => [kind, state])
    expect(states).toEqual([
      ['guestbook-deploy', 'reverted'],
      ['guestbook-event', 'confirmed'],
      ['guestbook-mint', 'confirmed'],
    ])
    expect(await w.contract('NEW')).toMatchObject({ status: 'pending', transactionId: null })
    return { contractId, eventId }
  }

  test('is done again at the next start, with the events and the mints that went nowhere', async () => {
    const w = await openWaiting()
    try {
      await fail(w)
      await reconcileChains(w.ctx)
      expect(await w.balance('NEW', 1, bob)).toBe(1)
      expect((await w.contract('NEW')).status).toBe('confirmed')
      await reconcileChains(w.ctx)
      expect(await w.balance('NEW', 1, bob)).toBe(1)
    } finally {
      await w.close()
    }
  })

  test('is done again without what an operator gave up', async () => {
    const w = await openWaiting()
    try {
      const { eventId } = await fail(w)
      const [mint] = (await w.transactions()).slice(-1)
      // It was asked for while the mint was on its way: whatever was mined, nobody wants it any more.
      await w.ctx.db.write((trx) =>
        trx
          .updateTable('transactions')
          .set({ abandonedBecause: 'wrong recipient' })
          .where('id', '=', mint?.id ?? 0)
          .execute(),
      )
      await reconcileChains(w.ctx)
      expect((await w.contract('NEW')).status).toBe('confirmed')
      expect(await w.balance('NEW', 1, bob)).toBe(0)
      expect((await w.ask('/events/mint', { eventId, recipient: bob })).status).toBe(200)
      expect(await w.balance('NEW', 1, bob)).toBe(1)
    } finally {
      await w.close()
    }
  })

  test('or by the next request for the contract, whatever comes first', async () => {
    const w = await openWaiting()
    try {
      const { eventId } = await fail(w)
      expect((await w.ask('/events/mint', { eventId, recipient: bob })).status).toBe(200)
      expect(await w.balance('NEW', 1, bob)).toBe(2)
      expect((await w.ask('/events/contracts')).body.at(-1).status).toBe('confirmed')
    } finally {
      await w.close()
    }
  })

  test('an event whose creation was given up is created by the next mint', async () => {
    const w = await openWaiting()
    try {
      const { eventId } = await askForAll(w)
      const creation = (await w.transactions()).findLast(({ kind }) => kind === 'guestbook-event')
      expect(await w.ctx.chains.relayer.cancel(creation?.id ?? 0, 'a test')).toBe(true)
      await w.begin()
      expect((await w.ask('/events/mint', { eventId, recipient: bob })).status).toBe(200)
      expect(await w.balance('NEW', 1, bob)).toBe(1)
    } finally {
      await w.close()
    }
  })

  test('a factory that was given up is deployed by the next deployment', async () => {
    const w = await openWaiting()
    try {
      await askForAll(w)
      const factory = (await w.transactions()).find(({ kind }) => kind === 'guestbook-factory')
      await w.ctx.chains.relayer.cancel(factory?.id ?? 0, 'a test')
      await w.ask('/events/contracts', { name: 'Next', symbol: 'NEXT', chainId: 31337 })
      const factories = (await w.transactions()).filter(({ kind }) => kind === 'guestbook-factory')
      expect(factories.map(({ state }) => state)).toEqual(['cancelled', 'queued'])
      await w.ask('/events/contracts', { name: 'Third', symbol: 'THIRD', chainId: 31337 })
      expect((await w.transactions()).filter(({ kind }) => kind === 'guestbook-factory')).toHaveLength(2)
    } finally {
      await w.close()
    }
  })
})
