import { pad, toHex } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WrongChain } from '../../src/daemon/chain/relayer/errors.ts'
import { recordIntent } from '../../src/daemon/chain/relayer/record-intent.ts'
import { attemptsOf } from '../../src/daemon/store/chain/intents.ts'
import { systemSchedule } from '../../src/values/background-loop.ts'
import {
  type Bench,
  defaultLimits,
  gwei,
  openBench,
  poorKey,
  relayerKey,
  slots,
  tally,
  wall,
} from '../support/relayer.ts'
import { rpcTransport } from '../support/rpc-transport.ts'

let bench: Bench
beforeEach(async () => {
  bench = await openBench({ timeoutMs: 1_000 })
})
afterEach(() => bench.close())

const sends = (fault: 'lost' | 'answer-lost' | 'silent' | 'swallowed') => (method: string) =>
  method === 'eth_sendRawTransaction' ? fault : undefined

describe('a node', () => {
  test('that is down loses nothing: the intent waits, and says for what', async () => {
    bench.node.fault = () => 'lost'
    const id = await bench.intend(1)
    const answer = bench.relayer.broadcasted(id)
    await bench.relayer.tick()
    bench.loseAllPatience()
    await expect(answer).rejects.toThrow(/recorded and waits for the chain to answer\. It is not lost/)
    expect(bench.relayer.status()[0]?.trouble).toBeDefined()
    expect((await bench.show(id)).waiting).toBe('node')
    bench.node.fault = undefined
    await bench.finish()
    expect([await bench.state(id), await bench.tallied(1)]).toEqual(['confirmed', 1])
  })

  test('that is down is what everything waits for that is not mined, until it answers again', async () => {
    const [sent, queued] = [await bench.intend(1), await bench.intend(2)]
    await bench.relayer.tick()
    expect((await bench.show(sent)).state).toBe('broadcast')
    const late = await bench.intend(3)
    bench.node.fault = () => 'lost'
    await bench.relayer.tick()
    const { updatedAt } = await bench.show(late)
    bench.clock.advance('5s')
    await bench.relayer.tick()
    for (const id of [sent, queued, late]) expect((await bench.show(id)).waiting).toBe('node')
    // Once is enough: the second tick found nothing to mark.
    expect((await bench.show(late)).updatedAt).toBe(updatedAt)
    bench.node.fault = undefined
    await bench.relayer.tick()
    for (const id of [sent, queued, late]) expect((await bench.show(id)).waiting).toBeNull()
    await bench.finish()
  })

  test('that is down at the start as well, and what the last process marked is cleared by the next', async () => {
    const id = await bench.intend(1)
    bench.node.fault = () => 'lost'
    await bench.restart()
    await bench.relayer.tick()
    expect(await bench.show(id)).toMatchObject({ state: 'queued', waiting: 'node' })
    // Fees keep it queued: it waits for them now, and for no node.
    await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(200n * gwei)])
    await bench.mine()
    await bench.restart()
    bench.node.fault = undefined
    await bench.relayer.tick()
    expect(await bench.show(id)).toMatchObject({ state: 'queued', waiting: 'fees' })
  })

  test('that refuses only to send has what it took before marked, until it takes it again', async () => {
    const id = await bench.intend(1)
    await bench.relayer.tick()
    bench.node.fault = sends('lost')
    bench.clock.advance('16s')
    await bench.relayer.tick()
    expect(await bench.show(id)).toMatchObject({ state: 'broadcast', waiting: 'node' })
    bench.node.fault = undefined
    bench.clock.advance('16s')
    await bench.relayer.tick()
    expect(await bench.show(id)).toMatchObject({ state: 'broadcast', waiting: null })
  })

  test('that is down after signing still yields the hash, since the bytes are stored', async () => {
    bench.node.fault = sends('lost')
    const id = await bench.intend(1)
    const answer = bench.relayer.broadcasted(id)
    await bench.relayer.tick()
    bench.loseAllPatience()
    expect(await answer).toBe((await bench.show(id)).firstHash)
    expect((await bench.show(id)).waiting).toBe('node')
    bench.node.fault = undefined
    await bench.finish()
    expect(await bench.tallied(1)).toBe(1)
  })

  test('that times out after accepting gets the same bytes again, and the effect comes once', async () => {
    bench.node.fault = sends('silent')
    const id = await bench.intend(1)
    await bench.relayer.tick()
    expect(bench.node.refusals).toEqual(['already known'])
    expect(await bench.state(id)).toBe('broadcast')
    bench.node.fault = undefined
    await bench.finish()
    expect([(await bench.show(id)).attempts.length, await bench.tallied(1)]).toEqual([1, 1])
  })

  test.each(['half', 'dripping', 'endless', 'html', 'wrong-id'] as const)(
    'that answers with something that is none (%s) is waited for, and what was under way goes on',
    async (fault) => {
      const sent = await bench.intend(1)
      await bench.relayer.tick()
      const queued = await bench.intend(2)
      bench.node.fault = () => fault
      const [status] = await bench.relayer.tick()
      expect(status?.trouble).toBeDefined()
      for (const id of [sent, queued]) expect((await bench.show(id)).waiting).toBe('node')
      bench.node.fault = undefined
      await bench.finish()
      expect([await bench.tallied(1), await bench.tallied(2)]).toEqual([1, 1])
    },
  )

  test('that stalls in the middle of an answer is asked again by itself, and the chain goes on', async () => {
    const stalling = await bench.open({ schedule: systemSchedule })
    const id = await bench.intend(1)
    bench.node.fault = () => 'half'
    stalling.start()
    try {
      await expect.poll(() => stalling.status()[0]?.trouble).toBeDefined()
      bench.node.fault = undefined
      const blocks = setInterval(() => void bench.mine(), 50)
      try {
        expect(await stalling.settled(id)).toMatchObject({ name: 'confirmed' })
      } finally {
        clearInterval(blocks)
      }
    } finally {
      await stalling.close()
    }
  })

  test('whose answers are not of the form that they should have is taken for silent, in whatever it is asked', async () => {
    const id = await bench.intend(1)
    await bench.relayer.tick()
    await bench.mine()
    for (const method of [
      'eth_chainId',
      'eth_getBlockByNumber',
      'eth_getTransactionCount',
      'eth_getTransactionReceipt',
    ])
      for (const result of ['0x', 'hello', 7, {}, [], `0x${'f'.repeat(70)}`]) {
        bench.node.fault = (asked) => (asked === method ? { result } : undefined)
        await bench.restart()
        await bench.relayer.tick()
        expect(await bench.show(id), `${method} ${String(result)}`).toMatchObject({
          state: 'broadcast',
          signings: 1,
        })
      }
    bench.node.fault = undefined
    await bench.finish()
    expect([await bench.state(id), await bench.tallied(1)]).toEqual(['confirmed', 1])
  })

  test('that says a great deal is quoted with a line of it, wherever it is kept', async () => {
    const id = await bench.intend(1)
    const error = { code: -32000, message: 'x'.repeat(900_000) }
    bench.node.fault = (method) => (method === 'eth_sendRawTransaction' ? { error } : undefined)
    const [status] = await bench.relayer.tick()
    expect(status?.trouble?.message.length).toBeLessThan(500)
    const [attempt] = await attemptsOf(bench.db.read, id)
    expect(attempt?.error?.length).toBeGreaterThan(100)
    expect(JSON.stringify(await bench.show(id)).length).toBeLessThan(4000)
    bench.node.fault = undefined
    await bench.finish()
  })

  test('that forgets what it has taken gets it again after a while', async () => {
    bench.node.fault = sends('swallowed')
    const id = await bench.intend(1)
    await bench.relayer.tick()
    expect(await bench.state(id)).toBe('broadcast')
    bench.node.fault = undefined
    await bench.mine()
    await bench.relayer.tick()
    expect(await bench.tallied(1)).toBe(0)
    bench.clock.advance('16s')
    await bench.finish()
    expect(await bench.tallied(1)).toBe(1)
  })

  test('of another chain is refused, by a start and by a tick, and nothing is sent', async () => {
    const id = await bench.intend(1)
    bench.node.chainId = 1
    await expect(bench.open()).rejects.toThrow(WrongChain)
    bench.node.fault = () => 'lost'
    const unverified = await bench.open()
    bench.node.fault = undefined
    const [status] = await unverified.tick()
    expect(status?.trouble).toBeInstanceOf(WrongChain)
    expect(await bench.state(id)).toBe('queued')
    expect(bench.node.calls.get('eth_sendRawTransaction')).toBeUndefined()
  })
})

