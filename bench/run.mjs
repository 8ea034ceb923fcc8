// npm run bench [-- --quick] [--json] [--page] [--only http|bulk|import|chain|chips-curve|connections-curve|console|field|large|nfc|peers|postgres|sheets|starts|tap-page|webhooks|used-ref|…] [--profile FILE] [--beside CHECKOUT]:
// prints one table of what is measured against its limit; --json: one object instead, as lib/results.mjs describes it; --page: measures what docs/performance.md shows and writes that too, with --only
// that part of it. --beside: each figure of another checkout too, built before, in turn with this one's. --profile keeps a CPU profile of the daemon under the HTTP figures. Each figure is a process of its own with a deadline of its own: one that fails or hangs is a row
// that says so, and costs the others nothing. Ends with 1 where a figure failed, and with 2 where it was asked for what there is not.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { httpKeys } from './figures/http.mjs'
import { measureBeside } from './lib/beside.mjs'
import { chooseCores, describeMachine, fileSystemOf } from './lib/machine.mjs'
import { reportOf } from './lib/results.mjs'
import { notesOf, tableOf } from './lib/table.mjs'
import { writePage } from './page.mjs'

/** By name, what each is told; `seconds` is its deadline. */
const full = {
  field: { seconds: 240, rounds: 3, chips: 11, onReaders: 8 },
  http: { seconds: 180, rounds: 5, window: 1.5 },
  bulk: { seconds: 180, rounds: 5 },
  import: { seconds: 240, rounds: 3, chips: 1_000_000 },
  'chips-curve': { seconds: 240, rounds: 3, window: 0.8, sizes: [1e3, 1e4, 1e5, 1e6] },
  'connections-curve': { seconds: 240, rounds: 3, window: 0.6, most: 512 },
  chain: { seconds: 360, rounds: 5, tokens: 1000, waited: 100, blockSeconds: 2 },
  console: { seconds: 300, rounds: 3, window: 8 },
  large: { seconds: 480, chips: 1_000_000, taps: 5_000_000, edited: 200_000, atLeast: 10 },
  nfc: { seconds: 180, rounds: 5, chips: 11 },
  peers: { seconds: 180, rounds: 5, window: 1.5 },
  postgres: { seconds: 480, rounds: 3, window: 3, chips: 1_000_000 },
  'postgres-tap': { seconds: 180, rounds: 5, window: 4 },
  sheets: { seconds: 480, rounds: 5 },
  stall: { seconds: 240, rounds: 1 },
  starts: { seconds: 120, rounds: 15 },
  'tap-bytes': { seconds: 300, taps: 100_000 },
  'tap-page': { seconds: 180, rounds: 5, window: 1.5 },
  'ten-million': { seconds: 300, rounds: 9, window: 1.5, patience: 80, chips: 10_000_000 },
  webhooks: { seconds: 240, rounds: 12, window: 1.5 },
}
const quick = {
  field: { seconds: 120, rounds: 1, chips: 6, onReaders: 5 },
  http: { seconds: 90, rounds: 2, window: 0.8 },
  bulk: { seconds: 90, rounds: 2 },
  import: { seconds: 120, rounds: 1, chips: 1_000_000 },
  'chips-curve': { seconds: 120, rounds: 1, window: 0.5, sizes: [1e3, 1e4, 1e5] },
  'connections-curve': { seconds: 120, rounds: 1, window: 0.3, most: 128 },
  chain: { seconds: 240, rounds: 2, tokens: 500, waited: 40, blockSeconds: 1 },
  console: { seconds: 150, rounds: 1, window: 5 },
  large: { seconds: 240, chips: 200_000, taps: 1_000_000, edited: 100_000, atLeast: 4 },
  nfc: { seconds: 90, rounds: 2, chips: 6 },
  peers: { seconds: 90, rounds: 2, window: 0.8 },
  postgres: { seconds: 240, rounds: 1, window: 2, chips: 200_000 },
  'postgres-tap': { seconds: 120, rounds: 2, window: 2 },
  sheets: { seconds: 240, rounds: 1 },
  stall: { seconds: 180, rounds: 1 },
  starts: { seconds: 90, rounds: 5 },
  'tap-bytes': { seconds: 90, taps: 20_000 },
  'tap-page': { seconds: 90, rounds: 2, window: 0.8 },
  'ten-million': { seconds: 120, rounds: 3, window: 1.5, patience: 40, chips: 1_000_000 },
  webhooks: { seconds: 120, rounds: 2, window: 0.8 },
}

const curves = ['chips-curve', 'connections-curve']
/** They take minutes, or a browser: measured where they are asked for. */
const asked = [...curves, 'console', 'ten-million']

/** For the page: as many chips as fit into minutes, and a part of the figures, so that it takes a quarter of an hour. */
const onPage = ['http', 'peers', ...curves]
const paged = {
  ...full,
  'chips-curve': { ...full['chips-curve'], seconds: 600, sizes: [1e3, 1e4, 1e5, 1e6, 1e7] },
}

function refuse(why) {
  process.stderr.write(`${why}\n`)
  process.exit(2)
}

