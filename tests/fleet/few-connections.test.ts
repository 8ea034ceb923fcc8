import { Client } from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { startPostgres } from '../../scripts/postgres-server.mjs'
import { cliHome } from '../support/cli.ts'
import { adminToken, startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { callOn, untilItHolds } from '../support/fleet.ts'
import { seedOf, uidOf } from '../support/fleet-taps.ts'
import { onServer, testDataKey } from '../support/postgres.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const chips = 8
const key = { 'x-svc-api-key': acmeKey }

/** Daemons of an ordinary user, for whom the server keeps three connections fewer than its `max_connections`. */
async function fewConnections(maxConnections: number, daemons = 2, env: Record<string, string> = {}) {
  const server = await startServer(maxConnections)
  const url = shopAt(server.port)
  const running: TestDaemon[] = []
  for (let n = 0; n < daemons; n += 1) {
    const daemon = await startTestDaemon({
      env: { ...env, TAPCHIP_DATABASE_URL: url, TAPCHIP_DATA_KEY: testDataKey },
      ...(n === 0 ? { seed: seedOf(chips) } : {}),
    })
    closing.push(() => daemon.stop())
    running.push(daemon)
  }
  return { server, url, daemons: running }
}

const shopAt = (port: number) => `postgres://app@127.0.0.1:${port}/shop`

async function startServer(maxConnections: number) {
  const server = await startPostgres({ settings: { max_connections: maxConnections } })
  closing.push(() => server.stop())
  await onServer(
    async (client) => {
      await client.query('create role app login')
      await client.query('create database shop owner app')
    },
    'postgres',
    server.url,
  )
  return server
}

const connectionsOf = (url: string) =>
  onServer(
    async (client) => {
      const query = `select count(*) as n from pg_stat_activity where usename = 'app' and application_name = 'tapchipd'`
      return Number((await client.query<{ n: string }>(query)).rows[0]?.n)
    },
    'postgres',
    url,
  )

/** Takes all room that the server has left for ordinary users. */
async function takeAllRoom(url: string): Promise<void> {
  for (;;) {
    const client = new Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
    } catch {
      return
    }
    closing.push(() => client.end())
  }
}

let counter = 0
const tapAt = async ({ url }: TestDaemon, uid: string) => {
  counter += 1
  const path = tapPath(tap(derived, { uid }, counter), '/chips/find')
  const { status, body } = await callOn(url)(`GET ${path}`, undefined, key)
  return body.isValidTap === true ? 'valid' : `${status} ${body.code}`
}

describe.each([9, 13])('of %i connections that two daemons share', { timeout: 180_000 }, (maxConnections) => {
  test('taps get theirs, beside lists, writes and slow questions, and both are ready', async () => {
    const { daemons } = await fewConnections(maxConnections)
    const tally = new Map<string, number>()
    const count = (what: string) => tally.set(what, (tally.get(what) ?? 0) + 1)
    let isTapping = true
    const beside = daemons.flatMap((daemon, at) => {
      const call = callOn(daemon.url)
      const again = async (what: string, ask: (n: number) => ReturnType<typeof call>) => {
        for (let n = 0; isTapping; n += 1) count(`${what} ${(await ask(n)).status}`)
      }
      return [
        ...Array.from({ length: 4 }, () => again('list', () => call('GET /chip-groups', undefined, key))),
        ...Array.from({ length: 3 }, () => again('slow', () => call('GET /admin/taps/stats?by=day'))),
        again('readyz', () => call('GET /readyz')),
        // Writes of two daemons meet each other, whatever connections they have.
        ...(at === 0 ? [again('write', (n) => call('POST /admin/teams', { name: `Team ${n}` }))] : []),
      ]
    })
    const tapping = daemons.flatMap((daemon, at) =>
      Array.from({ length: chips / 2 }, async (_, n) => {
        for (let times = 0; times < 8; times += 1) count(`tap ${await tapAt(daemon, uidOf(at * 4 + n))}`)
      }),
    )
    await Promise.all(tapping)
    isTapping = false
    await Promise.all(beside)
    const kinds = [...tally.keys()].sort()
    expect(kinds).toEqual(['list 200', 'readyz 200', 'slow 200', 'tap valid', 'write 200'])
    expect(tally.get('tap valid')).toBe(64)
  })
})

