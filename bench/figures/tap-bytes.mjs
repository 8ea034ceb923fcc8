import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { csvOfChips, range, shuffled, uidHex } from '../lib/chips.mjs'
import { call, importChips, startDaemon } from '../lib/daemon.mjs'
import { startHelper } from '../lib/processes.mjs'
import { connections } from './http.mjs'

const chips = 20_000
/** Of the taps, those whose log is kept whole. */
const logged = 6400
/** No end but that of the taps. */
const patience = 240

const row = (name) => ({ name, unit: 'B', isAbsolute: true, values: [], peers: [], ratios: [], notes: [] })

/** What a valid tap with a redirect leaves in the database for good, and what it writes on the way there. */
export async function measureTapBytes({ cores, dir, announce, taps, tapMaker }) {
  const [kept, log, disk] = announce(
    row('bytes of database that a tap with a redirect leaves'),
    row('bytes of log that it writes'),
    row('bytes that it writes to the disk, all in all'),
  )
  const place = dir('tap-bytes')
  const first = await startDaemon(cores.server, place)
  const { databaseFile } = first
  await importChips(
    first,
    'Redirected',
    csvOfChips(0, chips, [['redirectUrl', 'https://example.com/chip']]),
    chips,
  )
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const order = shuffled(range(0, chips))
  let made = 0
  const tap = async (daemon, count) => {
    const paths = Array.from({ length: count }, () => {
      const at = made++
      return `/t?${tapMaker.query(uidHex(order[at % chips]), Math.floor(at / chips) + 1)}`
    })
    await load.ask({ op: 'prepare', paths, once: true })
    const seen = { port: daemon.port, connections, seconds: patience, status: '302', expect: 'svcRef=' }
    const { answered, wrong, sample } = await load.ask({ op: 'run', ...seen })
    if (answered !== count || wrong > 0)
      throw new Error(`${answered} of ${count} were answered, ${wrong} of them wrong, such as ${sample}`)
  }
  // Each chip once, since what it says of its last tap takes room the first time only.
  await tap(first, chips)
  await first.stop()

  const before = sizes(databaseFile)
  const daemon = await startDaemon(cores.server, place)
  // What it does at its start is no tap's.
  await call(daemon, 'GET', '/healthz')
  const whole = taps - logged
  const written = bytesWritten(daemon.pid)
  await tap(daemon, whole)
  const wrote = bytesWritten(daemon.pid)
  if (written !== undefined && wrote !== undefined) disk.values.push((wrote - written) / whole)

  await loggedBeside(databaseFile, async (logOf) => {
    const from = logOf()
    await tap(daemon, logged)
    const to = logOf()
    log.values.push(((to.frames - from.frames) * (to.page + frameHead)) / logged)
    log.notes.push(`${(logged / (to.commits - from.commits)).toFixed(1)} taps share a commit`)
  })
  await daemon.stop()
  await load.end()

  const after = sizes(databaseFile)
  const growth = (name) => ((after.get(name) ?? 0) - (before.get(name) ?? 0)) / taps
  kept.values.push(growth(all))
  const parts = [...after.keys()]
    .filter((name) => name !== all)
    .map((name) => ({ name, bytes: growth(name) }))
    .filter(({ bytes }) => Math.abs(bytes) >= 0.5)
    .sort((one, other) => other.bytes - one.bytes)
  kept.notes.push(
    `${taps.toLocaleString('en')} taps; ${parts.map(({ name, bytes }) => `${name} ${bytes.toFixed(1)}`).join(', ')}`,
  )
}

const all = ' all of it'
const frameHead = 24

/** Bytes by table and index after a checkpoint, in pages that are in use. */
function sizes(file) {
  const db = new BetterSqlite3(file)
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
    const [pages, free, page] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
      db.pragma(name, { simple: true }),
    )
    // A page at a time is slow, and not in every build of the driver.
    const parts = hasDbstat(db)
      ? db.prepare('select name, sum(pgsize) from dbstat group by name').raw().all()
      : []
    return new Map([...parts, [all, (pages - free) * page]])
  } finally {
    db.close()
  }
}

const hasDbstat = (db) =>
  db.pragma('compile_options').some(({ compile_options: name }) => name === 'ENABLE_DBSTAT_VTAB')

/** While somebody reads from its beginning, the log cannot begin anew, and all that is written to it is counted. */
async function loggedBeside(file, work) {
  const db = new BetterSqlite3(file, { readonly: true })
  const index = openSync(`${file}-shm`, 'r')
  try {
    db.exec('begin')
    db.prepare('select count(*) from sqlite_schema').get()
    await work(() => {
      // https://www.sqlite.org/walformat.html: the log's index begins so.
      const head = Buffer.alloc(48)
      readSync(index, head, 0, head.length, 0)
      const word = (at) => new Uint32Array(head.buffer, head.byteOffset, 12)[at / 4]
      return { commits: word(8), page: word(12) >>> 16, frames: word(16) }
    })
  } finally {
    closeSync(index)
    db.close()
  }
}

/** Log and checkpoints together, as the kernel counts them; undefined where there is no /proc. */
function bytesWritten(pid) {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
  } catch {
    return undefined
  }
}
