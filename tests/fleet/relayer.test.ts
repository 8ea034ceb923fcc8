import { afterEach, expect, test } from 'vitest'
import { openSenders, type Senders, until } from '../support/fleet-senders.ts'

let fleet: Senders | undefined
afterEach(async () => {
  await fleet?.close()
  fleet = undefined
})

const eachOnce = (count: number) => ({
  effects: new Set([1]),
  used: count,
  given: count,
  nonces: Array.from({ length: count }, (_, index) => index),
  states: new Set(['confirmed']),
})

test('of two daemons one sends: killed, the other goes on within ten seconds, and paused, it writes nothing any more', {
  timeout: 120_000,
}, async () => {
  fleet = await openSenders()
  const { chain, lease, record, heldByOther, transactions } = fleet
  const first = await fleet.start()
  const { holder: a } = await heldByOther(undefined)
  const second = await fleet.start()
  // Recorded by neither, seen by the one that sends, which no one told.
  await record(20)
  await fleet.allSettled()
  expect((await lease())?.holder).toBe(a)

  chain.mining(false)
  await record(100)
  await until('some are sent, and some wait', async () => {
    const states = (await transactions()).map(({ state }) => state)
    return states.includes('broadcast') && states.includes('queued')
  })
  await fleet.kill(first)
  const { holder: b, fence } = await heldByOther(a, 10_000)
  chain.mining(true)
  await fleet.allSettled()
  expect(await fleet.outcome()).toEqual(eachOnce(120))

  // Paused while it sends; a third one takes over, and is not disturbed when the second comes back.
  const third = await fleet.start()
  await record(40)
  await until('it sends', async () => (await transactions()).some(({ state }) => state === 'broadcast'))
  process.kill(second.ready.pid, 'SIGSTOP')
  const after = await heldByOther(b)
  expect(after.fence).toBe(fence + 1)
  await record(40)
  process.kill(second.ready.pid, 'SIGCONT')
  await until('it is back', async () => (await fetch(`${second.ready.url}/readyz`)).ok)
  await record(20)
  await fleet.allSettled()
  expect(await fleet.outcome()).toEqual(eachOnce(220))
  const ready = await (await fetch(`${second.ready.url}/readyz`)).json()
  expect(ready).toMatchObject({ chains: { 7: 'ok' } })
  expect(await lease()).toMatchObject({ holder: after.holder, fence: after.fence })
  // One that stops gives the lease back: nobody has to see that it is not renewed.
  await third.stop()
  await heldByOther(after.holder, 3500)
})
