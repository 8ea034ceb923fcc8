import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { bundled } from '../lib/bundle.mjs'
import { csvOfChips, range, shuffled, uidHex } from '../lib/chips.mjs'
import { adminToken, apiKey, call, cliScript, keySet, startDaemonWith } from '../lib/daemon.mjs'
import { stayOn } from '../lib/machine.mjs'
import { startCommand, startHelper } from '../lib/processes.mjs'
import { tried, within } from '../lib/within.mjs'

const rate = 100
const bar = { p99: 25, p999: 100 }
const startsWithin = 1500
const startRounds = 3
/** The most that one of what goes on may take. */
const workSeconds = 60
const lockedMs = 2000
const expired = 100_000
const imported = 20_000
/** Their life is counted in time that the daemon ran. */
const longAgo = '1970-01-01T00:00:00.000Z'
/** From one chip that is tapped to the next: a prime, so that all have their turn, in no order. */
const step = 7919

const seed = {
  version: 1,
  keySets: [{ ...keySet, diversification: 'an10922', macInputFrom: 'd' }],
  teams: [
    {
      name: 'Bench',
      apiKeys: [{ name: 'bench', key: apiKey }],
      chipGroups: [
        { name: 'Stock', chips: [{ uid: uidHex(0), keySet: keySet.id }] },
        { name: 'Edited', chips: [] },
      ],
    },
    { name: 'Quiet', chipGroups: [{ name: 'Few', chips: [] }] },
  ],
}

/** Taps at a steady rate on a database of years, while all that can go on beside them does. */
export async function measureLarge({ cores, dir, tapMaker, announce, chips, taps, edited, atLeast }) {
  // The daemon reads what takes long in processes of its own: on one core, taps would wait for those by turns.
  stayOn([cores.server, cores.load])
  const size = `${chips.toLocaleString('en')} chips and ${taps.toLocaleString('en')} taps`
  const starts = row({ name: `tapchipd to its ready line, ${size}`, bar: 1, peer: 'bar', unit: 'ms' })
  const tidying = tapRow(`housekeeping of ${expired.toLocaleString('en')} rows`)
  const alone = tapRow('nothing else')
  const data = dir('large')
  const { fillDatabase, largeUid } = await bundled(dir('large-peers'), 'peers/large-database')
  const next = freshTaps(tapMaker, (n) => hexOf(largeUid(n)), chips)
  const works = worksOf({
    edited,
    home: dir('large-home'),
    uidOf: (n) => hexOf(largeUid(n)),
    forged: () => forgedOf(next(10)),
  })
  const rows = works.map(({ name }) => tapRow(name))
  const together = tapRow('all of that at once')
  const all = tapRow('all of the above')
  const locked = tapRow('another program that locks the database 2 s at a time', 'GET /healthz')
  announce(starts, tidying, alone, ...rows, together, all, locked)
  starts.notes.push(`the bar is ${startsWithin} ms`)
  all.notes.push('an open loop, timed from when each was sent; each is a write that is flushed to the disk')
  locked.notes.push('a tap is a write and waits for that program; what only reads does not')

  const seeded = await startDaemonWith(data, seed)
  const { databaseFile } = seeded
  await seeded.stop()
  addRare(databaseFile)
  fillDatabase(databaseFile, { chips, taps })
  moveChips(databaseFile, edited)

  let daemon
  for (let round = 0; round < startRounds; round++) {
    await daemon?.stop()
    daemon = undefined
    if (round === startRounds - 1) addExpired(databaseFile)
    const begun = performance.now()
    daemon = await within(workSeconds, startDaemonWith(data, seed))
    const ms = performance.now() - begun
    starts.values.push(ms)
    starts.peers.push(startsWithin)
    starts.ratios.push(ms / startsWithin)
  }

  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const steadily = async (into, work, { paths, expect = '"isValidTap":true' } = {}) => {
    const fresh = paths ?? next(rate * (workSeconds + 60))
    await load.ask({ op: 'prepare', paths: fresh, once: paths === undefined })
    await load.ask({ op: 'begin', port: daemon.port, rate, expect })
    await tried([into], workSeconds, () => work(daemon))
    const { latencies, sent, wrong, late, sample } = await load.ask({ op: 'finish' })
    for (const latency of latencies) into.latencies.push(latency)
    const slowest = latencies.reduce((most, one) => Math.max(most, one), 0)
    into.notes.push(
      `${sent} sent, the slowest took ${slowest.toFixed(0)} ms; the load was up to ${late.toFixed(0)} ms late itself`,
    )
    if (wrong > 0)
      into.error ??= `${wrong} of ${sent} were not answered as they should be, such as: ${sample}`
  }
  const again = (work) => async () => {
    const until = performance.now() + atLeast * 1000
    do await work(daemon)
    while (performance.now() < until)
  }

  await steadily(tidying, () => untilTidy(databaseFile))
  await steadily(alone, () => sleep(atLeast * 1000))
  for (const [at, { work }] of works.entries()) await steadily(rows[at], again(work))
  await steadily(together, async () => {
    const ends = await Promise.allSettled(works.map(({ work }) => again(work)()))
    for (const { reason } of ends.filter(({ status }) => status === 'rejected')) throw reason
  })
  for (const { latencies } of [tidying, alone, ...rows, together])
    for (const latency of latencies) all.latencies.push(latency)
  const waits = []
  const lock = again(async () => waits.push(...(await tapUnderLock(databaseFile, daemon, next(5)))))
  await steadily(locked, lock, { paths: ['/healthz'], expect: '"ok"' })
  locked.notes.push(
    `${waits.length} taps that came while it was locked were valid, after ${Math.max(0, ...waits).toFixed(0)} ms at most`,
  )
  for (const row of [tidying, ...rows, together, all]) row.alone = alone.latencies
  await load.end()
  await daemon.stop()
  stayOn([cores.load])
}

