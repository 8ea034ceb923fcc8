// npm run bench [-- --quick] [--only http|bulk|import|chain|nfc|stall|starts|used-ref|…] [--profile FILE]: prints one table of what is
// measured against its limit. --profile keeps a CPU profile of the daemon under the HTTP figures.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { measureBulk } from './figures/bulk.mjs'
import { measureChain } from './figures/chain.mjs'
import { httpKeys, measureHttp } from './figures/http.mjs'
import { measureImport } from './figures/import.mjs'
import { measureNfc } from './figures/nfc.mjs'
import { measureStall } from './figures/stall.mjs'
import { measureStarts } from './figures/starts.mjs'
import { keySet } from './lib/daemon.mjs'
import { chooseCores, describeMachine, fileSystemOf, stayOn } from './lib/machine.mjs'
import { endAll, killAll } from './lib/processes.mjs'
import { profileTo } from './lib/profile.mjs'
import { notesOf, tableOf } from './lib/table.mjs'

const figures = {
  http: measureHttp,
  bulk: measureBulk,
  import: measureImport,
  chain: measureChain,
  nfc: measureNfc,
  stall: measureStall,
  starts: measureStarts,
}
const full = {
  limitMinutes: 8,
  http: { rounds: 5, seconds: 1.5 },
  bulk: { rounds: 5 },
  import: { rounds: 3, chips: 1_000_000 },
  chain: { rounds: 5, tokens: 1000, waited: 100 },
  nfc: { rounds: 5, chips: 11 },
  stall: { rounds: 1 },
  starts: { rounds: 15 },
}
const quick = {
  limitMinutes: 2.5,
  http: { rounds: 2, seconds: 0.8 },
  bulk: { rounds: 2 },
  import: { rounds: 1, chips: 1_000_000 },
  chain: { rounds: 2, tokens: 500, waited: 40 },
  nfc: { rounds: 2, chips: 6 },
  stall: { rounds: 1 },
  starts: { rounds: 5 },
}

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    only: { type: 'string', multiple: true },
    profile: { type: 'string' },
  },
})
const only = options.only ?? Object.keys(figures)
const known = [...Object.keys(figures), ...httpKeys]
const unknown = only.find((name) => !known.includes(name))
if (unknown !== undefined) {
  process.stderr.write(`There is no figure "${unknown}". There are ${known.join(', ')}.\n`)
  process.exit(2)
}
const names = Object.keys(figures).filter(
  (name) => only.includes(name) || (name === 'http' && only.some((one) => httpKeys.includes(one))),
)
const plan = options.quick ? quick : full
const profile = options.profile === undefined ? undefined : profileTo(options.profile)

/** A directory on a disk: one in memory would make every write durable for nothing. */
function temporaryRoot() {
  const places = [tmpdir(), '/var/tmp'].filter((place) => !/^(tmpfs|ramfs)$/.test(fileSystemOf(place)))
  return mkdtempSync(join(realpathSync(places[0] ?? tmpdir()), 'tapchip-bench-'))
}

const root = temporaryRoot()
const dir = (name) => {
  const path = join(root, name)
  mkdirSync(path, { recursive: true })
  return path
}
const clean = () => rmSync(root, { recursive: true, force: true })
process.on('exit', () => {
  killAll()
  clean()
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

async function loadTapMaker() {
  const outfile = join(root, 'tap-maker.mjs')
  const entry = new URL('lib/tap-maker.ts', import.meta.url).pathname
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  const { TapMaker } = await import(outfile)
  return new TapMaker(keySet)
}

const cores = chooseCores()
// This process sends what is sent once, and shall not take the servers' core.
stayOn([cores.load])
const tapMaker = await loadTapMaker()
const started = Date.now()
let isLate = false
const watchdog = setTimeout(() => {
  isLate = true
  killAll()
}, plan.limitMinutes * 60_000)

const rows = []
for (const name of names) {
  if (isLate) {
    rows.push({ name, error: 'the time was over' })
    continue
  }
  const begun = Date.now()
  process.stderr.write(`measuring ${name} …`)
  try {
    rows.push(...(await figures[name]({ cores, dir, tapMaker, only, profile, ...plan[name] })))
  } catch (error) {
    rows.push({ name, error: isLate ? 'the time was over' : (error?.stack ?? String(error)) })
  }
  await endAll()
  process.stderr.write(` ${Math.round((Date.now() - begun) / 1000)} s\n`)
}
clearTimeout(watchdog)

const notes = [
  `${describeMachine()}; ${cores.note}; data on ${fileSystemOf(root)}, synchronous FULL`,
  `medians of interleaved rounds; ${Math.round((Date.now() - started) / 1000)} s${options.quick ? ', --quick' : ''}`,
  ...notesOf(rows),
]
process.stdout.write(`${tableOf(rows)}\n\n${notes.join('\n')}\n`)
process.exitCode = rows.some((row) => row.error !== undefined) ? 1 : 0
