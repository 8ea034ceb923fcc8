import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { csvOfChips, range, uidDecimal } from '../lib/chips.mjs'
import { adminToken, cliScript, importChips, keySet, startDaemon } from '../lib/daemon.mjs'
import { watchCpu, watchMemory } from '../lib/machine.mjs'
import { peakOf, startHelper } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'

/** One import, with the start of its daemon. */
const partSeconds = 90

/** Registering chips from a CSV file, against INSERTs of the same rows into the same empty database. */
export async function measureImport({ cores, dir, announce, rounds, chips }) {
  const empty = dir('import-empty')
  await (await startDaemon(cores.server, empty)).stop()
  const csv = csvOfChips(0, chips)
  const file = join(dir('import-file'), 'chips.csv')
  writeFileSync(file, csv)
  const uids = range(0, chips).map(uidDecimal)
  const count = chips.toLocaleString('en')
  const [post, cli] = announce(
    row(`CSV import of ${count} chips, POST alone`),
    row(`CSV import of ${count} chips, tapchip chips import`, 2),
  )
  cli.notes.push('the whole command, from its start to its exit: what the bar is about')

  for (let round = 0; round < rounds; round++) {
    const raw = () => inCopy(dir, empty, (data) => insertRaw(cores, data, uids))
    const limit = await tried([post, cli], partSeconds, raw)
    const against = (row, work) =>
      tried([row], partSeconds, async () =>
        add(row, await inCopy(dir, empty, (data) => measured(cores, data, work)), limit),
      )
    await against(post, (daemon) => importChips(daemon, 'Stock', csv, chips))
    await against(cli, (daemon) => runCli(cores, dir('import-home'), daemon, file))
  }
  for (const [what, most, bar] of [
    ['the command', cli.command, 100],
    ['the daemon, beyond what it took before', cli.daemon, 150],
  ])
    if (most !== undefined)
      cli.notes.push(`${most > bar ? 'WRONG: ' : ''}at most ${Math.round(most)} MB in ${what}, of ${bar}`)
}

const row = (name, bar) => ({
  name,
  bar,
  peer: 'raw INSERTs',
  unit: 'ms',
  values: [],
  peers: [],
  ratios: [],
  share: [],
  notes: [],
})

function add(into, mine, limit) {
  if (mine.chips !== limit.rows)
    throw new Error(`${mine.chips} chips were imported, ${limit.rows} by raw SQL`)
  into.values.push(mine.ms)
  into.peers.push(limit.ms)
  into.ratios.push(mine.ms / limit.ms)
  if (mine.share !== undefined) into.share.push(mine.share)
  if (mine.megabytes !== undefined) into.command = Math.max(into.command ?? 0, mine.megabytes)
  if (mine.grown !== undefined) into.daemon = Math.max(into.daemon ?? 0, mine.grown)
}

/** Work on a copy of a data directory, which goes away again. */
async function inCopy(dir, from, work) {
  const data = dir('import-data')
  // Sockets cannot be copied.
  cpSync(from, data, { recursive: true, filter: (path) => !path.endsWith('.sock') })
  try {
    return await work(data)
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

async function insertRaw(cores, data, uids) {
  const file = join(data, 'tapchip.db')
  const { chipGroupId, teamId } = query(
    file,
    'select id as "chipGroupId", "teamId" from "chipGroups" where name = \'Stock\'',
  )
  const raw = startHelper(cores.server, fileURLToPath(new URL('../peers/raw-sql.mjs', import.meta.url)))
  await raw.ask({ op: 'open', file })
  const result = await raw.ask({ op: 'insert', uids, teamId, chipGroupId, keySetId: keySet.id })
  await raw.end()
  return result
}

async function measured(cores, data, work) {
  const daemon = await startDaemon(cores.server, data)
  const share = watchCpu(daemon.pid)
  const memory = watchMemory(daemon.pid)
  const { ms, megabytes } = await work(daemon)
  const [used, grown] = [share(), memory()]
  await daemon.stop()
  return {
    ms,
    megabytes,
    grown,
    share: used,
    chips: query(daemon.databaseFile, 'select count(*) as count from chips').count,
  }
}

async function runCli(cores, home, daemon, file) {
  const launcher = startHelper(cores.load, fileURLToPath(new URL('../lib/launcher.mjs', import.meta.url)))
  const args = [
    ...peakOf,
    cliScript,
    'chips',
    'import',
    '--file',
    file,
    '--chip-group',
    'Stock',
    '--key-set',
    String(keySet.id),
  ]
  const env = {
    TAPCHIP_URL: daemon.url,
    TAPCHIP_ADMIN_TOKEN: adminToken,
    HOME: home,
    XDG_STATE_HOME: home,
    XDG_CONFIG_HOME: home,
  }
  const result = await launcher.ask({ op: 'run', command: process.execPath, args, env })
  await launcher.end()
  return result
}

function query(file, sql) {
  const db = new BetterSqlite3(file)
  try {
    return db.prepare(sql).get()
  } finally {
    db.close()
  }
}
