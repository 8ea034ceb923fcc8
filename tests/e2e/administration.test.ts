import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestOptions, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type DaemonProcess, run, spawnDaemon } from '../support/process.ts'

let dir: string
const cleanUp: (() => unknown)[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-administration-'))
})
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean()
  rmSync(dir, { recursive: true, force: true })
})

async function daemonWith(args: string[], env: Record<string, string> = {}, data = join(dir, 'data')) {
  const daemon = await spawnDaemon(['--data-dir', data, '--port', '0', ...args], {
    TAPCHIP_DEV_CHAIN: 'off',
    ...env,
  })
  cleanUp.push(daemon.stop)
  const token = readFileSync(join(data, 'admin.token'), 'utf8').trim()
  return { ...daemon, data, socket: join(data, 'admin.sock'), headers: { authorization: `Bearer ${token}` } }
}

const publicUrl = ['--base-url', 'https://tap.example.com']

/** Node's own fetch sets the Host, and speaks to no socket. */
const ask = (options: RequestOptions): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    send(options, async (answer) => {
      let text = ''
      for await (const chunk of answer) text += String(chunk)
      resolve({ status: answer.statusCode ?? 0, text })
    })
      .on('error', reject)
      .end()
  })

const at = (url: string, path: string, headers: Record<string, string> = {}, method = 'GET') =>
  ask({ hostname: '127.0.0.1', port: new URL(url).port, path, headers, method })

