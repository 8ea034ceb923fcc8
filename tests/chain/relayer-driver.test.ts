import { afterEach, expect, test } from 'vitest'
import { drive } from '../../src/daemon/chain/relayer/relayer.ts'
import type { SenderStatus } from '../../src/daemon/chain/relayer/sender.ts'
import { systemSchedule } from '../../src/values/background-loop.ts'
import { type Bench, openBench } from '../support/relayer.ts'

const quiet: SenderStatus = {
  chainId: 31337,
  signer: 'relayer',
  address: '0x',
  unsettled: 0,
  inFlight: 0,
  waitingForFees: false,
  isStandby: false,
  waitingForFunds: false,
  jam: null,
  balance: undefined,
  stuck: undefined,
  trouble: undefined,
}

/** A loop that does what the test says, and a schedule that runs when the test says. */
function openDriver() {
  const loop = {
    status: quiet,
    ticks: 0,
    tick: async () => {
      loop.ticks += 1
      return loop.status
    },
  }
  const waits: number[] = []
  let later: (() => void) | undefined
  const driver = drive(loop, { busyMs: 10, idleMs: 1_000, maxBackoffMs: 100 }, (job, ms) => {
    waits.push(ms)
    later = job
    return () => {
      later = undefined
    }
  })
  const turn = async () => {
    for (let i = 0; i < 5; i++) await Promise.resolve()
  }
  return {
    driver,
    loop,
    waits,
    turn,
    next: async () => {
      later?.()
      await turn()
    },
  }
}

test('a driver ticks often while something is under way, seldom while nothing is', async () => {
  const { driver, loop, waits, next, turn } = openDriver()
  loop.status = { ...quiet, unsettled: 3 }
  driver.start()
  await turn()
  loop.status = quiet
  await next()
  expect(loop.ticks).toBe(2)
  expect(waits).toEqual([10, 1_000])
})

test('a driver whose ticks fail waits longer each time, also when it is woken', async () => {
  const { driver, loop, waits, next, turn } = openDriver()
  loop.status = { ...quiet, trouble: new Error('down') }
  driver.start()
  await turn()
  for (let i = 0; i < 5; i++) {
    driver.wake()
    await next()
  }
  expect(loop.ticks).toBe(6)
  expect(waits).toEqual([20, 40, 80, 100, 100, 100])
})

test('a driver that is woken while it ticks ticks once more, and one that is stopped no more', async () => {
  const { driver, loop, turn, next } = openDriver()
  driver.start()
  driver.wake()
  driver.wake()
  await turn()
  await turn()
  expect(loop.ticks).toBe(2)
  await driver.stop()
  driver.wake()
  await next()
  expect(loop.ticks).toBe(2)
})

let bench: Bench | undefined
afterEach(() => bench?.close())

test('a relayer that was started sends by itself', async () => {
  bench = await openBench({ relayer: { timing: { busyMs: 5 }, schedule: systemSchedule } })
  bench.relayer.start()
  const id = await bench.intend(1)
  await bench.relayer.broadcasted(id)
  const settled = bench.relayer.settled(id)
  await bench.mine()
  expect(await settled).toMatchObject({ name: 'confirmed' })
  expect(await bench.tallied(1)).toBe(1)
})
