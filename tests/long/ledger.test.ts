import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../../scripts/postgres-server.mjs'
import { hasFakeTime } from '../../scripts/test-tools.mjs'
import { adminToken } from '../support/daemon.ts'
import { fakeTime } from '../support/fake-time.ts'
import { smallDisk } from '../support/full-disk.ts'
import { Ledger, moveUid, tapUid } from '../support/ledger.ts'
import { faults } from '../support/ledger-faults.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { openRemoteChain } from '../support/remote-chain.ts'
import { acmeKey, derived, jacketItem } from '../support/seeds.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

// TAPCHIP_LEDGER_RUNS=5 TAPCHIP_LEDGER_HOLD_MS=8000 takes longer, and finds more.
const runs = Number(process.env.TAPCHIP_LEDGER_RUNS ?? 2)
const taps = Number(process.env.TAPCHIP_LEDGER_TAPS ?? 20_000)
const moves = Number(process.env.TAPCHIP_LEDGER_MOVES ?? 2000)
/** How long a fault lasts, roughly; those that stand still last twice as long, beyond what a daemon waits. */
const holdMs = Number(process.env.TAPCHIP_LEDGER_HOLD_MS ?? 3500)
const people = 24
// Each person has their own: an earlier tap of a chip that arrives later is refused rightly.
const tapChips = 13 * people
const moveChips = moves / 2
const movers = 12

const seedOn = (chainId: number) => ({
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId }],
      items: [jacketItem],
      chipGroups: [
        {
          name: 'All',
          chips: [
            ...Array.from({ length: tapChips }, (_, n) => ({ uid: tapUid(n), keySet: 101 })),
            ...Array.from({ length: moveChips }, (_, n) => ({
              uid: moveUid(n),
              keySet: 101,
              item: 'jacket',
            })),
          ],
        },
      ],
    },
  ],
})

const freePort = () =>
  new Promise<number>((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const at = probe.address()
      probe.close(() => done(typeof at === 'object' && at ? at.port : 0))
    })
  })

/** @param ending receives what ends each part, the last one first */
async function openCluster(ending: (() => unknown)[]) {
  const chain = await openRemoteChain()
  ending.unshift(() => chain.close())
  const disk = smallDisk(400)
  ending.unshift(() => disk.remove())
  // The server has a user of its own.
  chmodSync(disk.path, 0o755)
  const isOwnDisk = disk.code.source.includes('store_full')
  const server = await startPostgres({
    durable: true,
    settings: { fsync: 'off', min_wal_size: '32MB', max_wal_size: '64MB', shared_buffers: '32MB' },
    ...(isOwnDisk ? { parent: disk.path } : {}),
  })
  ending.unshift(() => server.stop())
  const proxy = await startTcpProxy(server.port)
  ending.unshift(() => proxy.close())
  const place = mkdtempSync(join(tmpdir(), 'tapchip-ledger-'))
  const seed = join(place, 'seed.json')
  writeFileSync(seed, JSON.stringify(seedOn(7)))
  const skew = hasFakeTime() ? fakeTime(place) : undefined
  const ports = [await freePort(), await freePort()]
  const running: DaemonProcess[] = []
  ending.unshift(async () => {
    await Promise.all(running.map((daemon) => daemon.kill()))
    rmSync(place, { recursive: true, force: true })
  })
  const start = async (n: number) => {
    const flags = ['--port', String(ports[n]), '--data-dir', join(place, `d${n}`)]
    running[n] = await spawnDaemon([...flags, ...(n === 0 ? ['--seed', seed] : [])], {
      ...chain.env,
      ...(n === 1 ? skew?.env : {}),
      TAPCHIP_DATABASE_URL: `postgres://tapchip@127.0.0.1:${proxy.port}/postgres`,
      TAPCHIP_DATA_KEY: '0f'.repeat(32),
      TAPCHIP_ADMIN_TOKEN: adminToken,
      TAPCHIP_RATE_LIMIT: 'off',
      TAPCHIP_KEY_RATE_LIMIT: 'off',
    })
  }
  await start(0)
  await start(1)
  const direct = async <T>(ask: (client: Client) => Promise<T>) => {
    const client = new Client({ connectionString: `${server.url}/postgres` })
    await client.connect()
    return ask(client).finally(() => client.end())
  }
  // A token of a contract that is on its way is refused, and rightly.
  const deployed = `select 1 from contracts where status = 'confirmed'`
  await expect
    .poll(() => direct(async (client) => (await client.query(deployed)).rowCount), { timeout: 60_000 })
    .toBe(1)
  return {
    chain,
    direct,
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    hit: {
      ...{ server, proxy, chainPid: chain.anvil.pid, holdMs },
      disk: isOwnDisk ? { fill: () => disk.fill(undefined), free: () => disk.free() } : undefined,
      daemons: {
        start,
        kill: async (n: number) => running[n]?.kill(),
        pid: (n: number) => running[n]?.ready.pid ?? 0,
        clock: skew && ((seconds: number) => skew.set(seconds)),
      },
    },
  }
}

