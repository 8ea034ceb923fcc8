import { mnemonicToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  listTransactions,
  showTransaction,
  type TransactionFilter,
} from '../../src/daemon/store/chain/listing.ts'
import { startAnvil } from '../support/anvil.ts'
import {
  askNode,
  type Bench,
  defaultLimits,
  gwei,
  isHash,
  openBench,
  relayerKey,
  slots,
  tally,
} from '../support/relayer.ts'
import { rpcTransport } from '../support/rpc-transport.ts'

/** One of anvil's accounts, with money. */
const sixthAccount = mnemonicToAccount('test test test test test test test test test test test junk', {
  addressIndex: 5,
})

let bench: Bench
beforeEach(async () => {
  bench = await openBench()
})
afterEach(() => bench.close())

describe('an intent', () => {
  test('is signed, sent, mined and confirmed, and its hash is known before it is mined', async () => {
    const id = await bench.intend(1)
    expect(await bench.state(id)).toBe('queued')
    const waiting = bench.relayer.broadcasted(id)
    await bench.relayer.tick()
    const hash = await waiting
    expect(isHash(hash)).toBe(true)
    expect(await bench.state(id)).toBe('broadcast')
    expect(await bench.tallied(1)).toBe(0)
    await bench.mine()
    const settled = bench.relayer.settled(id)
    await bench.relayer.tick()
    expect(await settled).toMatchObject({ name: 'confirmed', firstHash: hash, minedHash: hash, nonce: 0 })
    expect(await bench.tallied(1)).toBe(1)
  })

  test('among many takes effect once, in the order in which they were recorded', async () => {
    const ids = await Promise.all(slots(150).map((slot) => bench.intend(slot)))
    await bench.finish()
    // Writes that go out together are recorded in any order.
    for (const [index, id] of ids.toSorted((a, b) => a - b).entries()) {
      const shown = await bench.show(id)
      expect([shown.state, shown.nonce, shown.attempts.length]).toEqual(['confirmed', index, 1])
      expect(await bench.tallied(index + 1)).toBe(1)
    }
    expect(bench.node.farthest).toBeLessThan(64)
  })
})

describe('the list of transactions', () => {
  test('is newest first, by state, kind, team, hash and what waits, and shows every attempt', async () => {
    const done = await bench.intend(1, { teamId: 4 })
    await bench.finish()
    const open = await bench.intend(2, { kind: 'other' })
    bench.node.baseFee = 500n * gwei
    await bench.relayer.tick()
    const list = async (filter: Partial<TransactionFilter>) =>
      (await listTransactions(bench.db.read, { limit: 10, ...filter })).map(({ id }) => id)
    const { minedHash, attempts } = await bench.show(done)
    expect(await list({})).toEqual([open, done])
    expect(await list({ before: open })).toEqual([done])
    expect(await list({ state: 'confirmed' })).toEqual([done])
    expect(await list({ kind: 'other' })).toEqual([open])
    expect(await list({ teamId: 4 })).toEqual([done])
    expect(await list({ hash: minedHash ?? '' })).toEqual([done])
    expect(await list({ waiting: true })).toEqual([open])
    expect(attempts).toMatchObject([
      { purpose: 'effect', hash: minedHash, nonce: 0, gas: 60_000, error: null },
    ])
    expect(attempts[0]).not.toHaveProperty('raw')
    expect(await showTransaction(bench.db.read, 999)).toBeUndefined()
    bench.node.baseFee = undefined
  })
})

describe('several chains and keys', () => {
  test('go their own ways: each has its own nonces, and one that is down holds no other up', async () => {
    const other = await startAnvil(['--chain-id', '7'])
    try {
      await askNode(other.url, 'anvil_setCode', [tally.address, tally.code])
      const common = { confirmations: 1, maxFeePerGas: 100n * gwei, ...defaultLimits }
      const chains = [
        {
          ...common,
          chainId: 31337,
          transport: rpcTransport(bench.node.url),
          signers: { relayer: relayerKey, second: sixthAccount },
        },
        { ...common, chainId: 7, transport: rpcTransport(other.url), signers: { relayer: relayerKey } },
      ]
      bench.relayer = await bench.open({ chains })
      const ids = [
        await bench.intend(1),
        await bench.intend(2, { candidates: ['second'] }),
        await bench.intend(3, { chainId: 7 }),
      ]
      bench.node.fault = () => 'lost'
      const third = async () => {
        await bench.relayer.tick()
        return bench.show(ids[2] ?? 0)
      }
      await expect.poll(third).toMatchObject({ state: 'confirmed', nonce: 0 })
      expect(await bench.state(ids[0] ?? 0)).toBe('queued')
      bench.node.fault = undefined
      await bench.finish()
      for (const id of ids) expect(await bench.show(id)).toMatchObject({ state: 'confirmed', nonce: 0 })
      expect([await bench.tallied(1), await bench.tallied(2), await bench.tallied(3)]).toEqual([1, 1, 0])
      await bench.relayer.close()
    } finally {
      await other.kill()
    }
  })
})
