import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SenderStatus } from '../../src/daemon/chain/relayer/sender.ts'
import { ageLeases } from '../support/engines.ts'
import { isPostgres } from '../support/postgres.ts'
import { type Bench, openBench, slots } from '../support/relayer.ts'

let bench: Bench
beforeEach(async () => {
  bench = await openBench({ confirmations: 2 })
})
afterEach(() => bench.close())

const eachOnce = async (ids: readonly number[]) => {
  for (const [index, id] of ids.entries()) {
    expect(await bench.state(id)).toBe('confirmed')
    expect(await bench.tallied(index + 1)).toBe(1)
  }
  expect(await bench.nonce()).toBe(ids.length)
}
const record = (count: number) => Promise.all(slots(count).map((slot) => bench.intend(slot)))

describe('killed', () => {
  test('after recording, before signing: signed and sent by the next start', async () => {
    const ids = await record(5)
    await bench.restart()
    await bench.finish()
    await eachOnce(ids)
  })

  test('after signing, before sending: the stored bytes are sent, with the same hash', async () => {
    const ids = await record(5)
    bench.node.fault = (method) => (method === 'eth_sendRawTransaction' ? 'lost' : undefined)
    await bench.relayer.tick()
    const before = await Promise.all(ids.map((id) => bench.show(id)))
    expect(before.map(({ state }) => state)).toEqual(ids.map(() => 'signed'))
    bench.node.fault = undefined
    await bench.restart()
    await bench.finish()
    await eachOnce(ids)
    const after = await Promise.all(ids.map((id) => bench.show(id)))
    expect(after.map(({ minedHash }) => minedHash)).toEqual(before.map(({ firstHash }) => firstHash))
  })

  test('after sending, before it was noted: sent again, which does nothing', async () => {
    await bench.close()
    bench = await openBench({ confirmations: 2, timeoutMs: 1_000 })
    const ids = await record(5)
    bench.node.fault = (method) => (method === 'eth_sendRawTransaction' ? 'silent' : undefined)
    await bench.relayer.tick()
    expect(await bench.state(ids[0] ?? 0)).toBe('signed')
    bench.node.fault = undefined
    await bench.restart()
    await bench.relayer.tick()
    expect(bench.node.refusals).toContain('already known')
    expect(await bench.state(ids[0] ?? 0)).toBe('broadcast')
    await bench.finish()
    await eachOnce(ids)
  })

  test('after it was mined, before that was noted: found by its receipt', async () => {
    const ids = await record(5)
    await bench.relayer.tick()
    await bench.mine()
    await bench.restart()
    await bench.finish()
    await eachOnce(ids)
  })

  test('between mined and confirmed: confirmed once it is deep enough', async () => {
    const ids = await record(5)
    await bench.relayer.tick()
    await bench.mine()
    await bench.relayer.tick()
    expect(await bench.state(ids[0] ?? 0)).toBe('mined')
    await bench.restart()
    await bench.relayer.tick()
    expect(await bench.state(ids[0] ?? 0)).toBe('mined')
    await bench.mine()
    await bench.relayer.tick()
    await eachOnce(ids)
  })

  test('at every call to the node, one after the other: each effect comes exactly once', async () => {
    const ids = await record(20)
    // The relayer is cut off at its first, second, third … call, as a process is that dies there.
    for (let allowed = 1; allowed <= 40; allowed++) {
      let calls = 0
      bench.node.fault = (method) => {
        calls += 1
        if (calls < allowed) return undefined
        return method === 'eth_sendRawTransaction' && allowed % 2 === 0 ? 'answer-lost' : 'lost'
      }
      await bench.relayer.tick()
      bench.node.fault = undefined
      await bench.restart()
      if (allowed % 3 === 0) await bench.mine()
    }
    await bench.finish()
    await eachOnce(ids)
  })
})

describe('a chain that comes back with an earlier state', () => {
  test('gets what it forgot again: each effect is there once', async () => {
    await bench.close()
    bench = await openBench({ chain: { forgets: true } })
    const snapshot = await bench.rpc('evm_snapshot')
    const ids = await record(70)
    await bench.finish()
    await bench.rpc('evm_revert', [snapshot])
    expect(await bench.nonce()).toBe(0)
    await bench.restart()
    await bench.relayer.tick()
    await bench.finish()
    await eachOnce(ids)
  })
})

describe('the lease', () => {
  // Where several daemons share a database, one that does not send is as it should be.
  const heldOff = (status?: SenderStatus) =>
    isPostgres ? status?.isStandby === true : status?.trouble?.name === 'LeaseHeld'

  test('keeps a second relayer from sending with the same key until it has expired', async () => {
    const [id = 0] = await record(1)
    await bench.relayer.tick()
    const second = await bench.open()
    const late = await bench.intend(2)
    const [status] = await second.tick()
    expect(heldOff(status)).toBe(true)
    expect(await bench.state(late)).toBe('queued')
    await ageLeases(bench.db, 4000)
    const [after] = await second.tick()
    expect(after?.trouble).toBeUndefined()
    expect(await bench.state(late)).toBe('broadcast')
    // The first one notices at its next write, and writes nothing.
    const third = await bench.intend(3)
    const [first] = await bench.relayer.tick()
    expect(heldOff(first)).toBe(true)
    expect(await bench.state(third)).toBe('queued')
    bench.relayer = second
    await bench.finish()
    await eachOnce([id, late, third])
  })

  test('is given back by a relayer that is closed', async () => {
    await bench.relayer.tick()
    await bench.relayer.close()
    bench.relayer = await bench.open()
    const [status] = await bench.relayer.tick()
    expect(status?.trouble).toBeUndefined()
  })
})