const row = (of) => ({ values: [], peers: [], ratios: [], notes: [], ...of })

const tapRow = (meanwhile, what = 'tap') => ({
  name: `${what}, ${rate}/s: ${meanwhile}`,
  bar,
  latencies: [],
  notes: [],
})

const hexOf = (uid) => BigInt(uid).toString(16).toUpperCase().padStart(14, '0')

/** Taps of chips in no order, each of which was never shown before. */
function freshTaps(tapMaker, uidOf, chips) {
  let made = 0
  return (count) =>
    Array.from({ length: count }, () => {
      const at = made++ * step
      // Above the counters of the taps that are recorded.
      return `/chips/find?${tapMaker.query(uidOf(at % chips), 100_000 + Math.floor(at / chips))}`
    })
}

const forgedOf = (paths) => paths.map((path) => path.slice(0, -4) + (path.endsWith('0000') ? '1111' : '0000'))

const lists = ['', '?team=Quiet', '?outcome=disabled', '?outcome=refused', '?since=2026-01-02T00:00:00.000Z']

/** What goes on, by name; `work` is one round of it. */
function worksOf({ edited, home, uidOf, forged }) {
  let round = 0
  const run = async (daemon, ...args) => {
    const { ended, errors, child } = startCommand([cliScript, ...args], {
      TAPCHIP_URL: daemon.url,
      TAPCHIP_API_KEY: apiKey,
      TAPCHIP_ADMIN_TOKEN: adminToken,
      HOME: home,
      XDG_STATE_HOME: home,
      XDG_CONFIG_HOME: home,
    })
    child.stdout.resume()
    const code = await ended
    if (code !== 0) throw new Error(`tapchip ${args.join(' ')} ended with ${code}: ${errors()}`)
  }
  return [
    {
      name: 'lists of taps, of a quiet team and of a rare outcome too',
      work: async (daemon) => {
        for (const query of lists) await call(daemon, 'GET', `/admin/taps${query}`)
      },
    },
    {
      name: 'refused taps, 200/s',
      work: async (daemon) => {
        await Promise.all([...forged().map((path) => call(daemon, 'GET', path)), sleep(50)])
      },
    },
    { name: 'status --check', work: (daemon) => call(daemon, 'GET', '/admin/status?check=true') },
    { name: 'doctor', work: (daemon) => run(daemon, 'doctor') },
    {
      name: 'a backup',
      work: async (daemon) => {
        const { text } = await call(daemon, 'POST', '/admin/backup', { body: '{}' })
        rmSync(JSON.parse(text()).path, { recursive: true, force: true })
      },
    },
    { name: 'GET /chips of all', work: (daemon) => readAll(daemon, '/chips?name=Stock') },
    { name: 'an export of all', work: (daemon) => readAll(daemon, '/admin/chips/export?team=Bench') },
    {
      name: `an import of ${imported.toLocaleString('en')}`,
      work: (daemon) => {
        // Of the numbers above those that are there.
        const csv = csvOfChips(20_000_000 + imported * ++round, imported)
        const [heading, ...uids] = csv.trim().split('\n')
        const file = join(home, `import-${round}.csv`)
        writeFileSync(file, `${[heading, ...shuffled(uids)].join('\n')}\n`)
        const into = ['--chip-group', 'Imported', '--key-set', String(keySet.id)]
        return run(daemon, 'chips', 'import', '--file', file, ...into, '--yes')
      },
    },
    {
      name: `an apply of ${imported.toLocaleString('en')}`,
      work: (daemon) => {
        const file = join(home, 'apply.csv')
        const redirectUrl = `https://example.com/apply/${++round}`
        const lines = range(0, imported).map((n) => `${uidOf(n)},${redirectUrl}`)
        writeFileSync(file, `uid,redirectUrl\n${lines.join('\n')}\n`)
        return run(daemon, 'chips', 'apply', '--file', file, '--yes')
      },
    },
    {
      name: `an edit of a group of ${edited.toLocaleString('en')}`,
      work: (daemon) => {
        const redirectUrl = `https://example.com/${++round}`
        return run(daemon, 'chips', 'edit', '--chip-group', 'Edited', '--redirect-url', redirectUrl, '--yes')
      },
    },
  ]
}