test(`${taps} taps and ${moves} moves under every fault of a PostgreSQL, ${runs} times: none is lost or doubled, and each answer agrees with the ledger`, {
  timeout: 900_000 * runs,
}, async () => {
  for (let run = 1; run <= runs; run += 1) {
    const ending: (() => unknown)[] = []
    const close = async () => {
      for (const end of ending.splice(0)) await end()
    }
    onTestFinished(close)
    const cluster = await openCluster(ending)
    const ledger = new Ledger(cluster.urls, run)
    const began = performance.now()
    let hits = 0
    const all = Object.entries(faults)
    /** How many of all may have begun: so many that all faults meet some. */
    const allowed = (total: number) => Math.ceil((total * (hits + 1)) / all.length)
    const pause = () => new Promise((done) => setTimeout(done, 20))
    let tapped = 0
    const tapAlong = async (person: number) => {
      for (let at = person; tapped < taps; at += people) {
        while (tapped >= allowed(taps)) await pause()
        tapped += 1
        await ledger.tap(tapUid(at % tapChips))
      }
    }
    let moved = 0
    const moveAlong = async (mover: number) => {
      for (let chip = mover; chip < moveChips; chip += movers)
        for (const step of [0, 1]) {
          while (moved >= allowed(moves)) await pause()
          moved += 1
          await ledger.move(chip, step)
        }
    }
    const load = Promise.all([
      ...Array.from({ length: people }, (_, person) => tapAlong(person)),
      ...Array.from({ length: movers }, (_, mover) => moveAlong(mover)),
    ])
    const took: string[] = []
    for (const [name, hit] of all) {
      const from = performance.now()
      await hit(cluster.hit)
      took.push(`${name} ${Math.round((performance.now() - from) / 100) / 10} s`)
      hits += 1
    }
    await load
    const seconds = () => Math.round((performance.now() - began) / 1000)
    const loaded = seconds()
    await expect
      .poll(
        () =>
          cluster.direct(
            async (client) =>
              (await client.query('select 1 from transactions where "settledAt" is null')).rowCount,
          ),
        { timeout: 120_000, interval: 500 },
      )
      .toBe(0)
    const found = await cluster.direct((client) => ledger.compare(client, cluster.chain.rpc))
    console.log(
      JSON.stringify({
        run,
        loaded,
        seconds: seconds(),
        took,
        ...found.recorded,
        answers: Object.fromEntries(ledger.answers),
      }),
    )
    await close()
    expect({ ...found, recorded: undefined }).toEqual({
      lost: [],
      doubled: [],
      wrong: [],
      recorded: undefined,
    })
    expect(ledger.moves).toHaveLength(moves)
    expect(tapped).toBeGreaterThanOrEqual(taps)
  }
})