describe('a receipt that is missing', () => {
  test('is no proof: what the block shows as ours is not signed anew, however long the receipt takes', async () => {
    const id = await bench.intend(1)
    await bench.relayer.tick()
    await bench.mine()
    bench.node.fault = (method) => (method === 'eth_getTransactionReceipt' ? 'null' : undefined)
    for (let round = 0; round < 10; round++) {
      await bench.relayer.tick()
      await bench.mine()
    }
    expect(await bench.show(id)).toMatchObject({ state: 'broadcast', signings: 1 })
    bench.node.fault = undefined
    await bench.finish()
    expect([await bench.state(id), await bench.tallied(1)]).toEqual(['confirmed', 1])
  })
})

describe('a stuck transaction', () => {
  const stick = async () => {
    bench.node.baseFee = gwei
    const ids = [await bench.intend(1), await bench.intend(2)] as const
    await bench.relayer.tick()
    await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(4n * gwei)])
    await bench.mine()
    await bench.relayer.tick()
    bench.clock.advance('31s')
    return ids
  }

  test('is replaced at the lowest nonce alone, by geth’s rules on both fees, and the replacement is mined', async () => {
    const [low, high] = await stick()
    await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(4n * gwei)])
    await bench.mine()
    bench.node.baseFee = undefined
    await bench.relayer.tick()
    const { attempts, firstHash } = await bench.show(low)
    expect(attempts.length).toBe(2)
    const [first, second] = attempts
    for (const fee of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const)
      expect(Number(second?.[fee])).toBeGreaterThanOrEqual(Number(first?.[fee]) * 1.125)
    expect((await bench.show(high)).attempts.length).toBe(1)
    expect(bench.node.refusals).not.toContain('replacement transaction underpriced')
    expect(firstHash).toBe(first?.hash)
    await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(gwei)])
    await bench.finish()
    expect((await bench.show(low)).minedHash).toBe(second?.hash)
    expect([await bench.tallied(1), await bench.tallied(2)]).toEqual([1, 1])
  })

  test.each(['-1h', '365d'])('is replaced as late as ever when the clock jumps by %s', async (span) => {
    bench.node.baseFee = gwei
    const id = await bench.intend(1)
    await bench.relayer.tick()
    const attemptsAfter = async (passed: string) => {
      bench.clock.advance(passed)
      await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(4n * gwei)])
      await bench.mine()
      await bench.relayer.tick()
      return (await bench.show(id)).attempts.length
    }
    expect(await attemptsAfter('1s')).toBe(1)
    bench.clock.jump(span)
    expect(await attemptsAfter('1s')).toBe(1)
    bench.node.baseFee = undefined
    expect(await attemptsAfter('30s')).toBe(2)
  })

  test('of which the replaced attempt is mined instead counts as that one', async () => {
    const [low] = await stick()
    await bench.mine()
    // The replacement never gets there.
    bench.node.fault = sends('lost')
    bench.node.baseFee = 4n * gwei
    await bench.relayer.tick()
    const { attempts } = await bench.show(low)
    expect(attempts.length).toBe(2)
    await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(gwei)])
    // anvil drops what offers less than the base fee, other nodes keep it: here it comes back from one of those.
    const [replaced] = await attemptsOf(bench.db.read, low)
    await bench.rpc('eth_sendRawTransaction', [replaced?.raw])
    await bench.mine()
    await bench.relayer.tick()
    bench.node.fault = undefined
    bench.node.baseFee = undefined
    await bench.finish()
    expect((await bench.show(low)).minedHash).toBe(attempts[0]?.hash)
    expect([await bench.tallied(1), await bench.tallied(2)]).toEqual([1, 1])
  })
})

