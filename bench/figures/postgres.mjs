import { mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { csvOfChips, range, uidDecimal, uidHex } from '../lib/chips.mjs'
import { call, importChips, startDaemon } from '../lib/daemon.mjs'
import { cpuSeconds, cpuSecondsWithChildren } from '../lib/machine.mjs'
import { pgbench, scriptOf, startDatabase } from '../lib/postgres.mjs'
import { recordStatements } from '../lib/postgres-statements.mjs'
import { startHelper } from '../lib/processes.mjs'
import { median } from '../lib/stats.mjs'
import { tried } from '../lib/within.mjs'
import { freshTaps, stretch } from './http.mjs'

const tapped = 20_000
const listed = 100_000
/** As many as the daemon has connections for taps. */
const clients = 18
const partSeconds = 120

/** The daemon on a durable PostgreSQL server, against what the server does by itself, beside the daemon on SQLite. */
export async function measurePostgres({ cores, dir, announce, rounds, window: seconds, chips, tapMaker }) {
  // Server, daemon and load share the cores, as they do with the server's own load.
  const [taps, list, imported] = announce(
    row('valid tap on PostgreSQL, durable', '/s', 'pgbench, the same statements', 0.5),
    row('list of 100,000 chips on PostgreSQL', 'ms', 'on SQLite'),
    row(`CSV import of ${chips.toLocaleString('en')} chips on PostgreSQL`, 'ms', 'COPY of the same rows', 3),
  )
  const database = await startDatabase()
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const daemon = await startDaemon(undefined, dir('postgres'), undefined, undefined, database.env)
  const lite = await startDaemon(undefined, dir('sqlite'))
  try {
    for (const one of [daemon, lite]) {
      await importChips(one, 'Taps', csvOfChips(0, 2 * tapped), 2 * tapped)
      await importChips(one, 'List', csvOfChips(2 * tapped, listed), listed)
    }
    await database.ask('vacuum analyze')
    const find = (index, counter) => `/chips/find?${tapMaker.query(uidHex(index), counter)}`
    const runOf = ({ pid, port }) => ({ ...freshTaps(range(0, tapped), find), server: pid, port })
    const [mine, beside] = [runOf(daemon), runOf(lite)]
    const script = await tapScript(database, daemon, tapMaker)
    const peer = () => pgbench(database, { dir: dir('pgbench'), clients, seconds, ...script })
    await stretch(load, mine, 1)
    const onSqlite = []
    const cpu = []
    for (let round = 0; round < rounds; round++) {
      await tried([taps], partSeconds, async () => {
        const spent = () => [cpuSecondsWithChildren(database.pid), cpuSeconds(daemon.pid)]
        const before = spent()
        const limit = await peer()
        const between = spent()
        script.variables.n += 100_000
        const answered = mine.answered
        const { rate } = await stretch(load, mine, seconds)
        const after = spent()
        const perTap = (from, to, taps) => Math.round(((to - from) / taps) * 1e6)
        cpu.push([
          perTap(before[0], between[0], limit * seconds),
          perTap(between[0], after[0], mine.answered - answered),
          perTap(between[1], after[1], mine.answered - answered),
        ])
        onSqlite.push((await stretch(load, beside, seconds)).rate)
        add(taps, rate, limit)
      })
      await tried([list], partSeconds, async () => {
        const path = '/chips?name=List'
        add(list, (await call(daemon, 'GET', path)).ms, (await call(lite, 'GET', path)).ms)
      })
    }
    taps.notes.push(
      ...mine.problems,
      `the daemon on SQLite: ${Math.round(onSqlite.sort((a, b) => a - b)[onSqlite.length >> 1])}/s`,
    )
    const [alone, server, own] = [0, 1, 2].map((part) => median(cpu.map((one) => one[part])))
    taps.notes.push(`CPU a tap: server ${server} µs and daemon ${own} µs; server under pgbench ${alone} µs`)
    const countOf = async (condition) => {
      const query = `select count(*) from taps where outcome = 'valid' and "chipUid" ${condition}`
      return Number((await database.ask(query, [uidDecimal(tapped)]))[0].count)
    }
    const [count, byPgbench] = [await countOf('< $1'), await countOf('>= $1')]
    taps.notes.push(
      `${mine.answered} fresh taps were answered; ${count} valid ones are in the database${count === mine.answered ? '' : ': WRONG'}, and ${byPgbench} of pgbench`,
    )
  } finally {
    await Promise.all([daemon.stop(), lite.stop()])
  }
  for (let round = 0; round < rounds; round++)
    await tried([imported], partSeconds, () => importOnce(imported, { dir, database, chips }))
  await load.end()
  await database.stop()
}

const row = (name, unit, peer, bar) => ({
  name,
  unit,
  peer,
  bar,
  values: [],
  peers: [],
  ratios: [],
  share: [],
  notes: [],
})

function add(into, mine, limit) {
  into.values.push(mine)
  into.peers.push(limit)
  into.ratios.push(mine / limit)
}

/** Taps of chips of its own, each client of others. */
async function tapScript(database, daemon, tapMaker) {
  // Of a chip that nothing else taps, and that was tapped before.
  const [index, counter] = [2 * tapped - 1, 424_242]
  const tap = async (n) => {
    const { text } = await call(daemon, 'GET', `/chips/find?${tapMaker.query(uidHex(index), n)}`)
    if (!text().includes('"isValidTap":true')) throw new Error(text())
  }
  await tap(1)
  const places = new Map([
    [uidDecimal(index), ':uid'],
    [String(counter), ':n'],
  ])
  const statements = await recordStatements(database, [...places.keys()], () => tap(counter))
  const [first, step] = [Number(uidDecimal(tapped)), Number(uidDecimal(1)) - Number(uidDecimal(0))]
  const script = [
    '\\set n :n + 1',
    `\\set uid ${first} + ${step} * (:client_id + ${clients} * random(0, ${Math.floor(tapped / clients) - 1}))`,
    ...statements.map((statement) => scriptOf(statement, places)),
  ].join('\n')
  return { script, variables: { n: counter } }
}

/** A million chips into an empty group, and the same rows by COPY into the same empty table. */
async function importOnce(into, { dir, database, chips }) {
  const place = dir('import')
  mkdirSync(place, { recursive: true })
  await database.ask(`truncate chips cascade; update "chipGroups" set chips = 0`)
  const daemon = await startDaemon(undefined, place, undefined, undefined, database.env)
  const mine = await importChips(daemon, 'Stock', csvOfChips(10_000_000, chips), chips)
  await daemon.stop()
  const file = `${database.data}/chips.copy`
  await database.ask(`copy chips to '${file}'`)
  await database.ask('truncate chips cascade')
  const start = performance.now()
  await database.ask(`copy chips from '${file}'`)
  add(into, mine.ms, performance.now() - start)
  rmSync(place, { recursive: true, force: true })
}
