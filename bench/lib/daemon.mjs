import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { end, startServer } from './processes.mjs'

/** What is measured: this checkout, or another one that is built (`--beside`). */
const checkout = process.env.TAPCHIP_BENCH_CHECKOUT ?? fileURLToPath(new URL('../..', import.meta.url))
export const daemonScript = join(checkout, 'bin/tapchipd.js')
export const cliScript = join(checkout, 'bin/tapchip.js')

export const apiKey = 'svc_bench_0123456789abcdef'
export const adminToken = 'adm_bench_0123456789abcdef'

export const keySet = {
  id: 101,
  metaReadKey: '7b0f6a2c94d3e8511c5ad2e6f3b847a0',
  fileReadKey: 'e1d27c5f80a94b36d7c2f15e9a6403bb',
}

export const seed = {
  version: 1,
  keySets: [{ ...keySet, diversification: 'an10922', macInputFrom: 'd' }],
  teams: [
    {
      name: 'Bench',
      apiKeys: [{ name: 'bench', key: apiKey }],
      items: [{ id: 'jacket', name: 'Jacket' }],
      chipGroups: [{ name: 'Stock', chips: [] }],
    },
  ],
}

/** What every daemon of the bench is told; the rest is as it comes. */
export const daemonEnv = (dataDir, port = 0) => ({
  TAPCHIP_DATA_DIR: dataDir,
  TAPCHIP_PORT: String(port),
  TAPCHIP_RATE_LIMIT: 'off',
  TAPCHIP_ADMIN_TOKEN: adminToken,
})

/** Starts the built daemon, on seed data unless its data directory has them. */
export async function startDaemon(core, dataDir, profile, content = seed, env = {}) {
  mkdirSync(dataDir, { recursive: true })
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(content))
  const { child, pid, ready } = await startServer(
    core,
    [...(profile?.flags ?? []), daemonScript, '--seed', seedFile],
    {
      ...daemonEnv(dataDir),
      ...env,
      ...profile?.env,
    },
  )
  const url = new URL(ready.url)
  return {
    pid,
    port: Number(url.port),
    url: ready.url,
    databaseFile: join(dataDir, 'tapchip.db'),
    stop: () => end(child),
  }
}

/** A daemon with a seed of one's own, on all cores, whose transactions can be waited for. */
export async function startDaemonWith(dataDir, content, env = {}) {
  mkdirSync(dataDir, { recursive: true })
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(content))
  const { child, pid, ready } = await startServer(undefined, [daemonScript, '--seed', seedFile], {
    ...daemonEnv(dataDir),
    ...env,
  })
  const db = new BetterSqlite3(join(dataDir, 'tapchip.db'), { readonly: true })
  const open = db.prepare('select count(*) as count from transactions where "settledAt" is null')
  const url = new URL(ready.url)
  return {
    pid,
    port: Number(url.port),
    url: ready.url,
    contract: () => db.prepare('select address from contracts').get().address,
    databaseFile: join(dataDir, 'tapchip.db'),
    /** @throws Error where they do not settle */
    settled: async () => {
      const patience = Date.now() + 60_000
      while (open.get().count > 0) {
        if (Date.now() > patience)
          throw new Error(`${open.get().count} transactions did not settle in a minute`)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    stop: async () => {
      db.close()
      await end(child)
    },
  }
}

const headers = { 'x-svc-api-key': apiKey, authorization: `Bearer ${adminToken}` }

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** One call, timed from the first byte sent to the last received. @throws where the status is another, unless any will do */
export function call(
  daemon,
  method,
  path,
  { body, contentType = 'application/json', status = 200, headers: more = {} } = {},
) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint()
    const length =
      body === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(body) }
    const req = request({
      port: daemon.port,
      host: '127.0.0.1',
      method,
      path,
      agent,
      headers: { ...headers, ...length, ...more },
    })
    req.on('response', (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const ms = Number(process.hrtime.bigint() - start) / 1e6
        const text = () => Buffer.concat(chunks).toString()
        if (status !== 'any' && response.statusCode !== status) {
          reject(
            new Error(
              `${method} ${path.split('?')[0]} answered ${response.statusCode}: ${text().slice(0, 500)}`,
            ),
          )
          return
        }
        const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
        resolve({ ms, bytes, text, status: response.statusCode, headers: response.headers })
      })
    })
    req.on('error', reject)
    req.end(body)
  })
}

/** Seconds that the daemon has spent on answers so far, of the routes that begin so. */
export async function secondsOn(daemon, route) {
  const { text } = await call(daemon, 'GET', '/metrics')
  const sums = text().matchAll(/^tapchip_http_request_seconds_sum\{.*route="([^"]+)".*\} (\S+)$/gm)
  return [...sums].reduce((sum, [, of, seconds]) => (of.startsWith(route) ? sum + Number(seconds) : sum), 0)
}

/** Registers chips as an operator does. @throws where not all of them are new */
export async function importChips(daemon, chipGroup, csv, count) {
  const query = new URLSearchParams({ chipGroup, keySet: String(keySet.id), report: 'failures' })
  const answer = await call(daemon, 'POST', `/admin/chips/import?${query}`, {
    body: csv,
    contentType: 'text/csv',
  })
  const summary = JSON.parse(answer.text().trim().split('\n').at(-1))
  if (summary.created !== count)
    throw new Error(`The import of ${count} chips made ${JSON.stringify(summary)}`)
  return answer
}
