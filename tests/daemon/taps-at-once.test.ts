import { afterAll, beforeAll, expect, test } from 'vitest'
import { allTeams, insertTeam } from '../../src/daemon/store/teams.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { testOfFile } from '../support/engines.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { together } from '../support/taps-together.ts'

// A usual tap is taken by fewer statements than one that needs all that a write can do. Both do the same.

let t: TestApp
let counter = 20
const next = (uid: string, path: string): string => tapPath(tap(derived, { uid }, ++counter), path)
const uidOf = (hex: string) => BigInt(`0x${hex}`).toString()

beforeAll(async () => {
  t = await openTestApp({ seed, clock: testClock() })
  const made = { url: 'https://hooks.acme.example/in', events: ['tap.valid'], team: 'Acme' }
  const answer = await t.app.inject({
    method: 'POST',
    url: '/admin/webhooks',
    headers: t.admin,
    payload: made,
  })
  expect(answer.statusCode).toBe(200)
})

afterAll(() => t.close())

const tables = ['taps', 'refs', 'otps', 'pageVisits', 'webhookDeliveries'] as const
/** What is different in each tap by its nature. */
const own = /^(id|tapId|idHash|codeHash|cookieHash|refHash|counter|messageId|refs)$/

/** The rows that a tap left, without what is its own. */
async function rowsOf(chipUid: string, work: () => Promise<unknown>) {
  const ids = async () => {
    const rows: Record<string, unknown>[] = []
    for (const table of tables) {
      const found = await t.ctx.db.read.selectFrom(table).selectAll().where('chipUid', '=', chipUid).execute()
      rows.push(...found.map((row) => ({ table, ...row })))
    }
    return rows
  }
  const keyOf = (row: Record<string, unknown>) => JSON.stringify(row)
  const before = new Set((await ids()).map(keyOf))
  await work()
  const made = (await ids()).filter((row) => !before.has(keyOf(row)))
  const shown = made.map((row) => {
    const same = Object.fromEntries(Object.entries(row).filter(([name]) => !own.test(name)))
    const data = 'data' in row ? { ...JSON.parse(String(row.data)), counter: 0 } : undefined
    return { ...same, table: row.table, data }
  })
  // Tables have no order.
  return shown.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

const tapOther = async () =>
  expect((await t.app.inject({ url: next(uids.blank, '/t') })).statusCode).toBe(200)

test.each([
  ['found by an app', uids.twin, '/chips/find', { taps: 1, otps: 1 }],
  ['with events', uids.events, '/chips/find', { taps: 1, otps: 1 }],
  ['that redirects', uids.jacket, '/t', { taps: 1, refs: 1 }],
  ['with a page', uids.twin, '/t', { taps: 1, refs: 3, pageVisits: 1 }],
])('leaves the rows of a tap in several: %s', async (_, hex, path, counts) => {
  const uid = BigInt(`0x${hex}`).toString()
  const tapOnce = async () =>
    expect((await t.app.inject({ url: next(hex, path) })).statusCode).toBeLessThan(303)
  const atOnce = await rowsOf(uid, tapOnce)
  const { takeTap } = t.ctx.db
  t.ctx.db.takeTap = undefined
  try {
    expect(await rowsOf(uid, tapOnce)).toEqual(atOnce)
    if (path === '/t') {
      t.ctx.db.takeTap = together(2, takeTap)
      expect(await rowsOf(uid, () => Promise.all([tapOnce(), tapOther()]))).toEqual(atOnce)
    }
  } finally {
    t.ctx.db.takeTap = takeTap
  }
  const found: Record<string, number> = {}
  for (const { table } of atOnce) found[String(table)] = (found[String(table)] ?? 0) + 1
  expect(found).toEqual({ ...counts, webhookDeliveries: 1 })
})

testOfFile('a tap that fails takes none of those with it that come at the same time', async () => {
  const { db } = t.ctx
  const { takeTap } = db
  const grouped = together(3, takeTap)
  db.takeTap = (tap) => {
    const [ref] = tap.rows.refs ?? []
    const isFailing = tap.seen.uid === uidOf(uids.jacket)
    // Two codes cannot be the same.
    return grouped?.(isFailing && ref ? { ...tap, rows: { refs: [ref, ref] } } : tap) ?? Promise.reject()
  }
  try {
    const urls = [uids.blank, uids.jacket, uids.twin].map((uid) => next(uid, '/t'))
    const answers = await Promise.all(urls.map((url) => t.app.inject({ url })))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 500, 200])
    db.takeTap = takeTap
    const again = await Promise.all(urls.map((url) => t.app.inject({ url })))
    // The one that failed has left nothing, so that it is still fresh.
    expect(again.map(({ statusCode }) => statusCode)).toEqual([410, 302, 410])
  } finally {
    db.takeTap = takeTap
  }
})

test('a chip that is switched off since it was read is judged anew', async () => {
  const { db } = t.ctx
  const { takeTap } = db
  db.takeTap = async (tap) => {
    await db.write((trx) =>
      trx.updateTable('chips').set({ disabledAt: tap.tap.at }).where('uid', '=', tap.seen.uid).execute(),
    )
    const id = await takeTap?.(tap)
    expect(id).toBeUndefined()
    return id
  }
  try {
    expect((await t.app.inject({ url: next(uids.unminted, '/chips/find') })).json().isValidTap).toBe(false)
  } finally {
    db.takeTap = takeTap
  }
})

testOfFile(
  'a tap does not wait for a job that takes long, which still has its turn while taps come',
  async () => {
    const { db } = t.ctx
    const { takeTap } = db
    const long = (name: string) =>
      db.write(async (trx) => {
        const until = performance.now() + 10
        while (performance.now() < until);
        await insertTeam(trx, name, new Date(0).toISOString())
      })
    const isThere = async (name: string) => (await allTeams(db.read)).some((team) => team.name === name)
    await long('before')
    let job: Promise<unknown> | undefined
    let isDone = false
    const wereDone: boolean[] = []
    db.takeTap = async (tap) => {
      job ??= long('beside').then(() => {
        isDone = true
      })
      const id = await takeTap?.(tap)
      wereDone.push(await isThere('beside'))
      return id
    }
    try {
      while (!isDone) expect((await t.app.inject({ url: next(uids.blank, '/t') })).statusCode).toBe(200)
      await job
      // The first was taken before the job; the job was done before the third at the latest.
      expect(wereDone[0]).toBe(false)
      expect(wereDone.length).toBeLessThan(4)
    } finally {
      db.takeTap = takeTap
    }
  },
)
