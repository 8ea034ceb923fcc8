// The primary of the database is lost, again and again, under taps, mints, and transfers: `npm run drill:failover`.
// Options: --kills N (3), --rate TAPS_PER_SECOND (60), --nodes N (3), --proxy (HAProxy before the database and the daemons),
// --freeze (the primary stands still, and is reset as by a watchdog when another has taken over).
// It exits with 1 if anything that was answered is lost or was done twice, if service was away for longer
// than 20 s, or if a request fails while the daemons are restarted one after the other.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { privateKeyToAddress } from 'viem/accounts'
import { startAnvil } from '../bench/lib/anvil.mjs'
import { endAll as endChain, killAll as killChain } from '../bench/lib/processes.mjs'
import { startCluster } from './failover/cluster.mjs'
import { startHaproxy } from './failover/haproxy.mjs'
import { Ledger, uidOf } from './failover/ledger.mjs'
import { endAll, killAll, start, until } from './failover/processes.mjs'
import { installPackage } from './install-package.mjs'
import { found, hasPostgres } from './test-tools.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '3' },
    rate: { type: 'string', default: '60' },
    nodes: { type: 'string', default: '3' },
    proxy: { type: 'boolean', default: false },
    freeze: { type: 'boolean', default: false },
  },
})
const kills = Number(values.kills)
const perSecond = Number(values.rate)
const limitMs = 20_000
const chainId = 7
const relayerKey = `0x${'31'.repeat(32)}`
const keySet = { id: 101, metaReadKey: '7b'.repeat(16), fileReadKey: 'e1'.repeat(16) }
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const holders = 8
const tokensEach = 100
const tapped = Array.from({ length: 997 }, (_, at) => at)
const tokensOf = (holder) => Array.from({ length: tokensEach }, (_, at) => 10_000 * (holder + 1) + at)

for (const [name, program] of [
  ['postgresql', undefined],
  ['patroni', 'patroni'],
  ['etcd-server', 'etcd'],
  ['haproxy', 'haproxy'],
])
  installPackage(name, {
    whatFor: 'This drill',
    works: () => (program === undefined ? hasPostgres() : found(program) || found(`/usr/sbin/${program}`)),
  })

const seed = {
  version: 1,
  keySets: [{ ...keySet, diversification: 'an10922', macInputFrom: 'd' }],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'drill', key: 'svc_drill_only_000000000000000' }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId }],
      items: [{ id: 'jacket', name: 'Jacket', description: '', imageUrl: '', contract: 'JKT' }],
      chipGroups: [
        {
          name: 'Jackets',
          chips: [
            ...tapped.map((n) => ({ uid: uidOf(n), keySet: 101 })),
            ...Array.from({ length: holders + 1 }, (_, holder) => tokensOf(holder))
              .flat()
              .map((n) => ({ uid: uidOf(n), keySet: 101, item: 'jacket' })),
          ],
        },
      ],
    },
  ],
}

const place = mkdtempSync(join(tmpdir(), 'tapchip-failover-'))
chmodSync(place, 0o755)
const say = (text) => process.stdout.write(`${text}\n`)