/** What nginx does for `proxy_pass http://127.0.0.1:PORT`: the upstream's name as the Host, and no mark of itself. */
async function plainProxy(to: string): Promise<string> {
  const upstream = new URL(to)
  const server = createServer((incoming: IncomingMessage, outgoing) => {
    const { method, url, headers } = incoming
    const onward = send(
      {
        hostname: upstream.hostname,
        port: upstream.port,
        path: url,
        method,
        headers: { ...headers, host: upstream.host },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      },
    )
    incoming.pipe(onward)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  cleanUp.push(() => server.closeAllConnections())
  cleanUp.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const withoutId = (text: string) => ({ ...JSON.parse(text), requestId: '' })

describe('once a base URL for the public is set', () => {
  test('a reverse proxy publishes neither administration nor metrics, whatever name a client uses', async () => {
    const daemon = await daemonWith(publicUrl)
    const { url, admin } = daemon.ready
    expect(admin).toBe(`unix:${daemon.socket}`)
    const proxy = await plainProxy(url)
    for (const address of [proxy, url]) {
      expect((await at(address, '/healthz')).status).toBe(200)
      expect((await at(address, '/chip-groups')).status).toBe(401)
      const unknown = withoutId((await at(address, '/nothing-here')).text)
      for (const path of [
        '/admin/teams',
        '/admin/status?check=true',
        '/%61dmin/teams',
        '/admin/teams/',
        '/admin/openapi.json',
        '/metrics',
      ])
        for (const host of [{}, { host: 'localhost' }, { host: 'tap.example.com' }]) {
          const answer = await at(address, path, { ...daemon.headers, ...host })
          expect({ path, ...host, status: answer.status }).toEqual({ path, ...host, status: 404 })
          expect(withoutId(answer.text)).toEqual(unknown)
        }
      expect((await at(address, '/admin/teams', daemon.headers, 'POST')).status).toBe(404)
      expect((await at(address, '/metrics', {}, 'OPTIONS')).status).toBe(404)
    }
    const within = (path: string, headers = daemon.headers) =>
      ask({ socketPath: daemon.socket, path, headers })
    expect((await within('/admin/teams')).status).toBe(200)
    expect((await within('/metrics')).text).toContain('tapchip_')
    expect((await within('/readyz')).status).toBe(200)
    expect(statSync(daemon.socket).mode & 0o777).toBe(0o600)
    // Not through a proxy either that somebody leads to the socket.
    expect((await within('/admin/teams', { ...daemon.headers, ...{ via: '1.1 x' } })).status).toBe(403)
  })

  test('it is on TAPCHIP_ADMIN_LISTEN where that is set, to direct requests for this machine alone', async () => {
    const daemon = await daemonWith(publicUrl, { TAPCHIP_ADMIN_LISTEN: '127.0.0.1:0' })
    const { url, admin } = daemon.ready
    expect(admin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(admin).not.toBe(url)
    expect((await at(admin, '/admin/teams', daemon.headers)).status).toBe(200)
    expect((await at(admin, '/metrics')).status).toBe(200)
    expect((await ask({ socketPath: daemon.socket, path: '/metrics' })).status).toBe(200)
    expect((await at(url, '/admin/teams', daemon.headers)).status).toBe(404)
    for (const wrong of [{ host: 'evil.example' }, { 'x-forwarded-for': '203.0.113.9' }])
      expect((await at(admin, '/metrics', wrong as Record<string, string>)).status).toBe(403)
  })

  test('TAPCHIP_ADMIN_REMOTE=on keeps it where chips lead as well', async () => {
    const daemon = await daemonWith(publicUrl, { TAPCHIP_ADMIN_REMOTE: 'on' })
    expect(daemon.ready.admin).toBe(daemon.ready.url)
    const proxied = await at(await plainProxy(daemon.ready.url), '/admin/teams', {
      ...daemon.headers,
      'x-forwarded-for': '203.0.113.9',
    })
    expect(proxied.status).toBe(200)
    expect((await ask({ socketPath: daemon.socket, path: '/metrics' })).status).toBe(200)
  })

  test('a proxy that the daemon was not told of is warned of, in the log and by doctor', async () => {
    const words = /is served through a proxy, but TAPCHIP_TRUST_PROXY is not set/
    const daemon = await daemonWith(publicUrl)
    expect(daemon.log()).toMatch(words)
    const doctor = await run('tapchip', ['doctor', '--json'], {
      HOME: dir,
      TAPCHIP_URL: daemon.ready.url,
      TAPCHIP_DATA_DIR: daemon.data,
    })
    expect(JSON.parse(doctor.stdout)).toContainEqual(
      expect.objectContaining({ check: 'settings', status: 'warn', detail: expect.stringMatching(words) }),
    )
    expect(JSON.parse(doctor.stdout)).toContainEqual(
      expect.objectContaining({ check: 'administration', detail: `at unix:${daemon.socket}` }),
    )
    const told = await daemonWith(publicUrl, { TAPCHIP_TRUST_PROXY: '1' }, join(dir, 'other'))
    expect(told.log()).not.toMatch(words)
  })
})

describe('a daemon that listens beyond loopback', () => {
  test.each([
    ['without a base URL', []],
    ['whose base URL is on loopback', ['--base-url', 'http://localhost:8484']],
  ])('%s keeps administration off that listener', async (_title, args) => {
    const daemon = await daemonWith(['--host', '0.0.0.0', ...args])
    const { url, admin } = daemon.ready
    expect(admin).toBe(`unix:${daemon.socket}`)
    expect((await at(url, '/healthz')).status).toBe(200)
    const unknown = withoutId((await at(url, '/nothing-here')).text)
    for (const path of ['/admin/teams', '/admin/openapi.json', '/metrics']) {
      const answer = await at(url, path, daemon.headers)
      expect({ path, status: answer.status }).toEqual({ path, status: 404 })
      expect(withoutId(answer.text)).toEqual(unknown)
      const within = await ask({ socketPath: daemon.socket, path, headers: daemon.headers })
      expect({ path, status: within.status }).toEqual({ path, status: 200 })
    }
    const teams = await run('tapchip', ['teams', 'list', '--json'], {
      HOME: dir,
      TAPCHIP_URL: url,
      TAPCHIP_DATA_DIR: daemon.data,
    })
    expect(teams).toMatchObject({ code: 0, stdout: '[]\n' })
  })

  test('has it on TAPCHIP_ADMIN_LISTEN, or on all with TAPCHIP_ADMIN_REMOTE=on', async () => {
    const host = ['--host', '0.0.0.0']
    const apart = await daemonWith(host, { TAPCHIP_ADMIN_LISTEN: '127.0.0.1:0' })
    expect((await at(apart.ready.admin, '/metrics')).status).toBe(200)
    expect((await at(apart.ready.url, '/metrics')).status).toBe(404)
    const remote = await daemonWith(host, { TAPCHIP_ADMIN_REMOTE: 'on' }, join(dir, 'remote'))
    expect(remote.ready.admin).toBe(remote.ready.url)
    for (const path of ['/admin/teams', '/admin/openapi.json', '/metrics'])
      expect((await at(remote.ready.url, path, remote.headers)).status).toBe(200)
  })
})

describe('without one', () => {
  test('administration stays where it was, and is on the socket besides', async () => {
    for (const [index, args] of [[], ['--base-url', 'http://localhost:9999']].entries()) {
      const daemon = await daemonWith(args, {}, join(dir, `data-${index}`))
      expect(daemon.ready.admin).toBe(daemon.ready.url)
      expect((await at(daemon.ready.url, '/admin/teams', daemon.headers)).status).toBe(200)
      const within = await ask({ socketPath: daemon.socket, path: '/admin/teams', headers: daemon.headers })
      expect(within.status).toBe(200)
    }
  })

  test('it moves to TAPCHIP_ADMIN_LISTEN', async () => {
    const daemon = await daemonWith([], { TAPCHIP_ADMIN_LISTEN: 'localhost:0' })
    expect((await at(daemon.ready.admin, '/metrics')).status).toBe(200)
    expect((await at(daemon.ready.url, '/metrics')).status).toBe(404)
  })

  test.each(['9484', 'localhost', '127.0.0.1:70000', 'x:y'])(
    'TAPCHIP_ADMIN_LISTEN=%s is refused',
    async (listen) => {
      const refused = await run('tapchipd', ['--ephemeral', '--port', '0'], { TAPCHIP_ADMIN_LISTEN: listen })
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('TAPCHIP_ADMIN_LISTEN') })
    },
  )

  test('an address that is taken is named, and nothing is left behind', async () => {
    const first = await daemonWith([])
    const { host } = new URL(first.ready.url)
    const data = join(dir, 'second')
    const second = await run('tapchipd', ['--data-dir', data, '--port', '0'], {
      TAPCHIP_ADMIN_LISTEN: host,
      TAPCHIP_DEV_CHAIN: 'off',
    })
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining(`${host} is already in use`) })
    expect(existsSync(join(data, 'admin.sock'))).toBe(false)
  })
})

