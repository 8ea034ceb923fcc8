import { fileURLToPath } from 'node:url'
import { csvOfChips, range, uidHex } from '../lib/chips.mjs'
import { importChips, startDaemon } from '../lib/daemon.mjs'
import { cpuSeconds, cpuSecondsWithChildren } from '../lib/machine.mjs'
import { pgbench, startDatabase } from '../lib/postgres.mjs'
import { startHelper, startServer } from '../lib/processes.mjs'
import { spread } from '../lib/stats.mjs'
import { digits } from '../lib/table.mjs'
import { tried } from '../lib/within.mjs'
import { connections, freshTaps, stretch, warmUp } from './http.mjs'

const chips = 20_000
const partSeconds = 60
/** What the server's part is compared with: the least that a tap could be there. */
const rows = 20_000
const clients = 18
const script = [
  `\\set id random(1, ${rows})`,
  'begin;',
  'update counted set counter = counter + 1 where id = :id;',
  'insert into noted (id, at) values (:id, now());',
  'commit;',
].join('\n')

const row = (name, peer, bar) => ({
  ...{ name, unit: 'µs', peer, bar, isAbsolute: true },
  ...{ values: [], peers: [], ratios: [], notes: [] },
})

/** What a valid tap costs the processor where the database is a PostgreSQL server: there, and in the daemon. */
export async function measurePostgresTap({
  cores,
  dir,
  announce,
  nextRound,
  rounds,
  window: seconds,
  tapMaker,
}) {
  const [server, own] = announce(
    row('CPU of PostgreSQL for a valid tap, durable', 'an UPDATE and an INSERT by pgbench', 60),
    row('CPU of the daemon for a valid tap on PostgreSQL', 'a Fastify hello', 120),
  )
  const database = await startDatabase()
  const hello = await startServer(undefined, [fileURLToPath(new URL('../peers/hello.mjs', import.meta.url))])
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const daemon = await startDaemon(undefined, dir('postgres-tap'), undefined, undefined, database.env)
  const [ratesOf, logged] = [[], []]
  try {
    await importChips(daemon, 'Taps', csvOfChips(0, chips), chips)
    await database.ask('create table counted (id int primary key, counter int not null)')
    await database.ask(
      'create table noted (n bigserial primary key, id int not null, at timestamptz not null)',
    )
    await database.ask(`insert into counted select n, 0 from generate_series(1, ${rows}) n`)
    await database.ask('vacuum analyze')
    const find = (index, counter) => `/chips/find?${tapMaker.query(uidHex(index), counter)}`
    const mine = { ...freshTaps(range(0, chips), find), server: daemon.pid, port: daemon.port }
    const helloRun = { server: hello.pid, port: Number(new URL(hello.ready.url).port), paths: () => ['/'] }
    const lsn = async () => BigInt((await database.ask(`select pg_current_wal_lsn() - '0/0' as at`))[0].at)
    await warmUp(load, mine, Math.max(1, seconds / 2))
    await warmUp(load, helloRun, 1)
    // A page is written whole once after a checkpoint, which is no part of a tap.
    await database.ask('checkpoint')
    await stretch(load, mine, Math.max(1, seconds / 2))
    for (let round = 0; round < rounds; round++) {
      await nextRound()
      await tried([server, own], partSeconds, async () => {
        const spent = () => ({ server: cpuSecondsWithChildren(database.pid), daemon: cpuSeconds(daemon.pid) })
        const least = await stretch(load, helloRun, seconds / 2)
        const start = spent()
        const benchRate = await pgbench(database, { dir: dir('pgbench'), clients, seconds: 2, script })
        const from = spent()
        const [lsnFrom, before] = [await lsn(), mine.answered]
        const { rate } = await stretch(load, mine, seconds)
        const to = spent()
        const taps = mine.answered - before
        logged.push(Number((await lsn()) - lsnFrom) / taps)
        ratesOf.push(rate)
        add(server, perOne(from.server, to.server, taps), perOne(start.server, from.server, benchRate * 2))
        add(own, perOne(from.daemon, to.daemon, taps), (least.share / least.rate) * 1e6)
      })
    }
    own.notes.push(...mine.problems)
    const [{ count }] = await database.ask(`select count(*) from taps where outcome = 'valid'`)
    own.notes.push(
      `${mine.answered} fresh taps were answered; ${count} valid ones are in the database${Number(count) === mine.answered ? '' : ': WRONG'}`,
    )
    if (ratesOf.length > 0)
      own.notes.push(`${digits(spread(ratesOf).median)}/s over ${connections} connections`)
    if (logged.length > 0) server.notes.push(`${Math.round(spread(logged).median)} bytes of log a tap`)
  } finally {
    await load.end()
    await daemon.stop()
    await database.stop()
  }
}

const perOne = (from, to, count) => ((to - from) / count) * 1e6

function add(into, mine, limit) {
  into.values.push(mine)
  into.peers.push(limit)
  into.ratios.push(mine / limit)
}