/** The script that makes taps, as chips do. */
async function tapMaker() {
  const outfile = join(place, 'taps.mjs')
  await build({
    entryPoints: [join(root, 'bench/lib/tap-maker.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  const { TapMaker } = await import(pathToFileURL(outfile).href)
  return new TapMaker(keySet)
}

let starts = 0

async function startDaemon(name, env, { flags = [], port = '0' } = {}) {
  const folder = join(place, name)
  mkdirSync(folder, { recursive: true })
  starts += 1
  const log = join(place, `${name}.${starts}.log`)
  const { PATH, HOME } = process.env
  const args = [join(root, 'bin/tapchipd.js'), '--port', port, '--data-dir', folder, ...flags]
  const child = start(process.execPath, args, { log, env: { PATH, HOME, ...env } })
  const ready = await until(`${name} is ready`, () => {
    const line = readFileSync(log, 'utf8')
      .split('\n')
      .find((text) => text.includes('"event":"ready"'))
    return line && JSON.parse(line)
  })
  return { ...child, name, url: ready.url, port: new URL(ready.url).port }
}

/** How long a daemon gave no good answer, around a moment. */
function awayAround(times, at) {
  const before = times.filter((time) => time <= at).at(-1) ?? at
  let longest = 0
  let last = before
  for (const time of times.filter((one) => one > at && one < at + 60_000)) {
    longest = Math.max(longest, time - last)
    last = time
  }
  return longest
}

async function drill(cluster, chain) {
  const rpc = async (method, params = []) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = await fetch(chain.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    return (await answer.json()).result
  }
  await rpc('anvil_setBalance', [privateKeyToAddress(relayerKey), '0x8ac7230489e80000'])
  const seedFile = join(place, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const proxied = values.proxy
    ? await startHaproxy(place, { daemons: [], servers: cluster.servers })
    : undefined
  const env = {
    TAPCHIP_DATABASE_URL: cluster.url(proxied && [proxied.database]),
    TAPCHIP_DATA_KEY: '0f'.repeat(32),
    TAPCHIP_RATE_LIMIT: 'off',
    TAPCHIP_DRAIN_SECONDS: '3',
    TAPCHIP_ADMIN_TOKEN: 'adm_drill_only_0000000000',
    [`TAPCHIP_RPC_${chainId}`]: chain.url,
    [`TAPCHIP_CONFIRMATIONS_${chainId}`]: '1',
    [`TAPCHIP_RELAYER_KEY_${chainId}`]: relayerKey,
    [`TAPCHIP_SIGN_VERIFIER_KEY_${chainId}`]: `0x${'32'.repeat(32)}`,
  }
  const running = [await startDaemon('tapchipd1', env, { flags: ['--seed', seedFile] })]
  running.push(await startDaemon('tapchipd2', env))
  const daemons = running.map(({ url }) => url)
  await until('the contract is deployed', async () => {
    const rows = await cluster.ask('select 1 from transactions where "settledAt" is null')
    return rows.length === 0
  })
  say(
    `${values.nodes} servers, two daemons, ${perSecond} taps a second, ${holders} people who mint and send tokens.`,
  )
  const ledger = new Ledger(await tapMaker())
  const door = (await startHaproxy(mkdtempSync(join(place, 'http-')), { daemons })).url
  const doors = values.proxy ? [door] : daemons
  const load = [
    ledger.tapAlong(daemons, { chips: tapped, perSecond }),
    ...Array.from({ length: holders }, (_, holder) => ledger.moveAlong(doors, tokensOf(holder))),
  ]
  const lost = []
  const pause = (ms) => new Promise((done) => setTimeout(done, ms))
  await pause(4000)
  for (let kill = 1; kill <= kills; kill++) {
    const primary = await cluster.primary()
    const at = performance.now()
    if (values.freeze) cluster.freeze(primary)
    else await cluster.kill(primary)
    for (const url of daemons)
      await until('a good answer', () => (ledger.good.get(url)?.at(-1) ?? 0) > at + 1500, 90_000)
    await pause(3000)
    // What woke up instead would take itself for the primary: Patroni's watchdog sees to that elsewhere.
    if (values.freeze) await cluster.reset(primary)
    cluster.restart(primary)
    await cluster.allJoined()
    await pause(2000)
    const away = daemons.map((url) => awayAround(ledger.good.get(url) ?? [], at))
    lost.push(...away)
    say(
      `kill ${kill} (${primary.name}): away for ${away.map((ms) => (ms / 1000).toFixed(1)).join(' and ')} s`,
    )
  }
  ledger.isOver = true
  await Promise.all(load)
  const refused = await restartEach(running, { env, ledger, door })
  await until('everything is on the chain', async () => {
    const rows = await cluster.ask('select 1 from transactions where "settledAt" is null')
    return rows.length === 0
  })
  await ledger.replay(daemons)
  const stored = await ledger.compareTaps(cluster.ask)
  const { moved, minted } = await ledger.compareChain(rpc)
  const longest = Math.max(...lost)
  const rows = [
    ['taps answered valid', ledger.valid.length],
    ['taps without an answer', ledger.unanswered],
    ['valid taps on record', stored],
    ['mints and transfers answered', ledger.moves.length],
    ['mints and transfers on the chain', moved],
    ['tokens minted', minted],
    ['primaries killed', kills],
    ['longest without service', `${(longest / 1000).toFixed(1)} s of ${limitMs / 1000}`],
    ['failed while daemons were restarted', refused.length],
    ['lost, done twice, or refused', ledger.wrong.length],
  ]
  for (const [what, value] of rows) say(`  ${what.padEnd(36)} ${value}`)
  say(`  answers: ${[...ledger.statuses].map(([status, times]) => `${status} × ${times}`).join(', ')}`)
  for (const text of refused.slice(0, 10)) say(`  FAILED ${text}`)
  for (const wrong of ledger.wrong.slice(0, 20)) say(`  WRONG ${wrong}`)
  return ledger.wrong.length === 0 && refused.length === 0 && longest < limitMs
}

let cluster

/** Restarts the daemons one after the other behind the proxy. @returns the requests that failed meanwhile, in words */
async function restartEach(running, { env, ledger, door }) {
  ledger.isOver = false
  const before = ledger.failed.length
  const load = [
    ledger.tapAlong([door], { chips: tapped, perSecond }),
    ledger.moveAlong([door], tokensOf(holders)),
  ]
  for (const daemon of running) {
    daemon.kill('SIGTERM')
    const code = await daemon.exited
    if (code !== 0) ledger.wrong.push(`${daemon.name} ended with ${code}`)
    await startDaemon(daemon.name, env, { port: daemon.port })
    const enough = ledger.valid.length + 2 * perSecond
    await until('taps after a restart', () => ledger.valid.length > enough)
  }
  ledger.isOver = true
  await Promise.all(load)
  return ledger.failed.slice(before)
}

process.once('exit', () => {
  killAll()
  cluster?.end()
  killChain()
})
// Patroni, asked to end, ends its server.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => void endAll().finally(() => process.exit(130)))
let isGood = false
try {
  cluster = await startCluster(place, Number(values.nodes))
  const chain = await startAnvil(['--chain-id', String(chainId), '--block-time', '1'])
  isGood = await drill(cluster, chain)
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
} finally {
  await endAll()
  cluster?.end()
  await endChain()
}
if (isGood) rmSync(place, { recursive: true, force: true })
else say(`FAILED. Its logs are in ${place}`)
process.exit(isGood ? 0 : 1)