function readOptions() {
  const flag = { type: 'boolean' }
  const known = { quick: flag, json: flag, page: flag }
  try {
    const more = {
      only: { type: 'string', multiple: true },
      profile: { type: 'string' },
      beside: { type: 'string' },
    }
    return parseArgs({ options: { ...known, ...more } }).values
  } catch (error) {
    return refuse(error.message)
  }
}

const options = readOptions()
if (options.quick && options.page) refuse('The page takes more than --quick measures.')
const plans = options.quick ? quick : options.page ? paged : full
const unasked = options.page ? onPage : Object.keys(plans).filter((name) => !asked.includes(name))
const only = options.only ?? unasked
const known = [...Object.keys(plans), ...httpKeys]
const unknown = only.find((name) => !known.includes(name))
if (unknown !== undefined) refuse(`There is no figure "${unknown}". There are ${known.join(', ')}.`)
const names = Object.keys(plans).filter(
  (name) => only.includes(name) || (name === 'http' && only.some((one) => httpKeys.includes(one))),
)
const beside = options.beside === undefined ? undefined : resolve(options.beside)
if (beside !== undefined && options.page) refuse('The page shows one checkout.')
if (beside !== undefined && !existsSync(join(beside, 'dist')))
  refuse(`${beside} is no checkout that is built.`)
const profile = options.profile === undefined ? undefined : resolve(options.profile)

/** A directory on a disk: one in memory would make every write durable for nothing. */
function temporaryRoot() {
  const places = [tmpdir(), '/var/tmp'].filter((place) => !/^(tmpfs|ramfs)$/.test(fileSystemOf(place)))
  return mkdtempSync(join(realpathSync(places[0] ?? tmpdir()), 'tapchip-bench-'))
}

const root = temporaryRoot()
const running = new Set()
process.on('exit', () => {
  for (const child of running) killAllOf(child)
  rmSync(root, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

/** A figure and all that it started: they are a process group. */
function killAllOf(child) {
  if (child?.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // None of them is left.
  }
}

// What a figure is given beyond its deadline, to end in order what it started.
const graceMs = 30_000

const cores = chooseCores()

/**
 * @param checkout another than this @param turns with it, where it must not work at the same time
 * @returns its rows; where it could not tell, one that says why
 */
async function measure(name, { seconds, ...plan }, checkout, turns) {
  const place = mkdtempSync(join(root, `${name}-`))
  await turns?.take()
  const child = fork(fileURLToPath(new URL('figure.mjs', import.meta.url)), {
    detached: true,
    serialization: 'advanced',
    env: { ...process.env, ...(checkout === undefined ? {} : { TAPCHIP_BENCH_CHECKOUT: checkout }) },
  })
  running.add(child)
  const gone = once(child, 'exit')
  let answer
  let hasTurn = true
  child.on('message', async (message) => {
    if (message.rows) answer = message
    if (!message.isRoundOver) return
    hasTurn = false
    turns?.give()
    await turns?.take()
    if (!child.connected) {
      turns?.give()
      return
    }
    hasTurn = true
    child.send('next')
  })
  let isLate = false
  const impatient = setTimeout(
    () => {
      isLate = true
      killAllOf(child)
    },
    seconds * 1000 + graceMs,
  )
  child.send({ name, plan, seconds, place, cores, only, profile })
  const [code, signal] = await gone
  if (hasTurn) turns?.give()
  clearTimeout(impatient)
  killAllOf(child)
  running.delete(child)
  rmSync(place, { recursive: true, force: true })
  if (answer) return answer.rows
  const how = isLate ? `it was not done after ${seconds} s` : `it ended with ${signal ?? code}`
  return [{ name, error: how }]
}

const started = Date.now()
const rows = []
for (const name of names) {
  const begun = Date.now()
  process.stderr.write(`measuring ${name} …`)
  const on = (plan, checkout, turns) => measure(name, plan, checkout, turns)
  const measured = await (beside ? measureBeside(on, plans[name], beside) : on(plans[name]))
  for (const row of measured) rows.push({ ...row, figure: name })
  process.stderr.write(` ${Math.round((Date.now() - begun) / 1000)} s\n`)
}

const failed = rows.filter(({ error }) => error !== undefined).length
const seconds = Math.round((Date.now() - started) / 1000)
const fileSystem = fileSystemOf(root)
const table = () => {
  const notes = [
    `${describeMachine()}; ${cores.note}; data on ${fileSystem}, synchronous FULL`,
    `medians of interleaved rounds; ${seconds} s${options.quick ? ', --quick' : ''}`,
    ...notesOf(rows),
    ...(failed > 0 ? [`${failed} of ${rows.length} figures failed.`] : []),
  ]
  return `${tableOf(rows)}\n\n${notes.join('\n')}`
}
const report = () =>
  reportOf(rows, {
    ...{ at: new Date(started).toISOString(), machine: describeMachine(), cores: cores.note, fileSystem },
    ...{ seconds, isQuick: options.quick === true, failed },
  })
process.stdout.write(`${options.json ? JSON.stringify(report(), null, 2) : table()}\n`)
if (options.page) writePage(report())
process.exitCode = failed > 0 ? 1 : 0