describe('a base fee past the cap', () => {
  test('leaves intents waiting, says so, and lets them go on when it falls', async () => {
    bench.node.baseFee = 500n * gwei
    const id = await bench.intend(1)
    const [status] = await bench.relayer.tick()
    expect(status).toMatchObject({ waitingForFees: true, unsettled: 1, inFlight: 0 })
    expect(await bench.show(id)).toMatchObject({ state: 'queued', waiting: 'fees' })
    bench.node.baseFee = undefined
    await bench.finish()
    expect(await bench.show(id)).toMatchObject({ state: 'confirmed', waiting: null })
    expect(await bench.tallied(1)).toBe(1)
  })

  test('after it was sent: no attempt is over the cap, and the transaction is not lost', async () => {
    const id = await bench.intend(1)
    await bench.relayer.tick()
    bench.node.baseFee = 500n * gwei
    await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(500n * gwei)])
    for (let round = 0; round < 50; round++) {
      bench.clock.advance('31s')
      await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(500n * gwei)])
      await bench.mine()
      await bench.relayer.tick()
    }
    expect(bench.relayer.status()[0]?.waitingForFees).toBe(true)
    const { attempts, waiting } = await bench.show(id)
    expect(waiting).toBe('fees')
    expect(attempts.length).toBe(1)
    for (const { maxFeePerGas } of attempts) expect(BigInt(maxFeePerGas)).toBeLessThanOrEqual(100n * gwei)
    bench.node.baseFee = undefined
    await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(gwei)])
    await bench.finish()
    expect([await bench.state(id), await bench.tallied(1)]).toEqual(['confirmed', 1])
  })
})

