import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { allTeams, insertTeam } from '../../src/daemon/store/access/teams.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { describeOfFile } from '../support/engines.ts'
import { seedOf, uidOf } from '../support/fleet-taps.ts'
import { databaseOf, dropDatabaseOf, isPostgres, onServer } from '../support/postgres.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { together } from '../support/taps-together.ts'

const shared = mkdtempSync(join(tmpdir(), 'tapchip-test-'))
const stock = 100
/** On PostgreSQL two daemons on one database, else one. */
const daemons: TestApp[] = []
let t: TestApp
let counter = 20
const next = (uid: string, path: string): string => tapPath(tap(derived, { uid }, ++counter), path)
const decimal = (hex: string) => BigInt(`0x${hex}`).toString()

beforeAll(async () => {
  const env = await databaseOf(shared)
  const [acme, ...others] = seed.teams
  const chipGroups = [...(acme?.chipGroups ?? []), ...seedOf(stock).teams.flatMap((team) => team.chipGroups)]
  const clock = testClock()
  t = await openTestApp({ seed: { ...seed, teams: [{ ...acme, chipGroups }, ...others] }, clock, env })
  daemons.push(t)
  if (isPostgres) daemons.push(await openTestApp({ clock, env }))
})
afterAll(async () => {
  for (const daemon of daemons) await daemon.close()
  await dropDatabaseOf(shared)
  rmSync(shared, { recursive: true })
})

/** Of as many requests, each daemon gets a part. @returns status, and what was given */
async function ask(url: string, at: number) {
  const response = await daemons[at % daemons.length]?.app.inject({ url })
  const isFound = response?.headers['content-type']?.toString().startsWith('application/json')
  return { status: response?.statusCode, body: isFound ? response?.json() : undefined }
}
const isTaken = ({ status, body }: Awaited<ReturnType<typeof ask>>) =>
  status === 302 || (status === 200 && body?.isValidTap !== false)

/** The valid taps of a chip, by its chain, the newest first. */
async function chainOf(hex: string) {
  const { read } = t.ctx.db
  const uid = decimal(hex)
  const chip = await read.selectFrom('chips').selectAll().where('uid', '=', uid).executeTakeFirstOrThrow()
  const taps = await read.selectFrom('taps').selectAll().where('chipUid', '=', uid).execute()
  const valid = taps.filter(({ outcome }) => outcome === 'valid')
  const chain: typeof taps = []
  for (let id = chip.lastTap; id !== null; ) {
    const one = valid.find((row) => row.id === id)
    if (!one) throw new Error(`The chain of ${hex} has no tap ${id}`)
    chain.push(one)
    id = one.previous
  }
  return { chip, chain, valid }
}

describe.each([10, 100])('one tap, sent %i times at once', (times) => {
  test.each([
    ['by apps', uids.twin, '/chips/find', 200],
    ['by apps, of a chip with events', uids.events, '/chips/find', 200],
    ['by browsers, with a page', uids.blank, '/t', 410],
    ['by browsers, with a redirect', uids.jacket, '/t', 410],
  ])('%s, is taken once', async (_, hex, path, otherwise) => {
    const { valid } = await chainOf(hex)
    const url = next(hex, path)
    const answers = await Promise.all(Array.from({ length: times }, (_, at) => ask(url, at)))
    expect(answers.filter(isTaken)).toHaveLength(1)
    expect(answers.filter((answer) => !isTaken(answer)).every(({ status }) => status === otherwise)).toBe(
      true,
    )
    const after = await chainOf(hex)
    expect(after.valid).toHaveLength(valid.length + 1)
    expect(after.chip).toMatchObject({ lastCounter: counter, lastTap: after.chain[0]?.id })
  })
})