/** Reads an answer of any length, and keeps nothing of it. @throws Error where it is not a 200 */
async function readAll(daemon, path) {
  const headers = { 'x-svc-api-key': apiKey, authorization: `Bearer ${adminToken}` }
  const answer = await fetch(daemon.url + path, { headers })
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${await answer.text()}`)
  for await (const _ of answer.body);
}

function withDatabase(file, work) {
  const db = new BetterSqlite3(file)
  try {
    db.pragma('busy_timeout = 20000')
    return work(db)
  } finally {
    db.close()
  }
}

/** A few old taps of what there is little of, which a list must not look for among all. */
const addRare = (file) =>
  withDatabase(file, (db) =>
    db.exec(`insert into taps (at, chipUid, teamId, keySetId, counter, outcome, via)
      select '2025-06-01T00:00:00.000Z', uid, (select id from teams where name = 'Quiet'), keySetId, 1, 'disabled', 'find'
      from chips`),
  )

/** Makes a group of the first of them. */
const moveChips = (file, count) =>
  withDatabase(file, (db) => {
    db.prepare(
      `update chips set chipGroupId = (select id from chipGroups where name = 'Edited')
       where uid in (select uid from chips order by uid limit ?)`,
    ).run(count)
    db.exec('update chipGroups set chips = (select count(*) from chips where chipGroupId = chipGroups.id)')
  })

/** What housekeeping removes at the next start. */
const addExpired = (file) =>
  withDatabase(file, (db) =>
    db
      .prepare(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
         insert into idempotencyKeys (scope, key, requestHash, answer, createdAt, expiresAt)
         select 'bench', 'expired' || i, hex(zeroblob(32)), hex(zeroblob(100)), '${longAgo}', '${longAgo}' from n`,
      )
      .run(expired),
  )

async function untilTidy(file) {
  const left = () =>
    withDatabase(file, (db) =>
      db.prepare("select 1 from idempotencyKeys where scope = 'bench' limit 1").get(),
    )
  while (left() !== undefined) await sleep(50)
}

/** @returns how long taps that came meanwhile took @throws Error where one was refused */
async function tapUnderLock(file, daemon, paths) {
  const taps = await withLock(file, async () => {
    const waiting = Promise.all(paths.map((path) => call(daemon, 'GET', path)))
    waiting.catch(() => undefined)
    await sleep(lockedMs)
    return () => waiting
  })
  const answers = await taps()
  if (!answers.every(({ text }) => text().includes('"isValidTap":true')))
    throw new Error('a tap that came while the database was locked was refused')
  return answers.map(({ ms }) => ms)
}

async function withLock(file, work) {
  const db = new BetterSqlite3(file)
  try {
    db.exec('BEGIN IMMEDIATE')
    return await work()
  } finally {
    if (db.inTransaction) db.exec('ROLLBACK')
    db.close()
  }
}
