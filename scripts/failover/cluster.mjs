// PostgreSQL under Patroni, with its state in etcd, all on loopback: the configuration of docs/fleet.md.
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { postgresBin } from '../test-tools.mjs'
import { familyOf, freePort, pidIn, postgresUser, start, until } from './processes.mjs'

const password = 'drill-only'

/** A dead primary is noticed after `ttl`; loop_wait + 2 × retry_timeout must not exceed it. In seconds. */
const pace = { ttl: 8, loop_wait: 1, retry_timeout: 3 }

const configOf = ({ name, folder, port, restPort, etcdPort }) => ({
  scope: 'tapchip',
  name,
  restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
  etcd3: { host: `127.0.0.1:${etcdPort}` },
  bootstrap: {
    dcs: {
      ...pace,
      maximum_lag_on_failover: 1_048_576,
      synchronous_mode: true,
      synchronous_mode_strict: true,
      // Else the other standby may be ahead of the one that takes over, and has to be wound back first.
      synchronous_node_count: 2,
      postgresql: {
        use_pg_rewind: true,
        parameters: {
          max_connections: 150,
          shared_buffers: '32MB',
          max_wal_size: '256MB',
          wal_keep_size: '128MB',
        },
      },
    },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    pg_hba: [
      'host replication replicator 127.0.0.1/32 scram-sha-256',
      'host all all 127.0.0.1/32 scram-sha-256',
    ],
  },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    data_dir: join(folder, 'data'),
    bin_dir: postgresBin(),
    pgpass: join(folder, 'pgpass'),
    authentication: {
      superuser: { username: 'postgres', password },
      replication: { username: 'replicator', password },
      rewind: { username: 'rewind', password },
    },
    parameters: { unix_socket_directories: folder, password_encryption: 'scram-sha-256' },
  },
  watchdog: { mode: 'off' },
})

async function startEtcd(folder) {
  const [port, peer] = [await freePort(), await freePort()]
  mkdirSync(folder, { recursive: true })
  const url = (at) => `http://127.0.0.1:${at}`
  const args = [
    ...['--name', 'e1', '--data-dir', join(folder, 'data')],
    ...['--listen-client-urls', url(port), '--advertise-client-urls', url(port)],
    ...['--listen-peer-urls', url(peer), '--initial-advertise-peer-urls', url(peer)],
    ...['--initial-cluster', `e1=${url(peer)}`],
  ]
  start('etcd', args, { log: join(folder, 'log') })
  await until('etcd is healthy', async () => (await fetch(`${url(port)}/health`)).ok)
  return port
}

/** @param place a folder @param nodes how many servers; two standbys keep one that confirms, when the primary is lost */
export async function startCluster(place, nodes = 3) {
  const etcdPort = await startEtcd(join(place, 'etcd'))
  const user = postgresUser()
  const servers = []
  for (let n = 1; n <= nodes; n++) {
    const folder = join(place, `node${n}`)
    mkdirSync(folder, { mode: 0o700 })
    const server = { name: `node${n}`, folder, port: await freePort(), restPort: await freePort() }
    const file = join(folder, 'patroni.json')
    writeFileSync(file, JSON.stringify(configOf({ ...server, etcdPort })))
    for (const path of [folder, file]) if (user.uid !== undefined) chownSync(path, user.uid, user.gid)
    servers.push(server)
  }
  // JSON is YAML too.
  const run = (server) => {
    const { folder } = server
    server.patroni = start('patroni', [join(folder, 'patroni.json')], {
      ...user,
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, PGUSER: 'postgres' },
      log: join(folder, 'log'),
    })
  }
  for (const server of servers) run(server)
  const is = async (server, what) =>
    (await fetch(`http://127.0.0.1:${server.restPort}/${what}`, { signal: AbortSignal.timeout(1000) })).ok
  const find = async (what) => {
    for (const server of servers) if (await is(server, what).catch(() => false)) return server
    return undefined
  }
  const primary = () => until('a primary', () => find('primary'))
  const postmaster = ({ folder }) => pidIn(join(folder, 'data', 'postmaster.pid'))
  const endFrozen = (server) => {
    for (const pid of server.frozen ?? []) process.kill(pid, 'SIGKILL')
    server.frozen = undefined
  }
  const allJoined = () =>
    until(
      'all servers run, and a standby confirms',
      async () => {
        const { members } = await (
          await fetch(`http://127.0.0.1:${(await primary()).restPort}/cluster`)
        ).json()
        const roles = members.map(({ role, state }) => (/running|streaming/.test(state) ? role : '-'))
        return roles.length === nodes && !roles.includes('-') && roles.includes('sync_standby')
      },
      120_000,
    )
  await allJoined()
  const urlOf = (ports, database, as = 'postgres') =>
    `postgres://${as}:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${database}`
  const ask = async (sql, database = 'tapchip') => {
    const client = new pg.Client({ connectionString: urlOf([(await primary()).port], database) })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  await ask(`create role tapchip login password '${password}'`, 'postgres')
  await ask('create database tapchip owner tapchip', 'postgres')
  return {
    servers,
    primary,
    allJoined,
    ask,
    /** @param ports other than those of the servers themselves */
    url: (ports = servers.map(({ port }) => port)) => urlOf(ports, 'tapchip', 'tapchip'),
    /** As a machine dies: nothing says goodbye. */
    async kill(server) {
      const pid = postmaster(server)
      server.patroni.kill('SIGKILL')
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
      await server.patroni.exited
    },
    restart: (server) => run(server),
    /** As a machine that stands still: its connections stay, and nobody answers. */
    freeze(server) {
      server.frozen = [...familyOf(server.patroni.pid), ...familyOf(postmaster(server))]
      for (const pid of server.frozen) process.kill(pid, 'SIGSTOP')
    },
    /** As its watchdog does, before it wakes. */
    async reset(server) {
      endFrozen(server)
      await server.patroni.exited
    },
    /** Patroni leaves the server behind. */
    end() {
      for (const server of servers) {
        const pid = postmaster(server)
        try {
          endFrozen(server)
          if (pid !== undefined) process.kill(pid, 'SIGQUIT')
        } catch {
          // It is gone already.
        }
      }
    },
  }
}
