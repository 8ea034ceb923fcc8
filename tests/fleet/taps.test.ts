import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChipByTap } from '../../src/daemon/domain/taps/find-chip.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { databaseOf, dropDatabaseOf, onServer } from '../support/postgres.ts'
import { countRoundTrips, type RoundTrips } from '../support/round-trips.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { together } from '../support/taps-together.ts'

const shared = mkdtempSync(join(tmpdir(), 'tapchip-test-'))
let settings: Record<string, string>
let proxy: RoundTrips
/** Three daemons on one database; the first reaches it through the proxy. */
let far: TestApp
let one: TestApp
let other: TestApp
const counters = new Map<string, number>()

const next = (uid: string, path: string): string => {
  const counter = (counters.get(uid) ?? 20) + 1
  counters.set(uid, counter)
  return tapPath(tap(derived, { uid }, counter), path)
}

beforeAll(async () => {
  settings = await databaseOf(shared)
  proxy = await countRoundTrips(settings.TAPCHIP_DATABASE_URL ?? '')
  const clock = testClock()
  far = await openTestApp({ seed, clock, env: { ...settings, TAPCHIP_DATABASE_URL: proxy.url } })
  one = await openTestApp({ clock, env: settings })
  other = await openTestApp({ clock, env: settings })
})

afterAll(async () => {
  for (const daemon of [far, one, other]) await daemon?.close()
  await proxy?.close()
  await dropDatabaseOf(shared)
  rmSync(shared, { recursive: true })
})

describe('a tap costs a look, a write, and a round trip for each thing that its chip carries', () => {
  /** A statement is prepared once it has come three times, and connections are made when they are needed. */
  async function tripsOf(uid: string, path: string, status: number): Promise<number> {
    const counts: number[] = []
    for (let round = 0; round < 5; round += 1) {
      proxy.count()
      const answer = await far.app.inject({ url: next(uid, path) })
      expect(answer.statusCode).toBe(status)
      if (path !== '/t') expect(answer.json().isValidTap).toBe(true)
      counts.push(proxy.count())
    }
    return Math.min(...counts)
  }

  test.each([
    ['found by an app, of a chip with a token', uids.twin, '/chips/find', 200, 2],
    ['found by an app, of a chip with events', uids.events, '/chips/find', 200, 4],
    ['found by an app, of a chip with nothing', uids.blank, '/chips/find', 200, 2],
    ['of a chip that redirects', uids.jacket, '/t', 302, 2],
    ['of a chip with a page', uids.twin, '/t', 200, 4],
    ['of a page without a token', uids.blank, '/t', 200, 4],
    ['of a page with events', uids.events, '/t', 200, 6],
  ])('%s', async (_, uid, path, status, trips) => {
    expect(await tripsOf(uid, path, status)).toBe(trips)
  })
})

describe('one statement', () => {
  test('takes several chips, and waits for none whose row is held', async () => {
    const name = new URL(settings.TAPCHIP_DATABASE_URL ?? '').pathname.slice(1)
    const { takeTap } = other.ctx.db
    other.ctx.db.takeTap = together(3, takeTap)
    try {
      const tapOf = async (hex: string) => (await other.app.inject({ url: next(hex, '/t') })).statusCode
      await onServer(async (client) => {
        const { rows } = await client.query('select coalesce(max(id), 0) as last from taps')
        // Whatever the server's default: it has to see what others commit meanwhile.
        await client.query('begin isolation level read committed')
        await client.query('select 1 from chips where uid = $1 for update', [
          BigInt(`0x${uids.twin}`).toString(),
        ])
        const held = tapOf(uids.twin)
        expect(await Promise.all([tapOf(uids.blank), tapOf(uids.jacket)])).toEqual([200, 302])
        const isOne =
          'select count(*)::int as taps, count(distinct xmin::text)::int as writes from taps where id > $1'
        expect((await client.query(isOne, [rows[0].last])).rows).toEqual([{ taps: 2, writes: 1 }])
        await client.query('commit')
        expect(await held).toBe(200)
        expect((await client.query(isOne, [rows[0].last])).rows).toEqual([{ taps: 3, writes: 2 }])
      }, name)
    } finally {
      other.ctx.db.takeTap = takeTap
    }
  })

  test('whose answer is lost is a 503, and its tap is valid at most once', async () => {
    const url = next(uids.blank, '/chips/find')
    const name = new URL(settings.TAPCHIP_DATABASE_URL ?? '').pathname.slice(1)
    const validTaps = () =>
      onServer(async (client) => {
        const { rows } = await client.query("select count(*)::int as taps from taps where outcome = 'valid'")
        return Number(rows[0]?.taps)
      }, name)
    const before = await validTaps()
    // The chip is read by another connection than the one that takes the tap.
    const { takeTap } = far.ctx.db
    far.ctx.db.takeTap = (tap) => {
      proxy.loseNextAnswer()
      return takeTap(tap)
    }
    const lost = await far.app.inject({ url })
    expect(lost.statusCode).toBe(503)
    expect(lost.json()).toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining('Tap the chip again'),
    })
    far.ctx.db.takeTap = takeTap
    // Where the lost answer was to another statement of this daemon, the tap was not taken, and is now.
    await other.app.inject({ url })
    expect((await validTaps()) - before).toBe(1)
    expect((await other.app.inject({ url })).json().isValidTap).toBe(false)
  })
})

test('ten at once, split between two daemons: one of them is valid, a thousand times', async () => {
  const rounds = 1000
  const chips = [uids.blank, uids.twin, uids.events, uids.jacket]
  let valid = 0
  for (let round = 0; round < rounds; round += 1) {
    const uid = chips[round % chips.length] ?? uids.blank
    const counter = (counters.get(uid) ?? 20) + 1
    counters.set(uid, counter)
    const query = tap(derived, { uid }, counter)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => findChipByTap((i % 2 === 0 ? one : other).ctx, query)),
    )
    expect(answers.filter(({ isValidTap }) => isValidTap)).toHaveLength(1)
    valid += 1
  }
  expect(valid).toBe(rounds)
}, 240_000)
