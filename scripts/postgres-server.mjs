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
 * @param options `durable`: as it is installed; `settings`: of postgresql.conf
 * @returns its URL, without a database, and what ends it with its data
 */
export async function startPostgres({ durable = false, settings = {}, port: wanted } = {}) {
  if (!hasPostgres()) throw new Error('PostgreSQL 15 or later is needed: node scripts/install-postgres.mjs')
  const folder = mkdtempSync(join(tmpdir(), 'tapchip-postgres-'))
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
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(postgresBin(), 'postgres'), ['-D', data, ...flags], {
    ...owner(),
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  let isGone = false
  const gone = new Promise((resolve) => child.once('exit', resolve)).then(() => {
    isGone = true
  })
  const accepts = new Promise((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text) => {
      // The rest is read, so that the server is not held up, and not kept.
      if (said.length < 100_000) said += text
      if (said.includes('ready to accept connections')) resolve()
    })
  })
  const stop = async () => {
    // Ends sessions at once, without a checkpoint: nothing is kept.
    if (!isGone) child.kill('SIGQUIT')
    await gone
    rmSync(folder, { recursive: true, force: true })
  }
  await Promise.race([accepts, gone])
  if (isGone) {
    await stop()
    throw new Error(`postgres ended: ${said.slice(-2000)}`)
  }
  return { url: `postgres://tapchip@127.0.0.1:${port}`, port, data, pid: child.pid, stop, log: () => said }
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