describe('a reorganisation', () => {
  test('of two blocks takes back what was in them, and it is sent again', async () => {
    await bench.close()
    bench = await openBench({ confirmations: 4 })
    const ids = await Promise.all(slots(4).map((slot) => bench.intend(slot)))
    await bench.mine(3)
    await bench.relayer.tick()
    await bench.mine(2)
    await bench.relayer.tick()
    const [before] = await Promise.all(ids.map((id) => bench.show(id)))
    expect(before?.state).toBe('mined')
    await bench.rpc('anvil_reorg', [2, []])
    expect(await bench.tallied(1)).toBe(0)
    await bench.relayer.tick()
    expect((await bench.show(ids[0] ?? 0)).state).toBe('broadcast')
    await bench.finish()
    for (const slot of slots(4)) expect(await bench.tallied(slot)).toBe(1)
    const after = await bench.show(ids[0] ?? 0)
    expect(after).toMatchObject({ state: 'confirmed', minedHash: before?.minedHash })
    expect(after.blockHash).not.toBe(before?.blockHash)
  })
})

describe('a transaction that has no effect', () => {
  test('reverts with what the chain says, and holds nobody up', async () => {
    const bad = await bench.intend(1, { call: { to: wall.address, data: '0x' } })
    const good = await bench.intend(2)
    await bench.finish()
    expect(await bench.show(bad)).toMatchObject({ state: 'reverted', nonce: 0 })
    expect((await bench.show(bad)).reason).toMatch(/revert/)
    expect([await bench.state(good), await bench.tallied(2)]).toEqual(['confirmed', 1])
  })

  test('reverts with what the chain says now where its node no longer knows the state of that block', async () => {
    await bench.close()
    bench = await openBench({ anvil: ['--prune-history', '1'] })
    const bad = await bench.intend(1, { call: { to: wall.address, data: '0x01' }, gasHint: 60_000 })
    await bench.relayer.tick()
    await bench.mine(5)
    await bench.finish()
    expect(await bench.show(bad)).toMatchObject({ state: 'reverted', nonce: 0 })
    expect((await bench.show(bad)).reason).toMatch(/revert/)
  })

  test('is refused before it costs anything where its gas is not given and a trial run fails', async () => {
    const intent = { chainId: 31337, kind: 'wall', subject: {}, teamId: null } as const
    const call = { to: wall.address, data: '0x' } as const
    const id = await bench.db.write((trx) => recordIntent(trx, { ...intent, call, now: bench.clock.now() }))
    const answer = expect(bench.relayer.broadcasted(id)).rejects.toThrow(/was not sent/)
    await bench.relayer.tick()
    await answer
    expect(await bench.show(id)).toMatchObject({ state: 'cancelled', nonce: null, attempts: [] })
  })

  test('that no node ever takes has its nonce filled by an empty one, and those behind it go on', async () => {
    const [bad, good] = [await bench.intend(1), await bench.intend(2)]
    let sent = 0
    bench.node.fault = (method) =>
      method === 'eth_sendRawTransaction' && sent++ === 0
        ? { error: { code: -32000, message: 'oversized data: transaction size 9, limit 8' } }
        : undefined
    await bench.finish()
    const shown = await bench.show(bad)
    expect(shown).toMatchObject({
      state: 'cancelled',
      reason: expect.stringMatching(/oversized data/),
    })
    expect(shown.attempts.map(({ purpose }) => purpose)).toEqual(['effect', 'filler'])
    expect([await bench.state(good), await bench.tallied(2), await bench.nonce()]).toEqual([
      'confirmed',
      1,
      2,
    ])
  })

  test('when cancelled in time is dropped, or replaced by an empty one', async () => {
    const queued = await bench.intend(1)
    expect(await bench.relayer.cancel(queued, 'changed my mind')).toBe(true)
    const sent = await bench.intend(2)
    await bench.relayer.tick()
    expect(await bench.relayer.cancel(sent, 'changed my mind')).toBe(true)
    await bench.finish()
    expect(await bench.show(queued)).toMatchObject({ state: 'cancelled', nonce: null })
    expect(await bench.show(sent)).toMatchObject({ state: 'cancelled', reason: 'changed my mind' })
    expect(bench.node.refusals).toEqual([])
    expect([await bench.tallied(1), await bench.tallied(2), await bench.nonce()]).toEqual([0, 0, 1])
    expect(await bench.relayer.cancel(sent, 'again')).toBe(false)
  })
})

