// Prints how many files of src one run of each main way goes through: those of which a function runs between the
// request and its answer. A reader who follows that way has to open as many. `--files` names them.
//   npm run files-touched -- [--files]
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const apiKey = 'svc_demo_only_0000000000000000'
const oneTapChip = '04:98:93:CA:AA:11:90'
const twoTapChip = '04:DE:5F:1E:AC:C0:40'
const state = mkdtempSync(join(tmpdir(), 'tapchip-files-'))

/** Starts an executable that reports which of its functions ran. */
function start(name, args, env = {}) {
  return spawn(
    process.execPath,
    ['--require', './scripts/coverage-recorder.cjs', `bin/${name}.js`, ...args],
    {
      env: { ...process.env, XDG_STATE_HOME: state, ...env },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  )
}

const maps = new Map()
/** The files of src in which the functions at these offsets of a bundle are written. */
function sourcesOf(name, offsets) {
  if (!maps.has(name)) {
    const lineStarts = [0]
    for (const { index } of readFileSync(`dist/${name}.cjs`, 'utf8').matchAll(/\n/g))
      lineStarts.push(index + 1)
    const map = new SourceMap(JSON.parse(readFileSync(`dist/${name}.cjs.map`, 'utf8')))
    maps.set(name, { lineStarts, map })
  }
  const { lineStarts, map } = maps.get(name)
  const files = offsets.map((offset) => {
    const line = lineStarts.findLastIndex((lineStart) => lineStart <= offset)
    return posix.normalize(`dist/${map.findEntry(line, offset - lineStarts[line]).originalSource}`)
  })
  return new Set(files.filter((file) => file.startsWith('src/')))
}

const daemon = start('tapchipd', [
  '--ephemeral',
  '--port',
  '0',
  '--seed',
  'fixtures/demo.json',
  '--log-level',
  'warn',
])
const ready = JSON.parse(String((await once(daemon.stdout, 'data'))[0]))
const adminToken = readFileSync(join(ready.dataDir, 'admin.token'), 'utf8').trim()
const env = {
  TAPCHIP_URL: ready.url,
  TAPCHIP_API_KEY: apiKey,
  TAPCHIP_ADMIN_TOKEN: adminToken,
  NO_COLOR: '1',
}

/** The files that the daemon has gone through since it was last asked. */
async function daemonFiles() {
  daemon.send('report')
  return sourcesOf('tapchipd', (await once(daemon, 'message'))[0])
}

/** Runs a command. @returns what it printed, and the files that it went through */
async function tapchip(...args) {
  const child = start('tapchip', args, env)
  const closed = once(child, 'close')
  let stdout = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  const [offsets] = await once(child, 'message')
  const [code] = await closed
  if (code !== 0) throw new Error(`tapchip ${args.join(' ')} ended with ${code}:\n${stdout}`)
  return { stdout, files: sourcesOf('tapchip', offsets) }
}

const tapOf = async (uid) =>
  JSON.parse((await tapchip('taps', 'simulate', '--uid', uid, '--json')).stdout).url
const codeOf = async (uid) =>
  JSON.parse((await tapchip('chips', 'find', await tapOf(uid), '--json')).stdout).otp.code

/** The files that are in all of these sets. */
const inAll = ([first, ...others]) =>
  new Set([...first].filter((file) => others.every((set) => set.has(file))))

/**
 * Measures a way: its files in the CLI, where it begins there, and in the daemon. A short one is gone `times` times, and
 * counts what was gone through each time: the daemon's background loops are not part of it.
 */
async function way(title, prepare, run, times = 1) {
  const runs = []
  for (let i = 0; i < times; i++) {
    const prepared = await prepare()
    await daemonFiles()
    const cli = (await run(prepared))?.files ?? new Set()
    runs.push({ cli, daemon: await daemonFiles() })
  }
  const cli = inAll(runs.map((each) => each.cli))
  const inDaemon = inAll(runs.map((each) => each.daemon))
  const all = [...new Set([...cli, ...inDaemon])].sort()
  const parts = cli.size > 0 ? ` (CLI ${cli.size}, daemon ${inDaemon.size})` : ''
  console.log(`${String(all.length).padStart(4)}  ${title}${parts}`)
  if (process.argv.includes('--files')) console.log(all.map((file) => `        ${file}`).join('\n'))
}

try {
  const phone = async (url) => void (await (await fetch(url, { redirect: 'manual' })).text())
  // Once before it is measured: what is set up at the first request is no part of the way.
  await phone(await tapOf(oneTapChip))
  await way('a tap', () => tapOf(oneTapChip), phone, 5)
  await way(
    'api-keys list',
    () => undefined,
    () => tapchip('api-keys', 'list'),
    5,
  )
  await way(
    'chips edit --file',
    // Other URLs each time, so that there is something to change.
    async () => {
      const sheet = join(state, 'edit.csv')
      const rows = [oneTapChip, twoTapChip].map((uid) => `${uid},https://app.example/${randomUUID()}`)
      writeFileSync(sheet, ['uid,redirectUrl', ...rows, ''].join('\n'))
      return sheet
    },
    (sheet) => tapchip('chips', 'edit', '--file', sheet),
    3,
  )
  await way(
    'phygitals transfer --code',
    async () => {
      await tapchip(
        ...['phygitals', 'claim-registration', 'create'],
        ...['--code', await codeOf(twoTapChip), '--recipient', 'bram.eth'],
      )
      return codeOf(twoTapChip)
    },
    (code) => tapchip('phygitals', 'transfer', '--code', code, '--recipient', 'bram.eth'),
  )
  await way(
    'nfc provision',
    async () => undefined,
    () =>
      tapchip(
        ...['nfc', 'provision', '--key-set', '101', '--chip-group', 'Jackets 2026', '--reader', 'emulator'],
      ),
  )
} finally {
  daemon.kill('SIGTERM')
  await once(daemon, 'exit')
  rmSync(state, { recursive: true, force: true })
}
