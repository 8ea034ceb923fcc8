// node bench/scale.mjs [--chips 10000,1000000,20000000] [--taps 50000000] [--rounds 20]: taps on databases of growing size on
// one durable PostgreSQL server, in turn, with what a row and an index take there. The largest one has the taps. Needs
// some 30 GB and a quarter of an hour. Prints JSON, which docs/scale.md is made of.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { uidDecimal, uidHex } from './lib/chips.mjs'
import { call, keySet, startDaemon } from './lib/daemon.mjs'
import { loadTapMaker } from './lib/load-tap-maker.mjs'
import { startDatabase } from './lib/postgres.mjs'
import { endAll } from './lib/processes.mjs'
import { percentiles } from './lib/stats.mjs'

const { values: options } = parseArgs({
  options: {
    chips: { type: 'string', default: '10000,1000000,20000000' },
    taps: { type: 'string', default: '50000000' },
    rounds: { type: 'string', default: '20' },
  },
})
const sizes = options.chips.split(',').map(Number)
const taps = Number(options.taps)
const rounds = Number(options.rounds)
/** One round at one database. */
const tapsARound = 100
const months = 12

const place = mkdtempSync(join(tmpdir(), 'tapchip-scale-'))
const server = await startDatabase()
const said = (text) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)

/** A database of its own with so many chips, and the daemon on it. */
async function prepare(chips, recorded) {
  const name = `scale_${chips}`
  const client = new pg.Client({ connectionString: `${server.url}/postgres` })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  const url = `${server.url}/${name}`
  const dir = join(place, name)
  mkdirSync(dir)
  const start = () =>
    startDaemon(undefined, dir, undefined, undefined, { ...server.env, TAPCHIP_DATABASE_URL: url })
  await (await start()).stop()
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  await db.query("set synchronous_commit = off; set maintenance_work_mem = '512MB'")
  const [first, step] = [Number(uidDecimal(0)), Number(uidDecimal(1)) - Number(uidDecimal(0))]
  const millions = 1_000_000
  for (let at = 0; at < chips; at += millions) {
    const upTo = Math.min(chips, at + millions) - 1
    await db.query(
      `insert into chips (uid, "teamId", "chipGroupId", family, "keySetId", generation, "lastCounter", simulated, "createdAt")
       select (${first} + i * ${step}::bigint)::text, g."teamId", g.id, 'ntag424', ${keySet.id}, 0, -1, 0, '2026-01-01T00:00:00.000Z'
       from generate_series(${at}::bigint, ${upTo}::bigint) i, (select id, "teamId" from "chipGroups" where name = 'Stock') g`,
    )
  }
  await db.query(`update "chipGroups" set chips = $1 where name = 'Stock'`, [chips])
  said(`${name}: ${chips} chips`)
  for (let month = 0; recorded > 0 && month < months; month++) {
    const [from, to] = [month, month + 1].map((of) =>
      new Date(Date.UTC(2025, of, 1)).toISOString().slice(0, 7),
    )
    const share = Math.floor(recorded / months)
    // Of any chip, in the order of time, as taps come.
    await db.query(
      `create table taps_${from.replace('-', '_')} partition of taps for values from ('${from}') to ('${to}')`,
    )
    await db.query(
      `insert into taps (at, "chipUid", "teamId", "keySetId", counter, outcome, via)
       select to_char(timestamp '${from}-01' + i * interval '28 days' / ${share}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
         (${first} + ((i * 7919) % ${chips}) * ${step}::bigint)::text, g."teamId", ${keySet.id}, ${month}, 'valid', 'find'
       from generate_series(0::bigint, ${share - 1}::bigint) i, (select "teamId" from "chipGroups" where name = 'Stock') g`,
    )
    said(`${name}: ${(month + 1) * share} taps`)
  }
  await db.query('vacuum analyze')
  return { chips, db, daemon: await start(), waits: [], counter: 0 }
}

/** Bytes a row of a table and its indexes, and how many pages deep the indexes are. */
async function measure(db, table, rows) {
  await db.query('create extension if not exists pageinspect')
  const { rows: found } = await db.query(
    `select c.relname as name, c.relkind as kind, am.amname as method, pg_relation_size(c.oid) as bytes
     from pg_class c left join pg_am am on am.oid = c.relam
     where c.oid = $1::regclass or c.oid in (select indexrelid from pg_index where indrelid = $1::regclass) order by c.oid`,
    [table],
  )
  const shown = []
  for (const { name, kind, method, bytes } of found) {
    const depth =
      method === 'btree'
        ? Number((await db.query('select level from bt_metap($1)', [`"${name}"`])).rows[0].level) + 1
        : undefined
    shown.push({
      name,
      is: kind === 'i' ? 'index' : 'table',
      bytesARow: Number((Number(bytes) / rows).toFixed(1)),
      depth,
    })
  }
  return shown
}

try {
  const tapMaker = await loadTapMaker(place)
  const databases = []
  for (const chips of sizes) databases.push(await prepare(chips, chips === Math.max(...sizes) ? taps : 0))
  const tap = async (of, index) => {
    const { ms, text } = await call(
      of.daemon,
      'GET',
      `/chips/find?${tapMaker.query(uidHex(index), of.counter)}`,
    )
    if (!text().includes('"isValidTap":true')) throw new Error(text())
    return ms
  }
  for (let round = -1; round < rounds; round++)
    for (const of of databases) {
      of.counter += 1
      for (let at = 0; at < tapsARound; at++) {
        // All over the chips, the same at every run.
        const ms = await tap(of, ((round + 2) * 1_000_003 + at * 7_368_787) % of.chips)
        if (round >= 0) of.waits.push(ms)
      }
    }
  const largest = databases.at(-1)
  const month = `taps_2025_01`
  const result = {
    latencies: databases.map(({ chips, waits }) => {
      const [p50, p99, p999] = percentiles(waits).map((ms) => Number(ms.toFixed(2)))
      return { chips, taps: waits.length, p50, p99, p999 }
    }),
    chips: await measure(largest.db, 'chips', largest.chips),
    taps: taps > 0 ? await measure(largest.db, month, Math.floor(taps / months)) : [],
  }
  process.stdout.write(`${JSON.stringify(result, null, 1)}\n`)
  for (const { db, daemon } of databases) await Promise.all([db.end(), daemon.stop()])
} finally {
  await endAll()
  await server.stop()
  rmSync(place, { recursive: true, force: true })
}