describe('a key', () => {
  test('without money is reported, and goes on when it has some', async () => {
    await bench.close()
    bench = await openBench({ chain: { signers: { relayer: poorKey } } })
    await bench.relayer.tick()
    expect(bench.relayer.status()).toMatchObject([{ waitingForFunds: true, unsettled: 0 }])
    const id = await bench.intend(1)
    await bench.rpc('anvil_setBalance', [poorKey.address, '0x1'])
    await bench.relayer.tick()
    expect(await bench.show(id)).toMatchObject({ state: 'signed', waiting: 'funds' })
    expect(bench.relayer.status()).toMatchObject([{ waitingForFunds: true, unsettled: 1 }])
    await bench.rpc('anvil_setBalance', [poorKey.address, toHex(10n ** 18n)])
    await bench.finish()
    expect([await bench.state(id), await bench.tallied(1)]).toEqual(['confirmed', 1])
    expect(bench.relayer.status()).toMatchObject([{ waitingForFunds: false }])
  })

  test.each([
    ['', {}],
    [', also on a node that forgets states', { chain: { forgets: true }, anvil: ['--prune-history', '1'] }],
  ])(
    'that another program uses too loses a nonce, and what had it is signed anew, once%s',
    async (_, node) => {
      await bench.close()
      bench = await openBench(node)
      bench.node.fault = sends('lost')
      const id = await bench.intend(1)
      await bench.relayer.tick()
      const foreign = await relayerKey.signTransaction({
        type: 'eip1559',
        chainId: 31337,
        nonce: 0,
        to: tally.address,
        data: pad(toHex(9)),
        gas: 60_000n,
        maxFeePerGas: 5n * gwei,
        maxPriorityFeePerGas: gwei,
      })
      await bench.rpc('eth_sendRawTransaction', [foreign])
      await bench.mine(5)
      bench.node.fault = undefined
      await bench.finish()
      const shown = await bench.show(id)
      expect(shown).toMatchObject({ state: 'confirmed', nonce: 1, signings: 2 })
      expect(shown.firstHash).toBe(shown.attempts[0]?.hash)
      expect([await bench.tallied(1), await bench.tallied(9)]).toEqual([1, 1])
    },
  )

  test('that is changed while its transactions are under way is refused, with what to do', async () => {
    const id = await bench.intend(1)
    await bench.relayer.tick()
    const chain = { chainId: 31337, transport: rpcTransport(bench.node.url), confirmations: 1 }
    const changed = { ...chain, ...defaultLimits, maxFeePerGas: gwei, signers: { relayer: poorKey } }
    const [status] = await (await bench.open({ chains: [changed] })).tick()
    expect(status?.trouble?.name).toBe('KeyChanged')
    await bench.finish()
    expect(await bench.state(id)).toBe('confirmed')
  })
})
