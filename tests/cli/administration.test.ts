import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { spawnDaemon } from '../support/process.ts'
import { acmeKey } from '../support/seeds.ts'

let here: CliHome
const cleanUp: (() => unknown)[] = []
beforeEach(() => {
  here = cliHome()
})
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean()
  here.remove()
})

/** A daemon on the data directory that the CLI looks into by itself. */
async function ownDaemon(args: string[] = [], env: Record<string, string> = {}) {
  const dataDir = join(here.home, '.local/share/tapchip')
  const daemon = await spawnDaemon(['--data-dir', dataDir, '--port', '0', ...args], {
    TAPCHIP_DEV_CHAIN: 'off',
    ...env,
  })
  cleanUp.push(daemon.stop)
  return { ...daemon, token: readFileSync(join(dataDir, 'admin.token'), 'utf8').trim() }
}

/** Somebody else's program on a port of this machine, and all that it was sent. */
async function stranger(instance = 'somebody-else', redirectTo?: string) {
  const seen: { path: string; port: number; headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    seen.push({ path: request.url ?? '', port: request.socket.remotePort ?? 0, headers: request.headers })
    if (redirectTo !== undefined && request.url !== '/healthz') {
      response.writeHead(307, { location: `${redirectTo}${request.url}` }).end()
      return
    }
    response.setHeader('content-type', 'application/json')
    response.end(request.url === '/healthz' ? JSON.stringify({ status: 'ok', instance }) : '[]')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  cleanUp.push(() => server.closeAllConnections())
  cleanUp.push(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const contexts = (file: unknown) => {
  mkdirSync(join(here.home, '.config/tapchip'), { recursive: true })
  writeFileSync(join(here.home, '.config/tapchip/config.json'), JSON.stringify(file))
}
const keptContexts = () =>
  JSON.parse(readFileSync(join(here.home, '.config/tapchip/config.json'), 'utf8')).contexts

describe("the token of a daemon's data directory", () => {
  test('is not sent to whoever else listens on this machine', async () => {
    const daemon = await ownDaemon()
    const other = await stranger()
    here.env.TAPCHIP_URL = other.url
    const ran = await here.run('teams', 'list')
    expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining('No API key, and no admin token')])
    expect(other.seen).toEqual([])
    for (const args of [['daemon', 'status'], ['doctor'], ['--version'], ['chip-groups', 'list']])
      await here.run(...args)
    await here.run('teams', 'list', '--url', other.url.replace('127.0.0.1', 'localhost'))
    expect(JSON.stringify(other.seen)).not.toContain(daemon.token)
  })

  test('is not sent to whoever took the port of a daemon that is gone', async () => {
    const daemon = await ownDaemon()
    here.env.TAPCHIP_URL = daemon.ready.url
    expect((await here.run('teams', 'list', '--json')).json()).toEqual([])
    await daemon.kill()
    const seen: IncomingHttpHeaders[] = []
    const thief = createServer((request, response) => {
      seen.push(request.headers)
      response.end('[]')
    })
    await new Promise<void>((done) => thief.listen(Number(new URL(daemon.ready.url).port), '127.0.0.1', done))
    cleanUp.push(() => thief.close())
    expect((await here.run('teams', 'list')).code).toBe(5)
    rmSync(join(here.home, '.local/share/tapchip/admin.sock'))
    expect((await here.run('teams', 'list')).code).toBe(4)
    expect(seen).toEqual([])
  })

  test('is not what is missing where the daemon is down', async () => {
    const daemon = await ownDaemon()
    await daemon.stop()
    here.env.TAPCHIP_URL = daemon.ready.url
    const down = await here.run('teams', 'list')
    expect([down.code, down.stderr]).toEqual([
      5,
      expect.stringContaining('Daemon not reachable at 127.0.0.1:'),
    ])
    here.env.TAPCHIP_ADMIN_URL = `unix:${here.home}/none/admin.sock`
    const none = await here.run('teams', 'create', 'Acme')
    expect([none.code, none.stderr]).toEqual([5, expect.stringContaining('Daemon not reachable at unix:/')])
    // Of another machine it is not asked.
    expect((await here.run('teams', 'list', '--url', 'https://tap.invalid')).code).toBe(4)
  })

  test('lets doctor go on where the public address leads nowhere', async () => {
    const data = join(here.home, 'shop')
    const env = { TAPCHIP_DEV_CHAIN: 'off' }
    const daemon = await spawnDaemon(
      ['--data-dir', data, '--port', '0', '--base-url', 'https://tap.invalid'],
      env,
    )
    cleanUp.push(daemon.stop)
    here.env.TAPCHIP_URL = 'https://tap.invalid'
    here.env.TAPCHIP_ADMIN_URL = `unix:${data}/admin.sock`
    const found = (await here.run('doctor', '--json')).json()
    expect(found).toContainEqual(expect.objectContaining({ check: 'daemon', status: 'fail' }))
    expect(found).toContainEqual(expect.objectContaining({ check: 'database', status: 'ok' }))
    expect(found).toContainEqual({
      ...{ check: 'data directory', status: 'ok', fix: null },
      detail: expect.stringContaining(data),
    })
  })

  test('opens a daemon that faces the public, by its own address and by that of its chips', async () => {
    const daemon = await ownDaemon(['--base-url', 'https://tap.example.com'])
    for (const url of [daemon.ready.url, 'https://tap.example.com', 'https://tap.example.com/']) {
      const made = await here.run('teams', 'list', '--json', '--url', url)
      expect([made.code, made.stdout.trim()]).toEqual([0, '[]'])
    }
    expect((await here.run('teams', 'list', '--url', 'https://tap.example.com/other')).code).toBe(4)
    const status = await here.run('daemon', 'status', '--url', daemon.ready.url)
    expect(status.stdout).toContain(daemon.ready.admin)
  })

  test('says once what to do where there is no team', async () => {
    const daemon = await ownDaemon()
    here.env.TAPCHIP_URL = daemon.ready.url
    const ran = await here.run('links', 'create', '--label', 'A', '--base-url', 'https://a.example')
    expect(ran.stderr).toMatch(/no team yet\. Create one: tapchip teams create NAME\n$/)
  })

  test('opens the daemon whose socket is named', async () => {
    const daemon = await ownDaemon(['--base-url', 'https://tap.example.com'])
    const elsewhere = cliHome({ TAPCHIP_ADMIN_URL: daemon.ready.admin })
    cleanUp.push(elsewhere.remove)
    expect((await elsewhere.run('teams', 'create', '--name', 'Acme')).code).toBe(0)
    expect((await elsewhere.run('teams', 'list', '--json')).json()).toMatchObject([{ name: 'Acme' }])
  })

  test('goes by the socket where administration has a port of its own', async () => {
    const daemon = await ownDaemon([], { TAPCHIP_ADMIN_LISTEN: '127.0.0.1:0' })
    here.env.TAPCHIP_ADMIN_URL = daemon.ready.admin
    expect((await here.run('teams', 'list', '--json')).json()).toEqual([])
    // A token that was given goes where it is told to.
    const elsewhere = cliHome({
      TAPCHIP_URL: daemon.ready.url,
      TAPCHIP_ADMIN_URL: daemon.ready.admin,
      TAPCHIP_ADMIN_TOKEN: daemon.token,
    })
    cleanUp.push(elsewhere.remove)
    expect((await elsewhere.run('teams', 'list', '--json')).json()).toEqual([])
    delete elsewhere.env.TAPCHIP_ADMIN_URL
    const lost = await elsewhere.run('teams', 'list')
    expect([lost.code, lost.stderr]).toEqual([
      1,
      expect.stringMatching(/^Administration has .*TAPCHIP_ADMIN_URL/),
    ])
    expect((await elsewhere.run('doctor', '--json')).json()).toContainEqual(
      expect.objectContaining({ check: 'administration', status: 'fail' }),
    )
  })

  test('opens a daemon that was started here on another directory', async () => {
    here.env.TAPCHIP_DEV_CHAIN = 'off'
    const data = join(here.home, 'elsewhere')
    const started = await here.run('daemon', 'start', '--port', '0', '--data-dir', data, '--json')
    cleanUp.push(() => here.run('daemon', 'stop'))
    const { url } = started.json() as { url: string }
    const listed = await here.run('teams', 'list', '--json', '--url', url)
    expect(listed.json()).toEqual([])
    const shown = await here.run('teams', 'create', '--name', 'A', '--dry-run', '--json', '--url', url)
    expect(shown.json()).toMatchObject({ url: `unix:${data}/admin.sock:/admin/teams` })
  })
})

describe('keys that a context keeps', () => {
  const seed = { version: 1, teams: [{ name: 'Acme', apiKeys: [{ name: 'ops', key: acmeKey }] }] }

  test('are for the daemon that answered when they were kept', async () => {
    const daemon = await startTestDaemon({ seed })
    cleanUp.push(daemon.stop)
    here.env.TAPCHIP_URL = daemon.url
    here.stdin = acmeKey
    expect((await here.run('login', '--with-token')).code).toBe(0)
    expect(keptContexts().default).toEqual({
      url: daemon.url,
      instance: daemon.ctx.instance,
      apiKey: acmeKey,
    })
    delete here.env.TAPCHIP_URL
    here.stdin = ''
    expect((await here.run('chip-groups', 'list', '--json')).json()).toEqual([])
    here.stdin = daemon.adminToken
    expect((await here.run('login', '--admin', '--with-token')).code).toBe(0)
    expect(keptContexts().default).toMatchObject({ apiKey: acmeKey, adminToken: daemon.adminToken })
  })

  test('are not sent to another that has taken its address', async () => {
    const other = await stranger()
    const prod = { url: other.url, instance: 'ours', apiKey: 'svc_kept', adminToken: 'adm_kept-0123456789' }
    contexts({ current: 'prod', contexts: { prod } })
    for (const args of [
      ['chip-groups', 'list'],
      ['teams', 'list'],
      ['taps', 'follow'],
    ]) {
      const ran = await here.run(...args)
      expect([ran.code, ran.stderr]).toEqual([
        4,
        expect.stringMatching(/The daemon at .* "prod" .*\n.*login --context prod/),
      ])
    }
    await here.run('doctor')
    await here.run('daemon', 'status')
    expect(new Set(other.seen.map(({ path }) => path))).toEqual(new Set(['/healthz', '/readyz']))
    expect(JSON.stringify(other.seen)).not.toMatch(/_kept/)
    // A new key takes the cliHome of those that were another's.
    here.stdin = 'svc_new'
    expect((await here.run('login', '--with-token')).code).toBe(0)
    expect(keptContexts().prod).toEqual({ url: other.url, instance: 'somebody-else', apiKey: 'svc_new' })
  })

  test('cost one request more, on the same connection', async () => {
    const other = await stranger('ours')
    contexts({
      current: 'prod',
      contexts: { prod: { url: other.url, instance: 'ours', apiKey: 'svc_kept' } },
    })
    expect((await here.run('chip-groups', 'list', '--json')).json()).toEqual([])
    expect(other.seen.map(({ path }) => path)).toEqual(['/healthz', '/chip-groups'])
    expect(other.seen.map(({ headers }) => headers['x-svc-api-key'])).toEqual([undefined, 'svc_kept'])
    expect(new Set(other.seen.map(({ port }) => port)).size).toBe(1)
  })

  test('do not follow a redirect', async () => {
    const target = await stranger('ours')
    const other = await stranger('ours', target.url)
    contexts({
      current: 'prod',
      contexts: { prod: { url: other.url, instance: 'ours', apiKey: 'svc_kept' } },
    })
    expect((await here.run('chip-groups', 'list')).code).toBe(1)
    expect(target.seen).toEqual([])
  })

  test('are not sent to the address of administration either, where another answers', async () => {
    const daemon = await startTestDaemon({ seed })
    cleanUp.push(daemon.stop)
    const other = await stranger()
    const { instance } = daemon.ctx
    const prod = {
      url: daemon.url,
      adminUrl: other.url,
      instance,
      apiKey: acmeKey,
      adminToken: daemon.adminToken,
    }
    contexts({ current: 'prod', contexts: { prod } })
    expect((await here.run('chip-groups', 'list', '--json')).json()).toEqual([])
    expect((await here.run('teams', 'list')).code).toBe(4)
    expect(other.seen.map(({ path }) => path)).toEqual(['/healthz'])
  })
})
