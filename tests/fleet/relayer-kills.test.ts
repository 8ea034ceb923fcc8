import { afterEach, expect, test } from 'vitest'
import { openSenders, type Senders, until } from '../support/fleet-senders.ts'
import { randomFrom } from '../support/random.ts'

let fleet: Senders | undefined
afterEach(() => fleet?.close())

const kills = Number(process.env.TAPCHIP_KILLS ?? 2)
const points = ['queued', 'signed', 'broadcast', 'mined', 'confirmed'] as const

test(`the one that sends is killed ${kills} times: another goes on within ten seconds, no nonce comes twice, and none is skipped`, {
  timeout: 60_000 + kills * 30_000,
}, async () => {
  fleet = await openSenders()
  const { record, heldByOther, transactions, allSettled } = fleet
  const random = randomFrom(kills)
  let sending = await fleet.start()
  let { holder } = await heldByOther(undefined)
  let other = await fleet.start()
  const tookMs: number[] = []
  const goneOnMs: number[] = []
  for (let kill = 1; kill <= kills; kill++) {
    const before = (await transactions()).length
    await record(20)
    const point = points[Math.floor(random() * points.length)]
    await until(`one is ${point}`, async () => {
      const rows = (await transactions()).slice(before)
      return rows.some(({ state }) => state === point) || rows.every(({ settledAt }) => settledAt !== null)
    })
    const began = performance.now()
    await fleet.kill(sending)
    await record(5)
    const next = await heldByOther(holder)
    tookMs.push(Math.round(performance.now() - began))
    await until('another transaction is sent', async () =>
      (await transactions()).slice(before + 20).some(({ state }) => state !== 'queued' && state !== 'signed'),
    )
    goneOnMs.push(Math.round(performance.now() - began))
    expect(next.holder).not.toBe(holder)
    holder = next.holder
    sending = other
    other = await fleet.start()
  }
  await allSettled()
  expect(Math.max(...goneOnMs)).toBeLessThan(10_000)
  expect(Math.max(...tookMs)).toBeLessThan(10_000)
  const { effects, used, given, nonces, states } = await fleet.outcome()
  expect({ effects, states }).toEqual({ effects: new Set([1]), states: new Set(['confirmed']) })
  expect(nonces.toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual(
    Array.from({ length: kills * 25 }, (_, n) => n),
  )
  expect({ used, given }).toEqual({ used: kills * 25, given: kills * 25 })
  if (kills > 2)
    console.log(`taken over after (ms): ${tookMs.join(' ')}; gone on after: ${goneOnMs.join(' ')}`)
})

test(`of two relayers each goes on as the daemons that send for it are killed ${kills} times: each effect comes once`, {
  timeout: 60_000 + kills * 30_000,
}, async () => {
  fleet = await openSenders(7, 2)
  const { record, transactions, allSettled } = fleet
  const random = randomFrom(kills)
  let [first, second] = [await fleet.start(), await fleet.start()]
  for (let kill = 1; kill <= kills; kill++) {
    const before = (await transactions()).length
    await record(40)
    const point = points[Math.floor(random() * points.length)]
    await until(`one is ${point}`, async () => {
      const rows = (await transactions()).slice(before)
      return rows.some(({ state }) => state === point) || rows.every(({ settledAt }) => settledAt !== null)
    })
    await fleet.kill(first)
    await record(10)
    ;[first, second] = [second, await fleet.start()]
    await allSettled()
  }
  const { effects, states } = await fleet.outcome()
  expect({ effects, states }).toEqual({ effects: new Set([1]), states: new Set(['confirmed']) })
  const senders = await fleet.bySender()
  for (const { used, given, nonces } of senders) {
    expect(nonces).toEqual(nonces.map((_, n) => n))
    expect({ used, given }).toEqual({ used: nonces.length, given: nonces.length })
  }
  // What is never signed may move from one to the other; both send.
  expect(Math.min(...senders.map(({ used }) => used))).toBeGreaterThan(0)
  expect(senders.reduce((sum, { used }) => sum + used, 0)).toBe(kills * 50)
})
