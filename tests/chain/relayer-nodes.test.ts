import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OnSettled } from '../../src/daemon/chain/relayer/sender.ts'
import { type Bench, gwei, openBench, relayerKey } from '../support/relayer.ts'

// What the relayer does with answers of public nodes, a tick at a time. tests/long/nodes.test.ts has whole nodes.

let bench: Bench
let ends: string[]
const onSettled: OnSettled = async (_trx, { id, state }) => {
  ends.push(`${id} ${state}`)
}
beforeEach(async () => {
  ends = []
  bench = await openBench({ confirmations: 2, relayer: { onSettled } })
})
afterEach(() => bench.close())

const refusing = (message: string, times = Number.POSITIVE_INFINITY) => {
  let refused = 0
  bench.node.fault = (method) =>
    method === 'eth_sendRawTransaction' && refused++ < times
      ? { error: { code: -32000, message } }
      : undefined
}
const attemptsOf = async (id: number) =>
  (await bench.show(id)).attempts.map(({ purpose, gas, maxFeePerGas, maxPriorityFeePerGas }) => ({
    purpose,
    gas,
    fees: [BigInt(maxFeePerGas), BigInt(maxPriorityFeePerGas)],
  }))
const tick = async () => {
  bench.clock.advance('2s')
  return bench.relayer.tick()
}

describe('a refusal for gas', () => {
  test('has the transaction signed anew at its nonce with what an estimate says, and at the same price', async () => {
    refusing('whatever this node says', 1)
    const id = await bench.intend(1, { gasHint: 30_000 })
    // What was known of the call was too little, as where its cost has changed since.
    const estimates = ['0x5208', '0x5208', '0x13880']
    const fault = bench.node.fault
    bench.node.fault = (method, params) =>
      method === 'eth_estimateGas' ? { result: estimates.shift() ?? '0x13880' } : fault?.(method, params)
    await tick()
    expect((await bench.show(id)).waiting).toBe('node')
    await tick()
    const [first, second, ...more] = await attemptsOf(id)
    expect(more).toEqual([])
    expect([first?.gas, second?.gas]).toEqual([30_000, 96_000])
    expect(second?.fees).toEqual(first?.fees)
    await bench.finish()
    expect([await bench.state(id), await bench.tallied(1), await bench.nonce()]).toEqual(['confirmed', 1, 1])
  })

  test('that no estimate explains raises the limit, and never the fee, however often it comes', async () => {
    refusing('intrinsic gas too low')
    const id = await bench.intend(1)
    for (let round = 0; round < 30; round++) {
      await tick()
      await bench.mine()
    }
    const attempts = await attemptsOf(id)
    const effects = attempts.filter(({ purpose }) => purpose === 'effect')
    expect(effects.at(-1)?.gas).toBeGreaterThan(1_000_000)
    expect(effects.every(({ gas }) => gas <= 2_000_000)).toBe(true)
    for (const { fees } of attempts) expect(fees[1]).toBe(gwei)
    // It was given up then, and the empty one in its place waits in the node's words.
    expect(await bench.show(id)).toMatchObject({ waiting: 'node', waitingWords: 'intrinsic gas too low' })
    expect(bench.relayer.status()[0]?.stuck).toEqual({ id, why: 'intrinsic gas too low' })
    bench.node.fault = undefined
    await bench.finish()
    expect([await bench.state(id), await bench.nonce()]).toEqual(['cancelled', 1])
    expect(bench.relayer.status()[0]?.stuck).toBeUndefined()
  })

  test('of an empty transaction in the place of a canceled one is answered with more gas as well', async () => {
    bench.node.fault = (method) => (method === 'eth_estimateGas' ? { result: '0x13880' } : undefined)
    const id = await bench.intend(1)
    await tick()
    expect(await bench.relayer.cancel(id, 'a mistake')).toBe(true)
    await tick()
    expect((await attemptsOf(id)).at(-1)).toMatchObject({ purpose: 'filler', gas: 96_000 })
    await bench.finish()
    expect(await bench.state(id)).toBe('cancelled')
  })
})