describe('the socket', () => {
  test('of a daemon that was killed is replaced, and goes when the daemon stops', async () => {
    const first: DaemonProcess = await daemonWith(publicUrl)
    await first.kill()
    const { socket, data, ...second } = await daemonWith(publicUrl)
    expect((await ask({ socketPath: socket, path: '/healthz' })).status).toBe(200)
    expect(JSON.parse(readFileSync(join(data, 'daemon.json'), 'utf8'))).toEqual({
      pid: second.ready.pid,
      url: second.ready.url,
      baseUrl: 'https://tap.example.com',
      admin: `unix:${socket}`,
      instance: expect.stringMatching(/./),
      startedAt: expect.stringMatching(/Z$/),
    })
    expect(statSync(join(data, 'daemon.json')).mode & 0o777).toBe(0o600)
    expect(await second.stop()).toBe(0)
    expect(existsSync(socket)).toBe(false)
  })

  test('may lie as deep as a file may', async () => {
    const deep = join(dir, ...Array.from({ length: 4 }, (_, level) => `${level}`.repeat(60)), 'data')
    const daemon = await daemonWith(publicUrl, {}, deep)
    expect(daemon.ready.admin).toBe(`unix:${deep}/admin.sock`)
    expect(statSync(daemon.socket).isSocket()).toBe(true)
    const listed = await run('tapchip', ['daemon', 'status', '--json'], {
      HOME: dir,
      TAPCHIP_ADMIN_URL: daemon.ready.admin,
    })
    expect(listed).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(listed.stdout)).toMatchObject({ dataDir: deep, admin: daemon.ready.admin })
    expect(await daemon.stop()).toBe(0)
    expect(existsSync(daemon.socket)).toBe(false)
  })

  test('that cannot be made is warned of, and administration is on a port of its own', async () => {
    const data = join(dir, 'data')
    mkdirSync(join(data, 'admin.sock', 'in the way'), { recursive: true, mode: 0o700 })
    const daemon = await daemonWith(publicUrl)
    expect(daemon.log()).toContain('There is no socket for administration')
    expect(daemon.ready.admin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await at(daemon.ready.admin, '/admin/teams', daemon.headers)).status).toBe(200)
    expect((await at(daemon.ready.url, '/admin/teams', daemon.headers)).status).toBe(404)
  })
})
