import { afterAll, expect, test } from 'vitest'
import { openTestApp, testClock } from '../support/daemon.ts'
import { databaseOf, dropDatabaseOf } from '../support/postgres.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const dir = `clock-${process.pid}`
afterAll(() => dropDatabaseOf(dir))

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