describe('a refusal for its tip', () => {
  test('has all that were refused signed anew at once with the number that the node names', async () => {
    refusing('transaction gas price below minimum: gas tip cap 1000000000, minimum needed 25000000000')
    const ids = [await bench.intend(1), await bench.intend(2), await bench.intend(3)]
    await tick()
    bench.node.fault = undefined
    await tick()
    for (const id of ids)
      expect((await attemptsOf(id)).map(({ fees }) => fees[1])).toEqual([gwei, 25n * gwei])
    // The next one offers it from the beginning.
    ids.push(await bench.intend(4))
    await bench.finish()
    expect((await attemptsOf(ids[3] ?? 0)).map(({ fees }) => fees[1])).toEqual([25n * gwei])
    expect(await bench.nonce()).toBe(4)
  })

  test('beyond the cap leaves it waiting for fees, in the words of the node', async () => {
    const words = 'transaction underpriced: gas tip cap 1000000000, minimum needed 250000000000'
    refusing(words)
    const id = await bench.intend(1)
    for (let round = 0; round < 8; round++) await tick()
    expect(await bench.show(id)).toMatchObject({ waiting: 'fees', waitingWords: words })
    expect(bench.relayer.status()[0]).toMatchObject({ waitingForFees: true, stuck: { id, why: words } })
    expect((await attemptsOf(id)).length).toBe(1)
  })
})

describe('a node that takes no nonce above the account’s', () => {
  test('gets one after the other, without trouble and without raised fees', async () => {
    await bench.intend(1)
    await tick()
    refusing('nonce too high')
    const ids = [await bench.intend(2), await bench.intend(3)]
    const [status] = await tick()
    bench.node.fault = undefined
    expect(status).toMatchObject({ trouble: undefined, stuck: undefined })
    for (const id of ids) expect(await bench.show(id)).toMatchObject({ state: 'signed', waiting: null })
    await bench.finish()
    for (const id of ids) expect((await bench.show(id)).attempts.length).toBe(1)
    expect(await bench.nonce()).toBe(3)
  })
})

describe('a node that never takes the lowest nonce', () => {
  test.each(['nonce too high', 'nonce too low: next nonce 99, tx nonce 0'])(
    'is quoted: %s',
    async (words) => {
      refusing(words)
      const id = await bench.intend(1)
      for (let round = 0; round < 15; round++) await tick()
      expect(await bench.show(id)).toMatchObject({ waiting: 'node', waitingWords: words })
      expect(bench.relayer.status()[0]?.stuck).toEqual({ id, why: words })
      bench.node.fault = undefined
      await bench.finish()
      expect([await bench.state(id), await bench.tallied(1)]).toEqual(['confirmed', 1])
      expect((await bench.show(id)).waiting).toBeNull()
    },
  )
})

test('nodes that take turns and lag are asked again at once for the nonce at a block', async () => {
  const id = await bench.intend(1)
  let asked = 0
  const lacking = { error: { code: -32000, message: 'header not found' } }
  bench.node.fault = (method) =>
    method === 'eth_getTransactionCount' && asked++ % 2 === 0 ? lacking : undefined
  expect((await tick())[0]?.trouble).toBeUndefined()
  expect(await bench.state(id)).toBe('broadcast')
})

describe('a node that counts nonces too low', () => {
  test('takes nothing back that is settled, and no gap is filled that is none', async () => {
    const ids = [await bench.intend(1), await bench.intend(2)]
    await bench.finish()
    await bench.mine(3)
    bench.node.fault = (method) => (method === 'eth_getTransactionCount' ? { result: '0x0' } : undefined)
    for (let round = 0; round < 3; round++) await tick()
    const late = await bench.intend(3)
    await tick()
    expect(await bench.show(late)).toMatchObject({ state: 'broadcast', nonce: 2 })
    for (const id of ids) expect(await bench.state(id)).toBe('confirmed')
    bench.node.fault = undefined
    await bench.finish()
    expect(ends).toEqual([...ids, late].map((id) => `${id} confirmed`))
    expect(await bench.nonce()).toBe(3)
  })

  test('nor is it taken back whose block is another one by now, while there is a receipt', async () => {
    const id = await bench.intend(1)
    await bench.finish()
    bench.node.fault = (method) => {
      if (method === 'eth_getTransactionCount') return { result: '0x0' }
      return method === 'eth_getBlockByNumber' ? { error: { code: -32000, message: 'busy' } } : undefined
    }
    await tick()
    bench.node.fault = (method) => (method === 'eth_getTransactionCount' ? { result: '0x0' } : undefined)
    await tick()
    expect(await bench.state(id)).toBe('confirmed')
    expect(ends).toEqual([`${id} confirmed`])
  })
})

