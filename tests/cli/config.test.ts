import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'

let here: CliHome
beforeEach(() => {
  here = cliHome()
})
afterEach(() => here.remove())

const shown = async (...flags: string[]) => (await here.run('context', 'show', '--json', ...flags)).json()
const context = (name: string, daemon: string, ...flags: string[]) =>
  here.run('context', 'create', name, '--daemon', daemon, ...flags)
const login = async (key: string, ...flags: string[]) => {
  here.stdin = `${key}\n`
  const ran = await here.run('login', '--with-token', '--offline', ...flags)
  here.stdin = ''
  return ran
}

describe('where the daemon is', () => {
  test('flags beat the environment, which beats the context file, which beats the default', async () => {
    expect(await shown()).toMatchObject({ url: 'http://127.0.0.1:8484', origin: 'default', hasApiKey: false })
    await context('prod', 'https://prod.example')
    await context('test', 'https://test.example')
    expect(await shown()).toMatchObject({ url: 'https://prod.example', origin: 'context prod' })
    here.env.TAPCHIP_CONTEXT = 'test'
    expect(await shown()).toMatchObject({ url: 'https://test.example' })
    here.env.TAPCHIP_URL = 'https://env.example'
    expect(await shown()).toMatchObject({ url: 'https://env.example', origin: 'TAPCHIP_URL' })
    expect(await shown('--context', 'prod')).toMatchObject({ url: 'https://prod.example' })
    expect(await shown('--url', 'https://flag.example', '--context', 'prod')).toMatchObject({
      url: 'https://flag.example',
    })
  })

  test('what is no address is refused', async () => {
    for (const url of ['nonsense', 'ftp://x', 'http://user:secret@x']) {
      expect((await here.run('context', 'show', '--url', url)).code).toBe(2)
    }
    const ran = await here.run('context', 'show', '--context', 'nope')
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('no context "nope"')])
  })
})

describe('keys', () => {
  test('a stored key goes to its own daemon alone', async () => {
    await context('prod', 'https://prod.example')
    await login('svc_stored')
    expect(await shown()).toMatchObject({ hasApiKey: true })
    expect(await shown('--url', 'https://elsewhere.example')).toMatchObject({ hasApiKey: false })
    here.env.TAPCHIP_URL = 'https://env.example'
    expect(await shown()).toMatchObject({ hasApiKey: false })
    expect(await shown('--context', 'prod')).toMatchObject({ hasApiKey: true })
  })

  test('a key of the environment is not sent to a context that a flag asks for, when it has a daemon of its own', async () => {
    await context('prod', 'https://prod.example')
    here.env.TAPCHIP_API_KEY = 'svc_env'
    expect(await shown('--context', 'prod')).toMatchObject({ hasApiKey: true })
    here.env.TAPCHIP_URL = 'https://env.example'
    expect(await shown('--context', 'prod')).toMatchObject({ hasApiKey: false })
  })

  test('are kept in a file that its owner alone can read, and are never shown', async () => {
    const ran = await login('svc_secret')
    expect(ran.code).toBe(0)
    const path = join(here.home, '.config/tapchip/config.json')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      current: 'default',
      contexts: { default: { url: 'http://127.0.0.1:8484', apiKey: 'svc_secret' } },
    })
    for (const args of [['context', 'list'], ['context', 'show'], ['doctor']]) {
      const { stdout, stderr } = await here.run(...args)
      expect(stdout + stderr).not.toContain('svc_secret')
    }
    await login('adm_secret', '--admin')
    expect((await here.run('context', 'list', '--json')).json()).toMatchObject([
      { name: 'default', current: true, hasApiKey: true, hasAdminToken: true },
    ])
    expect((await login('not a key')).code).toBe(2)
    expect((await here.run('context', 'remove', 'default', '--yes')).code).toBe(0)
    expect((await here.run('context', 'list', '--json')).json()).toEqual([])
  })

  test("a context's own address of administration is kept, and no other gets its keys", async () => {
    mkdirSync(join(here.home, '.config/tapchip'), { recursive: true })
    const path = join(here.home, '.config/tapchip/config.json')
    const prod = {
      url: 'https://prod.example',
      adminUrl: 'unix:/srv/admin.sock',
      protected: true,
      instance: 'i',
    }
    writeFileSync(path, JSON.stringify({ current: 'prod', contexts: { prod } }))
    await login('svc_stored')
    expect(JSON.parse(readFileSync(path, 'utf8')).contexts.prod).toEqual({ ...prod, apiKey: 'svc_stored' })
    here.env.TAPCHIP_ADMIN_URL = 'http://127.0.0.1:1'
    here.env.TAPCHIP_ADMIN_TOKEN = 'adm_given-in-the-environment'
    const elsewhere = await here.run('teams', 'list')
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      2,
      expect.stringContaining('its keys go nowhere else'),
    ])
    // With an address of its own the environment has nothing to do with the context.
    here.env.TAPCHIP_URL = 'http://127.0.0.1:1'
    expect((await here.run('teams', 'list')).code).toBe(5)
    for (const wrong of ['ftp://x', 'unix:admin.sock', 'nonsense']) {
      here.env.TAPCHIP_ADMIN_URL = wrong
      const ran = await here.run('teams', 'list')
      expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('TAPCHIP_ADMIN_URL')])
    }
  })

  test('a broken context file is named, with advice', async () => {
    mkdirSync(join(here.home, '.config/tapchip'), { recursive: true })
    writeFileSync(join(here.home, '.config/tapchip/config.json'), '{')
    const ran = await here.run('chips', 'list', '--chip-group', 'x')
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('config.json is not JSON')])
  })
})

test('the wire words of the environment are spoken', async () => {
  const seen: (string | string[] | undefined)[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers['x-acme-api-key'])
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ uid: '1293660434600336', isValidRef: false, stampEvents: [], guestbookEvents: [] }),
    )
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  Object.assign(here.env, {
    TAPCHIP_URL: `http://127.0.0.1:${port}`,
    TAPCHIP_API_KEY: 'svc_x',
    TAPCHIP_WIRE_PREFIX: 'acme',
    TAPCHIP_WIRE_BADGE: 'stamp',
  })
  const ran = await here.run('refs', 'show', 'x', '--json')
  server.close()
  expect(ran.json()).toEqual({
    uid: '1293660434600336',
    isValidRef: false,
    badgeEvents: [],
    guestbookEvents: [],
  })
  expect(seen).toEqual(['svc_x'])
})
