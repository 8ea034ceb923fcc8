import { custom, type Hex, keccak256, pad, RpcRequestError, toHex } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Db } from '../../src/daemon/store/database/database.ts'
import { type Bench, defaultLimits, gwei, openBench, relayerKey, slots, tally } from '../support/relayer.ts'
import { rpcTransport } from '../support/rpc-transport.ts'

/** A batch, and a part of one. */
const many = 80
const pace = { maxInFlight: 256 }

let bench: Bench
beforeEach(async () => {
  bench = await openBench({ relayer: { timing: pace } })
})
afterEach(() => bench.close())

/** Sees each transaction before the node does. */
function chainWith(
  beforeSending: (hash: Hex) => Promise<void>,
  signTransaction: typeof relayerKey.signTransaction = (transaction) =>
    relayerKey.signTransaction(transaction),
) {
  const node = rpcTransport(bench.node.url)({})
  const request = async ({ method, params }: { method: string; params?: [Hex] }) => {
    if (method === 'eth_sendRawTransaction' && params) await beforeSending(keccak256(params[0]))
    return node.request({ method, params })
  }
  return {
    chainId: 31337,
    transport: custom({ request }, { retryCount: 0 }),
    confirmations: 1,
    maxFeePerGas: 100n * gwei,
    ...defaultLimits,
    tip: gwei,
    signers: { relayer: { address: relayerKey.address, signTransaction } },
  }
}

const intendMany = async (): Promise<number[]> =>
  (await Promise.all(slots(many).map((slot) => bench.intend(slot)))).sort((one, other) => one - other)

/** Those that were counted took the nonces from 0 on, in their order and without a gap. */
async function expectOnce(ids: readonly number[]): Promise<void> {
  for (const [nonce, id] of ids.entries()) {
    expect(await bench.show(id)).toMatchObject({ state: 'confirmed', nonce, signings: 1 })
    expect(await talliedBy(id)).toBe(1)
  }
  expect(await bench.nonce()).toBe(ids.length)
}

/** Writes that go out together are recorded in any order. */
const talliedBy = async (id: number): Promise<number> =>
  bench.tallied(JSON.parse((await bench.show(id)).subject).slot)

describe('many at once', () => {
  test('are stored with their bytes before a node gets any of them', async () => {
    const missing: Hex[] = []
    const isStored = async (hash: Hex) => {
      const { db } = bench
      const stored = await db.read
        .selectFrom('transactionAttempts')
        .innerJoin('transactions', 'transactions.id', 'transactionAttempts.transactionId')
        .select('transactions.state')
        .where('hash', '=', hash)
        .executeTakeFirst()
      if (stored?.state !== 'signed') missing.push(hash)
    }
    bench.relayer = await bench.open({ chains: [chainWith(isStored)] })
    const ids = await intendMany()
    await bench.relayer.tick()
    expect(missing).toEqual([])
    for (const id of ids) expect(await bench.state(id)).toBe('broadcast')
    await bench.finish()
    await expectOnce(ids)
  })

  test('of which one is canceled while they are signed take the nonces that it leaves', async () => {
    const ids = await intendMany()
    const [gone = 0, ...later] = ids.slice(68)
    const signTransaction: typeof relayerKey.signTransaction = async (transaction) => {
      if (transaction.nonce === 72) await bench.relayer.cancel(gone, 'no longer wanted')
      return relayerKey.signTransaction(transaction)
    }
    bench.relayer = await bench.open({ chains: [chainWith(async () => undefined, signTransaction)] })
    await bench.relayer.tick()
    // Its batch was rolled back as a whole, while the one before was on its way.
    expect(await bench.state(ids[0] ?? 0)).toBe('broadcast')
    // Their counters were predicted from it.
    for (const id of later) expect(await bench.state(id)).toBe('queued')
    await bench.finish()
    expect(await bench.show(gone)).toMatchObject({ state: 'cancelled', reason: 'no longer wanted' })
    expect(await talliedBy(gone)).toBe(0)
    await expectOnce(ids.filter((id) => id !== gone))
  })

  test('whose writes have to be run again, as on a server after a conflict, are recorded in full', async () => {
    const { db } = bench
    class Conflict extends Error {}
    const again: Db = {
      ...db,
      async write(job) {
        const first = db.write(async (trx) => {
          await job(trx)
          throw new Conflict()
        })
        await first.catch((error: unknown) => {
          if (!(error instanceof Conflict)) throw error
        })
        return db.write(job)
      },
    }
    bench.relayer = await bench.open({ db: again })
    const ids = await intendMany()
    const sent = async () => {
      await bench.relayer.tick()
      const shown = await Promise.all(ids.map((id) => bench.show(id)))
      return shown.map(({ state, attempts }) => [state, attempts.length, attempts[0]?.sentAt !== null])
    }
    // A node that is slow to answer is asked again in the next tick.
    await expect.poll(sent, { timeout: 30_000 }).toEqual(ids.map(() => ['broadcast', 1, true]))
    await bench.finish()
    await expectOnce(ids)
  })

  test('of which one is refused for good after it was canceled keep the reason of the cancellation', async () => {
    const ids = await intendMany()
    const [gone = 0] = ids.slice(-10)
    const refused = async (hash: Hex) => {
      const { firstHash, attempts } = await bench.show(gone)
      if (hash !== firstHash || attempts.length > 1) return
      await bench.relayer.cancel(gone, 'no longer wanted')
      const error = { code: -32000, message: 'exceeds block gas limit' }
      throw new RpcRequestError({ body: {}, error, url: bench.node.url })
    }
    bench.relayer = await bench.open({ chains: [chainWith(refused)] })
    await bench.finish()
    expect(await bench.show(gone)).toMatchObject({ state: 'cancelled', reason: 'no longer wanted' })
    expect(await talliedBy(gone)).toBe(0)
    for (const id of ids.filter((id) => id !== gone)) expect(await bench.state(id)).toBe('confirmed')
    // Its nonce was filled.
    expect(await bench.nonce()).toBe(many)
  })

  test('are built after the counters of all of them were asked for, since each answer takes its time', async () => {
    const asked: string[] = []
    const askedWhenBuilt: number[] = []
    const counting = {
      counter: (args: unknown) => ({
        name: String(args),
        read: async () => {
          asked.push(String(args))
          return 0n
        },
      }),
      build: async (args: unknown) => {
        askedWhenBuilt.push(asked.length)
        return { to: tally.address, data: pad(toHex(Number(args))), gas: 60_000 }
      },
    }
    bench.relayer = await bench.open({ builders: { counting } })
    for (const slot of slots(8))
      await bench.intend(slot, { call: { builder: 'counting', args: 1 + (slot % 4) } })
    await bench.relayer.tick()
    expect(asked.sort()).toEqual(['1', '2', '3', '4'])
    expect(askedWhenBuilt).toEqual(slots(8).map(() => 4))
  })
})
