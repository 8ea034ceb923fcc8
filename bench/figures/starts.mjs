import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { apiKey, cliScript, daemonEnv, daemonScript, startDaemon } from '../lib/daemon.mjs'
import { startHelper } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'

const helloScript = fileURLToPath(new URL('../peers/hello.mjs', import.meta.url))

/**
 * How long programs take from their start to their end, against a Node that has nothing to do; and what the daemon then
 * holds, against a Fastify that has nothing to do.
 */
export async function measureStarts({ cores, dir, announce, rounds }) {
  const home = dir('start-home')
  const kept = dir('start-data')
  const daemon = await startDaemon(cores.load, dir('start-peer'))
  await (await startDaemon(cores.load, kept)).stop()
  const launcher = startHelper(cores.server, fileURLToPath(new URL('../lib/launcher.mjs', import.meta.url)))
  const env = {
    HOME: home,
    XDG_STATE_HOME: home,
    XDG_CONFIG_HOME: home,
    TAPCHIP_URL: daemon.url,
    TAPCHIP_API_KEY: apiKey,
  }
  const run = (...args) => launcher.ask({ op: 'run', command: process.execPath, args, env })
  const fresh = async () => {
    const data = dir('start-fresh')
    rmSync(data, { recursive: true, force: true })
    return startUp(launcher, data)
  }
  const nothing = () => run('-e', '0')
  const figures = [
    { row: row('tapchip --help', 1.3), work: () => run(cliScript, '--help') },
    {
      row: row('tapchip chip-groups list --json', 1.45),
      work: () => run(cliScript, 'chip-groups', 'list', '--json'),
    },
    { row: row('tapchipd to /healthz', 5.5), work: () => startUp(launcher, kept) },
    { row: row('tapchipd to /healthz, first start', 5.5), work: fresh },
    // With its chain, and what a seed has put on it.
    {
      row: row('tapchipd to its ready line'),
      work: () => toFirstLine(launcher, daemonScript, daemonEnv(kept)),
    },
    {
      row: { ...row('resident memory at the ready line'), unit: 'MB', peer: 'bare Fastify' },
      work: () => toFirstLine(launcher, daemonScript, daemonEnv(kept)),
      limit: () => toFirstLine(launcher, helloScript),
    },
  ]
  announce(...figures.map((figure) => figure.row))
  // The first round fills the disk's caches.
  for (let round = 0; round <= rounds; round++) {
    for (const { row: into, work, limit = nothing } of figures) {
      await tried([into], 30, async () => {
        const theirs = await limit()
        const mine = await work()
        if (round === 0) return
        const of = into.unit === 'MB' ? 'megabytes' : 'ms'
        into.values.push(mine[of])
        into.peers.push(theirs[of])
        into.ratios.push(mine[of] / theirs[of])
      })
    }
  }
  await launcher.end()
  await daemon.stop()
}

const row = (name, bar) => ({
  name,
  bar,
  peer: 'node -e 0',
  unit: 'ms',
  values: [],
  peers: [],
  ratios: [],
  notes: [],
})

async function startUp(launcher, data) {
  const port = await freePort()
  const { startedAt } = await launcher.ask({
    op: 'leave',
    command: process.execPath,
    args: [daemonScript],
    env: daemonEnv(data, port),
  })
  await healthy(port)
  const ms = Number(process.hrtime.bigint() - startedAt) / 1e6
  await launcher.ask({ op: 'stop' })
  return { ms }
}

/** From its start until it says that it is ready, and what it holds at that moment. */
async function toFirstLine(launcher, script, env) {
  const { pid } = await launcher.ask({ op: 'leave', command: process.execPath, args: [script], env })
  const { ms } = await launcher.ask({ op: 'wrote' })
  const megabytes = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024
  await launcher.ask({ op: 'stop' })
  return { ms, megabytes }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function healthy(port) {
  const patience = Date.now() + 20_000
  while (Date.now() < patience) {
    if ((await statusOf(port)) === 200) return
    await sleep(1)
  }
  throw new Error('the daemon did not answer /healthz in 20 seconds')
}

const statusOf = (port) =>
  new Promise((resolve) => {
    const asked = get({ port, host: '127.0.0.1', path: '/healthz', agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    asked.on('error', () => resolve(undefined))
  })