test('taps and readiness go on by what a daemon has, when others take the rest; idle ones are handed over', async () => {
  const { url, daemons } = await fewConnections(13, 1)
  const [daemon] = daemons
  if (!daemon) throw new Error('no daemon')
  await takeAllRoom(url)
  for (let times = 0; times < 20; times += 1) {
    expect(await tapAt(daemon, uidOf(0))).toBe('valid')
    expect((await callOn(daemon.url)('GET /readyz')).status).toBe(200)
  }
})

test.each([1, 4])('a daemon opens no more connections than it may: %i', async (connections) => {
  const { server, daemons } = await fewConnections(100, 1, {
    TAPCHIP_DATABASE_CONNECTIONS: String(connections),
  })
  const [daemon] = daemons
  if (!daemon) throw new Error('no daemon')
  const call = callOn(daemon.url)
  const most: number[] = []
  await Promise.all([
    ...Array.from({ length: 8 }, (_, n) => tapAt(daemon, uidOf(n))),
    ...Array.from({ length: 20 }, () => call('GET /chip-groups', undefined, key)),
    ...Array.from({ length: 20 }, (_, n) => call('POST /admin/teams', { name: `Team ${n}` })),
    ...Array.from({ length: 10 }, async () => most.push(await connectionsOf(server.url))),
  ])
  expect(Math.max(...most)).toBeLessThanOrEqual(connections)
  expect((await call('GET /admin/taps/stats?by=day')).status).toBe(200)
})

describe('a database that cannot be used', { timeout: 180_000 }, () => {
  const faults = {
    no_room: 'alter role app connection limit 0',
    refused: 'alter role app nologin',
    read_only: `alter system set default_transaction_read_only = on`,
  }
  const undo = {
    no_room: 'alter role app connection limit -1',
    refused: 'alter role app login',
    read_only: 'alter system reset default_transaction_read_only',
  }

  test('is named by /readyz and doctor, with the reason, and told in the log when it goes and when it is back', async () => {
    const server = await startServer(100)
    const proxy = await startTcpProxy(server.port)
    closing.push(() => proxy.close())
    const lines: string[] = []
    const daemon = await startTestDaemon({
      seed: seedOf(chips),
      env: { TAPCHIP_DATABASE_URL: shopAt(proxy.port), TAPCHIP_DATA_KEY: testDataKey },
      log: (line) => void lines.push(line),
      logLevel: 'info',
    })
    closing.push(() => daemon.stop())
    const here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: adminToken })
    closing.push(async () => here.remove())
    const call = callOn(daemon.url)
    const readiness = async () => {
      const { status, body } = await call('GET /readyz')
      return { status, server: body.server, reason: body.reason }
    }
    const logged = () =>
      lines
        .map((line) => JSON.parse(line))
        .filter(({ level, msg }) => level >= 40 || msg === 'the database is back')
        .map(({ msg, reason }) => reason ?? msg)
    const address = `127.0.0.1:${proxy.port}`
    const isReady = () => untilItHolds(async () => expect((await readiness()).status).toBe(200))
    const isUnready = (reason: string) =>
      untilItHolds(async () => expect(await readiness()).toEqual({ status: 503, server: address, reason }))
    const isLogged = (last: string) => untilItHolds(async () => expect(logged().at(-1)).toBe(last))

    const ask = (sql: string) => onServer((client) => client.query(sql), 'postgres', server.url)
    await isReady()
    for (const reason of ['no_room', 'refused', 'read_only'] as const) {
      lines.length = 0
      await ask(faults[reason])
      await ask(
        `select pg_reload_conf(), pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'`,
      )
      await isUnready(reason)
      await isLogged(reason)
      expect(await tapAt(daemon, uidOf(0))).toMatch(/^503 /)
      if (reason === 'refused') {
        const findings = (await here.run('doctor', '--json')).json()
        for (const check of ['ready', 'database'])
          expect(findings).toContainEqual(
            expect.objectContaining({ check, status: 'fail', server: address, reason }),
          )
        expect((await here.run('doctor')).stdout).toContain(`pg_hba.conf of ${address}`)
      }
      await ask(undo[reason])
      await ask('select pg_reload_conf()')
      await isReady()
      await isLogged('the database is back')
      expect(logged()).toEqual([reason, 'the database is back'])
      expect(lines.join()).not.toContain('stack')
      expect(await tapAt(daemon, uidOf(0))).toBe('valid')
    }

    proxy.isSilent = true
    await isUnready('silent')
    proxy.isSilent = false
    await isReady()
    await server.stop()
    await isUnready('down')
  })
})