test.each([
  ['by apps', uids.twin, '/chips/find'],
  ['by browsers', uids.jacket, '/t'],
])('taps of one chip at once, %s, leave a chain in the order of its counter', async (_, hex, path) => {
  for (let round = 0; round < 5; round += 1) {
    const urls = Array.from({ length: 30 }, () => ({ url: next(hex, path), counter }))
    // Neither the newest nor the oldest goes first.
    const sent = urls.map((one, at) => ({ ...one, order: (at * 7) % 30 })).sort((a, b) => a.order - b.order)
    const answers = await Promise.all(
      sent.map(async (one, at) => ({ ...one, taken: isTaken(await ask(one.url, at)) })),
    )
    const { chip, chain, valid } = await chainOf(hex)
    const counters = chain.map((one) => one.counter ?? Number.NaN)
    expect(counters).toEqual([...new Set(counters)].sort((a, b) => b - a))
    // What ends all taps of a chip so far goes by their IDs.
    const ids = chain.map(({ id }) => id)
    expect(ids).toEqual([...ids].sort((a, b) => b - a))
    expect(chain).toHaveLength(valid.length)
    expect(chip.lastCounter).toBe(counter)
    // The newest is never too late.
    expect(answers.find((one) => one.counter === counter)?.taken).toBe(true)
    const taken = answers.filter((one) => one.taken).map((one) => one.counter)
    expect(counters.slice(0, taken.length)).toEqual(taken.sort((a, b) => b - a))
  }
})

test('taps of many chips at once, in different orders, wait for no ring of each other', async () => {
  for (let round = 0; round < 3; round += 1) {
    const urls = Array.from({ length: stock }, (_, n) => next(uidOf(n), n % 2 === 0 ? '/chips/find' : '/t'))
    const ways = [urls, [...urls].reverse(), urls.map((_, at) => urls[(at * 37) % stock] ?? '')]
    const answers = await Promise.all(
      ways.flatMap((way, to) => way.map(async (url) => ({ url, ...(await ask(url, to)) }))),
    )
    expect(answers.every(({ status }) => status === 200 || status === 410)).toBe(true)
    for (const url of urls) expect(answers.filter((one) => one.url === url && isTaken(one))).toHaveLength(1)
  }
  const { chain } = await chainOf(uidOf(stock - 1))
  expect(chain).toHaveLength(3)
  if (!isPostgres) return
  // A write that the server breaks off is tried again, so that nobody else would notice.
  const name = new URL((await databaseOf(shared)).TAPCHIP_DATABASE_URL ?? '').pathname.slice(1)
  const { rows } = await onServer((client) =>
    client.query('select deadlocks from pg_stat_database where datname = $1', [name]),
  )
  expect(rows).toEqual([{ deadlocks: '0' }])
})

describeOfFile('a group of taps', () => {
  let takeTap: TestApp['ctx']['db']['takeTap'] | undefined
  afterEach(() => {
    if (takeTap) t.ctx.db.takeTap = takeTap
  })

  test('loses none of the others with one that fails', async () => {
    const { db } = t.ctx
    takeTap = db.takeTap
    const grouped = together(3, takeTap)
    db.takeTap = (one) => {
      const isFailing = one.seen.uid === decimal(uids.jacket)
      // No tap is without its time.
      return grouped(isFailing ? { ...one, tap: { ...one.tap, at: null as unknown as string } } : one)
    }
    const urls = [uids.blank, uids.jacket, uids.twin].map((uid) => next(uid, '/t'))
    const answers = await Promise.all(urls.map((url) => t.app.inject({ url })))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 500, 200])
    db.takeTap = takeTap
    const again = await Promise.all(urls.map((url) => t.app.inject({ url })))
    // The one that failed has left nothing, so that it is still fresh.
    expect(again.map(({ statusCode }) => statusCode)).toEqual([410, 302, 410])
  })

  test('does not wait for a job that takes long, which still has its turn while taps come', async () => {
    const { db } = t.ctx
    const take = db.takeTap
    takeTap = take
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
    db.takeTap = async (one) => {
      job ??= long('beside').then(() => {
        isDone = true
      })
      const id = await take(one)
      wereDone.push(await isThere('beside'))
      return id
    }
    while (!isDone) expect((await t.app.inject({ url: next(uids.blank, '/t') })).statusCode).toBe(200)
    await job
    // The first was taken before the job; the job was done before the third at the latest.
    expect(wereDone[0]).toBe(false)
    expect(wereDone.length).toBeLessThan(4)
  })
})
