import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import type { TcpProxy } from './tcp-proxy.ts'

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))

interface Server {
  readonly url: string
  readonly pid: number
  restart(
    signal: NodeJS.Signals,
    options?: { awayMs?: number; settings?: Record<string, string | number> },
  ): Promise<void>
}

interface Hit {
  server: Server
  proxy: TcpProxy
  daemons: {
    kill(n: number): Promise<void>
    start(n: number): Promise<void>
    pid(n: number): number
    /** Of the second one; undefined where no clock can be set. */
    clock: ((seconds: number) => void) | undefined
  }
  chainPid: number
  /** Fills the disk of the server, and gives it back; undefined where it has none of its own. */
  disk: { fill(): void; free(): void } | undefined
  holdMs: number
}

/** All processes of a server, its own first. */
function processesOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))]
}

async function onServer(server: Server, database: string, ask: (client: Client) => Promise<unknown>) {
  const client = new Client({ connectionString: `${server.url}/${database}` })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await ask(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

const signalled = (pids: readonly number[], signal: NodeJS.Signals) => {
  for (const pid of pids)
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended.
    }
}

async function configured(server: Server, settings: Record<string, string>, holdMs: number) {
  const set = (values: readonly string[]) =>
    onServer(server, 'postgres', async (client) => {
      // Else these would be refused by what they set.
      await client.query('set default_transaction_read_only = off; set statement_timeout = 0')
      for (const value of values) await client.query(value)
      await client.query('select pg_reload_conf()')
    })
  const names = Object.keys(settings)
  await set(names.map((name) => `alter system set ${name} = '${settings[name]}'`))
  await pause(holdMs)
  await set(names.map((name) => `alter system reset ${name}`))
}

/** Ends sessions of daemons, again and again. */
const terminate = (server: Server, where: string, { times, everyMs }: { times: number; everyMs: number }) =>
  onServer(server, 'postgres', async (client) => {
    for (let time = 0; time < times; time += 1) {
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tapchipd' and ${where}`,
      )
      await pause(everyMs)
    }
  })

/** What befalls a PostgreSQL, its network, the daemons on it, and their chain; each ends before its promise does. */
export const faults: Record<string, (hit: Hit) => Promise<void>> = {
  'a fast restart': ({ server }) => server.restart('SIGINT'),
  'an immediate stop': ({ server, holdMs }) => server.restart('SIGQUIT', { awayMs: holdMs }),
  'a hundred terminations of active sessions': ({ server }) =>
    terminate(server, `state = 'active'`, { times: 100, everyMs: 30 }),
  'forty terminations of most sessions': ({ server }) =>
    terminate(server, 'random() < 0.6', { times: 40, everyMs: 75 }),
  'short timeouts': ({ server, holdMs }) =>
    configured(
      server,
      {
        statement_timeout: '30ms',
        idle_session_timeout: '1s',
        idle_in_transaction_session_timeout: '10ms',
      },
      holdMs,
    ),
  'a server that stands still': async ({ server, holdMs }) => {
    const pids = processesOf(server.pid)
    signalled(pids, 'SIGSTOP')
    await pause(2 * holdMs)
    signalled(pids, 'SIGCONT')
  },
  'a read-only server': ({ server, holdMs }) =>
    configured(server, { default_transaction_read_only: 'on' }, holdMs),
  'a network that swallows both directions': async ({ proxy, holdMs }) => {
    proxy.isSilent = true
    await pause(2 * holdMs)
    proxy.isSilent = false
  },
  'a network that swallows answers': async ({ proxy, holdMs }) => {
    proxy.isDeaf = true
    await pause(2 * holdMs)
    proxy.isDeaf = false
  },
  'a slow network': async ({ proxy, holdMs }) => {
    proxy.delayMs = 60
    await pause(holdMs)
    proxy.delayMs = 0
  },
  'packets that are cut in the middle': async ({ proxy, holdMs }) => {
    let seen = 0
    proxy.judge = (bytes) => {
      seen += 1
      if (seen % 40 !== 0) return 'pass'
      return seen % 80 === 0 ? 'last' : bytes.subarray(0, bytes.length >> 1)
    }
    await pause(holdMs)
    proxy.judge = () => 'pass'
  },
  'connections that are reset': async ({ proxy, holdMs }) => {
    for (let times = 0; times < holdMs / 200; times += 1) {
      proxy.cut()
      await pause(200)
    }
  },
  'a server with few connections': async ({ server, holdMs }) => {
    await server.restart('SIGINT', { settings: { max_connections: 19, superuser_reserved_connections: 1 } })
    await pause(2 * holdMs)
    await server.restart('SIGINT')
  },
  'a full disk': async ({ server, disk, holdMs }) => {
    disk?.fill()
    await pause(holdMs)
    disk?.free()
    // It may have ended itself.
    await server.restart('SIGQUIT')
  },
  'a daemon that stands still': async ({ daemons, holdMs }) => {
    const pid = daemons.pid(0)
    signalled([pid], 'SIGSTOP')
    await pause(2 * holdMs)
    signalled([pid], 'SIGCONT')
  },
  'daemons that are killed': async ({ daemons }) => {
    for (const n of [0, 1]) {
      await daemons.kill(n)
      await daemons.start(n)
    }
  },
  'a clock that is forty minutes ahead, then behind': async ({ daemons, holdMs }) => {
    daemons.clock?.(2400)
    await pause(holdMs / 2)
    daemons.clock?.(-2400)
    await pause(holdMs / 2)
    daemons.clock?.(0)
  },
  'a node that stands still': async ({ chainPid, holdMs }) => {
    signalled([chainPid], 'SIGSTOP')
    await pause(2 * holdMs)
    signalled([chainPid], 'SIGCONT')
  },
}