describe('a chain without EIP-1559', () => {
  test('gets legacy transactions, with one price', async () => {
    await bench.close()
    bench = await openBench({ anvil: ['--hardfork', 'berlin'] })
    const id = await bench.intend(1)
    await bench.finish()
    const [attempt] = await attemptsOf(id)
    expect(attempt?.fees[0]).toBe(attempt?.fees[1])
    const { minedHash } = await bench.show(id)
    expect(await bench.rpc('eth_getTransactionByHash', [minedHash])).toMatchObject({ type: '0x0' })
    expect(await bench.tallied(1)).toBe(1)
  })
})

describe('a node that refuses the type of EIP-1559, though its blocks have a base fee', () => {
  test('gets legacy transactions at the same nonces, and gives none up', async () => {
    bench.node.fault = (method, [raw]) =>
      method === 'eth_sendRawTransaction' && String(raw).startsWith('0x02')
        ? { error: { code: -32000, message: 'transaction type not supported' } }
        : undefined
    const ids = [await bench.intend(1), await bench.intend(2)]
    await tick()
    await tick()
    for (const id of ids) expect(await bench.show(id)).toMatchObject({ state: 'broadcast', waiting: null })
    await bench.finish()
    const late = await bench.intend(3)
    await bench.finish()
    expect(await Promise.all([...ids, late].map(bench.state))).toEqual([
      'confirmed',
      'confirmed',
      'confirmed',
    ])
    expect((await bench.show(late)).attempts.length).toBe(1)
    expect(await bench.nonce()).toBe(3)
  })

  test('or that of legacy transactions as well, is quoted, and sent the same bytes', async () => {
    refusing('transaction type not supported')
    const id = await bench.intend(1)
    for (let round = 0; round < 10; round++) await tick()
    expect((await bench.show(id)).attempts.length).toBe(2)
    expect(bench.relayer.status()[0]?.stuck).toEqual({ id, why: 'transaction type not supported' })
    bench.node.fault = undefined
    await bench.finish()
    expect(await bench.state(id)).toBe('confirmed')
  })
})

describe('what a node accepts and no block contains', () => {
  test('says so after a while, and is gone on with once it is mined', async () => {
    bench.node.fault = (method) => (method === 'eth_sendRawTransaction' ? 'swallowed' : undefined)
    const id = await bench.intend(1)
    await tick()
    for (let block = 0; block < 20; block++) {
      await bench.mine()
      await tick()
    }
    expect(bench.relayer.status()[0]?.stuck).toMatchObject({ id, why: /none of the \d+ blocks since/ })
    bench.node.fault = undefined
    await bench.finish()
    expect([await bench.state(id), await bench.tallied(1)]).toEqual(['confirmed', 1])
    expect(relayerKey.address).toBe((await bench.show(id)).sender)
  })

  test('waits for the node again once that refuses it', async () => {
    bench.node.fault = (method) => (method === 'eth_sendRawTransaction' ? 'swallowed' : undefined)
    const id = await bench.intend(1)
    await tick()
    await tick()
    await bench.mine(12)
    refusing('sender not in the allowlist')
    bench.clock.advance('20s')
    await tick()
    expect(await bench.show(id)).toMatchObject({
      waiting: 'node',
      waitingWords: 'sender not in the allowlist',
    })
  })
})
