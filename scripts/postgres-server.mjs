// A PostgreSQL server of its own, on a free port of loopback, with its data in a temporary folder: for tests, benches
// and drills. `node scripts/postgres-server.mjs [--durable] [-c NAME=VALUE]…` prints its URL and runs until it is ended.
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasPostgres, postgresBin } from './test-tools.mjs'

/** The server refuses to run as root. */
function owner() {
  if (process.getuid?.() !== 0) return {}
  const id = (what) => Number(spawnSync('id', [what, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: id('-u'), gid: id('-g') }
}

const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

/** Runs one of its programs to the end, as its user. @throws Error with what the program said */
export function runAsOwner(program, args) {
  const { status, stdout, stderr, error } = spawnSync(join(postgresBin(), program), args, {
    ...owner(),
    cwd: tmpdir(),
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${program} failed: ${stdout}${stderr}${error?.message ?? ''}`)
  return stdout
}

/** Without --durable a crash of the machine would lose data, which no test asks about. */
const hasty = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/**
 * @param options `durable`: as it is installed; `settings`: of postgresql.conf; `parent`: where its folder is to be
 * @returns its URL, without a database, and what ends it with its data
 */
export async function startPostgres({
  durable = false,
  settings = {},
  port: wanted,
  parent = tmpdir(),
} = {}) {
  if (!hasPostgres()) throw new Error('PostgreSQL 15 or later is needed: node scripts/install-postgres.mjs')
  const folder = mkdtempSync(join(parent, 'tapchip-postgres-'))
  const { uid, gid } = owner()
  if (uid !== undefined) chownSync(folder, uid, gid)
  const data = join(folder, 'data')
  try {
    runAsOwner('initdb', [
      '-D',
      data,
      '-U',
      'tapchip',
      '--auth=trust',
      '--encoding=UTF8',
      '--locale=C.UTF-8',
      '--no-sync',
    ])
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const port = wanted ?? (await freePort())
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port,
    max_connections: 300,
    ...(durable ? {} : hasty),
    ...settings,
  }
  let said = ''
  let running = launch(data, folder, all, (text) => {
    // The rest is read, so that the server is not held up, and not kept.
    if (said.length < 100_000) said += text
  })
  const stop = async () => {
    // Ends sessions at once, without a checkpoint: nothing is kept.
    await running.end('SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  }
  const started = async () => {
    if (await running.accepts) return
    await stop()
    throw new Error(`postgres ended: ${said.slice(-2000)}`)
  }
  await started()
  return {
    url: `postgres://tapchip@127.0.0.1:${port}`,
    port,
    data,
    get pid() {
      return running.pid
    },
    /** Ends it by a signal, if it has not ended by itself, and starts it again later, with other settings on top. */
    restart: async (signal, { awayMs = 0, settings: other = {} } = {}) => {
      await running.end(signal)
      await new Promise((done) => setTimeout(done, awayMs))
      running = launch(data, folder, { ...all, ...other }, (text) => {
        said = (said + text).slice(-100_000)
      })
      await started()
    },
    stop,
    log: () => said,
  }
}

function launch(data, folder, settings, say) {
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(postgresBin(), 'postgres'), ['-D', data, ...flags], {
    ...owner(),
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let isGone = false
  const gone = new Promise((resolve) => child.once('exit', resolve)).then(() => {
    isGone = true
  })
  const accepting = new Promise((resolve) => {
    let start = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      say(text)
      if (start.length < 100_000) start += text
      if (start.includes('ready to accept connections')) resolve(true)
    })
  })
  const end = async (signal) => {
    if (!isGone) child.kill(signal)
    await gone
  }
  return { pid: child.pid, accepts: Promise.race([accepting, gone.then(() => false)]), end }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const settings = {}
  for (const [at, word] of process.argv.entries())
    if (word === '-c') {
      const [name, value] = process.argv[at + 1].split('=')
      settings[name] = value
    }
  const server = await startPostgres({ durable: process.argv.includes('--durable'), settings })
  console.log(server.url)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void server.stop())
}
