import { afterAll, beforeAll, expect, test } from 'vitest'
import { cleanUp } from '../../src/daemon/domain/operations/housekeeping.ts'
import { deleteOld, makeTapMonths } from '../../src/daemon/domain/operations/retention.ts'
import { countAll } from '../../src/daemon/store/taps/taps.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { onServer } from '../support/postgres.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let t: TestApp
let counter = 20
const clock = testClock('2026-01-20T12:00:00.000Z')

/** In the order of the taps. */
const codes: string[] = []

const tapOnce = async (): Promise<void> => {
  const answer = await t.app.inject({
    url: tapPath(tap(derived, { uid: uids.twin }, ++counter), '/chips/find'),
  })
  expect(answer.json().isValidTap).toBe(true)
  codes.push(answer.json().otp.code)
}

const database = () => new URL(t.ctx.config.databaseUrl ?? '').pathname.slice(1)
const ask = <Row>(query: string): Promise<Row[]> =>
  onServer(async (client) => (await client.query(query)).rows, database())
const rowsByMonth = async (): Promise<Record<string, number>> => {
  const rows = await ask<{ name: string; taps: string }>(
    'select tableoid::regclass::text as name, count(*) as taps from taps group by 1 order by 1',
  )
  return Object.fromEntries(rows.map(({ name, taps }) => [name, Number(taps)]))
}

beforeAll(async () => {
  t = await openTestApp({ seed, clock, env: { TAPCHIP_KEEP_TAPS_DAYS: '40' } })
})
afterAll(() => t.close())

test('taps have a table a month, made ahead by any number of daemons, and none is refused without one', async () => {
  await tapOnce()
  expect(await rowsByMonth()).toEqual({ taps_other: 1 })
  await Promise.all(Array.from({ length: 10 }, () => makeTapMonths(t.ctx.db, clock.now())))
  await tapOnce()
  expect(await rowsByMonth()).toEqual({ taps_2026_01: 2 })
  clock.advance('20d')
  await makeTapMonths(t.ctx.db, clock.now())
  await tapOnce()
  expect(await rowsByMonth()).toEqual({ taps_2026_01: 2, taps_2026_02: 1 })
  const [{ months } = { months: '' }] = await ask<{ months: string }>(
    "select string_agg(inhrelid::regclass::text, ' ' order by 1) as months from pg_inherits where inhparent = 'taps'::regclass",
  )
  expect(months.split(' ').sort()).toEqual([
    ...['taps_2026_01', 'taps_2026_02', 'taps_2026_03', 'taps_2026_04', 'taps_other'],
  ])
})

test('lists and counts read them by their indexes, the newest first', async () => {
  const listed = (await t.app.inject({ url: '/admin/taps?limit=2', headers: t.admin })).json()
  expect(listed.map(({ counter }: { counter: number }) => counter)).toEqual([counter, counter - 1])
  const plan = async (query: string) =>
    JSON.stringify(
      await onServer(async (client) => {
        await client.query('set enable_seqscan = off')
        return (await client.query(`explain ${query}`)).rows
      }, database()),
    )
  for (const query of [
    'select * from taps order by id desc limit 2',
    `select * from taps where "chipUid" = 'x' and outcome <> 'valid' order by id desc limit 2`,
    `select * from taps where id in (5, 10) and outcome = 'valid' and "chipUid" = 'x' order by id desc limit 2`,
    'select previous from taps where id = 5',
    "select max(id) from taps where outcome <> 'valid'",
    'select count(*) from taps where id > 5 and id <= 10',
  ]) {
    const text = await plan(query)
    expect(text).toContain('Index')
    expect(text).not.toContain('Seq Scan')
  }
})

test('a month of which every tap is old goes as a table, with the codes of its taps, and no other tap goes', async () => {
  const clean = async () => {
    await deleteOld({ ...t.ctx, clock: { ...clock, confirmedTime: clock.now } })
    await cleanUp(t.ctx)
  }
  const statuses = () =>
    Promise.all(codes.map(async (code) => (await t.app.inject(`/otps/${code}`)).statusCode))
  // One of January and the one of February: what is stored of a code goes with its tap as well.
  for (const code of codes.slice(1)) {
    const headers = { 'x-svc-api-key': acmeKey }
    expect((await t.app.inject({ method: 'DELETE', url: `/otps/${code}`, headers })).statusCode).toBe(200)
  }
  const spent = () => ask<{ tapId: string }>('select "tapId" from "spentCodes"')
  expect(await spent()).toHaveLength(2)
  codes.splice(1, 2)
  await tapOnce()
  expect(await statuses()).toEqual([200, 200])
  // 40 days before 2026-03-14 is 2026-02-02: all of January, and nothing of February yet.
  clock.advance('33d')
  await clean()
  expect(await rowsByMonth()).toEqual({ taps_2026_02: 2 })
  expect(await ask("select to_regclass('taps_2026_01') as there")).toEqual([{ there: null }])
  expect((await countAll(t.ctx.db.slow)).taps).toBe(2)
  expect([await statuses(), (await spent()).length]).toEqual([[404, 200], 1])
  await tapOnce()
  // The tap of February 9 is old on March 24, and its month on April 10.
  clock.advance('10d')
  await clean()
  expect(await rowsByMonth()).toEqual({ taps_2026_02: 2, taps_2026_03: 1 })
  clock.advance('18d')
  await clean()
  expect(await rowsByMonth()).toEqual({ taps_2026_03: 1 })
  expect([await statuses(), (await spent()).length]).toEqual([[404, 404, 200], 0])
})

test('a tap that comes as its month gets a table is taken all the same', async () => {
  // July.
  clock.advance('95d')
  const [inserting] = await onServer(async (client) => {
    // As making the month does, up to its commit.
    await client.query('begin; lock table taps_other in access exclusive mode')
    const tapping = tapOnce()
    await t.ctx.db.read.selectFrom('teams').select('id').execute()
    await expect
      .poll(
        async () =>
          (await ask("select 1 from pg_locks where relation = 'taps_other'::regclass and not granted"))
            .length,
      )
      .toBeGreaterThan(0)
    await client.query(`create table taps_2026_07 (like taps including defaults);
      alter table taps attach partition taps_2026_07 for values from ('2026-07') to ('2026-08'); commit`)
    return [tapping]
  }, database())
  await inserting
  expect(await rowsByMonth()).toMatchObject({ taps_2026_07: 1 })
})
