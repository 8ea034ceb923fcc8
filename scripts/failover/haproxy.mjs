// A proxy before the daemons, and before the database: the configuration of docs/fleet.md.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, start, until } from './processes.mjs'

const configOf = ({ http, database, daemons, servers }) => `
global
    maxconn 4096
defaults
    timeout connect 3s
    timeout client 1h
    timeout server 1h
    timeout check 2s
frontend http
    bind 127.0.0.1:${http}
    mode http
    # With no daemon ready, a daemon says so better than the proxy.
    use_backend anyway if { nbsrv(ready) eq 0 }
    default_backend ready
backend ready
    mode http
    option httpchk GET /readyz
    option forwardfor
    # What was not sent yet, or what a daemon never took, goes to the other one.
    option redispatch 1
    retries 3
    retry-on conn-failure
    balance roundrobin
    default-server check inter 500ms fall 2 rise 1
${daemons.map((url, at) => `    server tapchipd${at + 1} ${new URL(url).host}`).join('\n')}
backend anyway
    mode http
    option forwardfor
${daemons.map((url, at) => `    server tapchipd${at + 1} ${new URL(url).host}`).join('\n')}
${database === undefined ? '' : databaseOf(database, servers)}`

const databaseOf = (port, servers) => `listen database
    bind 127.0.0.1:${port}
    mode tcp
    # Patroni answers 200 on the primary alone.
    option httpchk GET /primary
    default-server check inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.map(({ name, port, restPort }) => `    server ${name} 127.0.0.1:${port} check port ${restPort}`).join('\n')}
`

/** @returns the addresses of both, as far as they are wanted */
export async function startHaproxy(place, { daemons, servers }) {
  const http = await freePort()
  const database = servers === undefined ? undefined : await freePort()
  const file = join(place, 'haproxy.cfg')
  writeFileSync(file, configOf({ http, database, daemons, servers }))
  start('haproxy', ['-db', '-f', file], { log: join(place, 'haproxy.log') })
  const url = `http://127.0.0.1:${http}`
  if (daemons.length > 0)
    await until('the proxy has a daemon', async () => (await fetch(`${url}/healthz`)).ok)
  return { url, database }
}
