import { afterAll, expect, test } from 'vitest'
import { openTestApp, testClock } from '../support/daemon.ts'
import { databaseOf, dropDatabaseOf } from '../support/postgres.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const dir = `clock-${process.pid}`
const slowDir = `clock-slow-${process.pid}`
afterAll(() => Promise.all([dropDatabaseOf(dir), dropDatabaseOf(slowDir)]))

test('what a slow daemon says of refs is so: its own end early at others, and theirs late at it', async () => {
  const env = await databaseOf(slowDir)
  const now = new Date().toISOString()
  const slowClock = testClock(now)
  const [t, slow] = [
    await openTestApp({ env, seed, clock: testClock(now) }),
    await openTestApp({ env, clock: slowClock }),
  ]
  try {
    slowClock.jump('-1h')
    await slow.ctx.clock.check()
    const refAt = async (at: typeof t, counter: number) => {
      const page = await at.app.inject(tapPath(tap(derived, { uid: uids.blank }, counter)))
      return /data-ref="([^"]+)"/.exec(page.body)?.[1]
    }
    const isValid = async (at: typeof t, ref: string | undefined) =>
      (await at.app.inject(`/refs/${ref}`)).json().isValidRef
    // A ref lasts for half an hour.
    expect(await isValid(t, await refAt(slow, 1))).toBe(false)
    expect(await isValid(slow, await refAt(slow, 2))).toBe(true)
    const ref = await refAt(t, 3)
    slowClock.advance('45m')
    expect(await isValid(slow, ref)).toBe(true)
  } finally {
    await slow.close()
    await t.close()
  }
})

test('one slow clock among several daemons ends nothing, and is told', async () => {
  const env = await databaseOf(dir)
  const now = new Date().toISOString()
  const [clock, slowClock] = [testClock(now), testClock(now)]
  const t = await openTestApp({ env, seed, clock })
  const refOf = async (counter: number) => {
    const page = await t.app.inject(tapPath(tap(derived, { uid: uids.blank }, counter)))
    return /data-ref="([^"]+)"/.exec(page.body)?.[1]
  }
  const refs = [await refOf(1), await refOf(2)]
  slowClock.jump('-1h')
  const slow = await openTestApp({ env, clock: slowClock })
  try {
    const isNextValid = async () => (await t.app.inject(`/refs/${refs.pop()}`)).json().isValidRef
    expect(await isNextValid()).toBe(true)
    const told = (span: string) => [
      expect.stringContaining(`${span} behind the database's. Nothing has ended`),
    ]
    expect(slow.ctx.clock.warnings()).toEqual(told('60 minutes'))
    expect(slow.ctx.clock.warnings()).toEqual([
      expect.stringMatching(
        /at this daemon expire 60 minutes too early at the others, .* accepted here 60 minutes too long/,
      ),
    ])
    expect(t.ctx.clock.warnings()).toEqual([])
    clock.jump('-3h')
    await t.ctx.clock.check()
    expect(t.ctx.clock.warnings()).toEqual(told('3 hours'))
    clock.jump('3h')
    expect(await isNextValid()).toBe(true)
  } finally {
    await slow.close()
    await t.close()
  }
})
