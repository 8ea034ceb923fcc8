import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { processesOf, send, until } from '../support/from-outside.ts'
import { type Finished, run } from '../support/process.ts'
import { acmeKey, seed, uids } from '../support/seeds.ts'

// An operator with more than one daemon, and others who listen on this machine.

let home: string
let seedFile: string
let chain: 'on' | 'off'
const env = () => ({ HOME: home, TAPCHIP_DEV_CHAIN: chain })
const cli = (args: string[], more: Record<string, string> = {}): Promise<Finished> =>
  run('tapchip', args, { ...env(), ...more })

beforeEach(() => {
  chain = 'off'
  home = mkdtempSync(join(tmpdir(), 'tapchip-operator-'))
  seedFile = join(home, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
})
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  // Daemons have their data below this home, or their seed.
  for (const pid of processesOf(home)) process.kill(pid, 'SIGKILL')
  for (const pid of started.splice(0)) if (processesOf('tapchipd').includes(pid)) process.kill(pid, 'SIGKILL')
  rmSync(home, { recursive: true, force: true })
})

const started: number[] = []
interface Started {
  url: string
  pid: number
  dataDir: string
}
const start = async (...args: string[]): Promise<Started> => {
  const ran = await cli(['daemon', 'start', '--port', '0', '--json', ...args])
  expect([ran.code, ran.stderr]).toEqual([0, expect.any(String)])
  const ready: Started = JSON.parse(ran.stdout)
  started.push(ready.pid)
  return ready
}
const instanceAt = async (url: string): Promise<string | undefined> =>
  (await send(`${url}/healthz`)).body?.instance

const servers: Server[] = []
/** Listens, answers as a daemon would, and keeps all that it is sent. */
async function listener(instance: string | undefined, port = 0) {
  const heard: string[] = []
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    request.on('data', (chunk: Buffer) => heard.push(chunk.toString()))
    response.setHeader('content-type', 'application/json')
    const health = { status: 'ok', name: 'tapchipd', version: '0.1.0', ...(instance ? { instance } : {}) }
    response.end(JSON.stringify(request.url === '/healthz' ? health : []))
  })
  const listens = () =>
    new Promise<true | undefined>((resolve) => {
      server.once('error', () => resolve(undefined))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
  // A process that was killed has its port for a moment longer.
  await until('the port is free', listens)
  servers.push(server)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard: () => heard.join('\n') }
}

describe('the first admin token', () => {
  test('goes to the daemon of its data directory, and to nobody else who listens on loopback', async () => {
    const daemon = await start('--seed', seedFile)
    const token = readFileSync(join(daemon.dataDir, 'admin.token'), 'utf8').trim()
    // It says of itself that it is the daemon: what names a daemon is public.
    const tunnel = await listener(await instanceAt(daemon.url))
    for (const args of [
      ['teams', 'list'],
      ['doctor'],
      ['daemon', 'status'],
      ['api-keys', 'list', '--team', 'Acme'],
    ]) {
      await cli(args, { TAPCHIP_URL: tunnel.url })
      await cli([...args, '--url', tunnel.url])
      await cli([...args, '--url', tunnel.url.replace('127.0.0.1', 'localhost')])
    }
    expect(tunnel.heard()).not.toContain(token)
    expect((await cli(['teams', 'list'], { TAPCHIP_URL: daemon.url })).code).toBe(0)
  })

  test('does not go to who took the place of a daemon that has ended', async () => {
    const daemon = await start('--seed', seedFile)
    const token = readFileSync(join(daemon.dataDir, 'admin.token'), 'utf8').trim()
    const instance = await instanceAt(daemon.url)
    process.kill(daemon.pid, 'SIGKILL')
    await gone(daemon.pid)
    const squatter = await listener(instance, Number(new URL(daemon.url).port))
    expect((await cli(['teams', 'list'], { TAPCHIP_URL: daemon.url })).code).not.toBe(0)
    expect(squatter.heard()).not.toContain(token)
  })
})

test('a stored key goes to the address that it was stored for, and not to another daemon there', async () => {
  const daemon = await start('--seed', seedFile)
  await cli(['context', 'create', 'prod', '--url', daemon.url])
  const login = await run(
    'tapchip',
    ['login', '--context', 'prod'],
    { ...env(), TAPCHIP_API_KEY: acmeKey },
    `${acmeKey}\n`,
  )
  expect([login.code, login.stderr]).toEqual([0, expect.any(String)])
  const elsewhere = await listener(undefined)
  await cli(['chip-groups', 'list', '--context', 'prod', '--url', elsewhere.url])
  await cli(['chip-groups', 'list', '--context', 'prod'], { TAPCHIP_URL: elsewhere.url })
  expect(elsewhere.heard()).not.toContain(acmeKey)
  expect((await cli(['chip-groups', 'list', '--context', 'prod'])).code).toBe(0)
  process.kill(daemon.pid, 'SIGKILL')
  await gone(daemon.pid)
  const another = await listener('another-installation', Number(new URL(daemon.url).port))
  await cli(['chip-groups', 'list', '--context', 'prod'])
  expect(another.heard()).not.toContain(acmeKey)
})

describe('with a daemon running', () => {
  test('starting another one with other flags starts that one, or fails; it never says that all is well', async () => {
    const production = await start('--seed', seedFile)
    for (const flags of [
      ['--ephemeral', '--seed', seedFile, '--port', '0'],
      ['--data-dir', join(home, 'other'), '--port', '0'],
      ['--port', '0', '--base-url', 'https://tap.example.com'],
    ]) {
      const ran = await cli(['daemon', 'start', '--json', ...flags])
      const ready: Partial<Started> = ran.code === 0 ? JSON.parse(ran.stdout) : {}
      if (ready.pid !== undefined) started.push(ready.pid)
      expect([flags, ran.code === 1 || ready.pid !== production.pid]).toEqual([flags, true])
    }
    // The same flags once more are no other daemon, and no failure.
    expect((await send(`${production.url}/healthz`)).status).toBe(200)
  })

  test('stopping by context or data directory stops that one alone', async () => {
    const [one, two] = [
      await start('--data-dir', join(home, 'one')),
      await start('--data-dir', join(home, 'two')),
    ]
    await cli(['context', 'create', 'big', '--url', two.url])
    await cli(['context', 'create', 'far', '--url', 'https://tap.example.com'])
    await cli(['daemon', 'stop', '--context', 'far'])
    expect([await isUp(one), await isUp(two)]).toEqual([true, true])
    await cli(['daemon', 'stop', '--context', 'big'])
    expect([await isUp(one), await isUp(two)]).toEqual([true, false])
    await cli(['daemon', 'stop', '--data-dir', join(home, 'one')])
    expect(await isUp(one)).toBe(false)
  })
})

describe('a write', () => {
  test('says which daemon, team and context it is for', async () => {
    const { url } = await start('--seed', seedFile)
    await cli(['context', 'create', 'shop', '--url', url])
    const ran = await cli(['chip-groups', 'create', '--name', 'New', '--team', 'Acme', '--context', 'shop'])
    expect(ran.code).toBe(0)
    expect(ran.stderr).toContain(new URL(url).host)
    expect(ran.stderr).toContain('shop')
    expect(ran.stderr).toContain('Acme')
  })

  test('through a protected context needs its name, which --yes is not', async () => {
    const { url } = await start('--seed', seedFile)
    expect((await cli(['context', 'create', 'prod', '--url', url, '--protected'])).code).toBe(0)
    const write = ['chip-groups', 'create', '--name', 'New', '--team', 'Acme', '--context', 'prod']
    const refusals = [await cli(write), await cli([...write, '--confirm', 'shop'])]
    expect(refusals.map(({ code }) => code)).toEqual([2, 2])
    expect((await cli(['chip-groups', 'list', '--team', 'Acme', '--context', 'prod'])).stdout).not.toContain(
      'New',
    )
    expect((await cli([...write, '--confirm', 'prod'])).code).toBe(0)
  })

  test('that cannot be undone needs --yes off a terminal where it is more than the one thing named', async () => {
    chain = 'on'
    const { url } = await start('--seed', seedFile)
    const at = { TAPCHIP_URL: url, TAPCHIP_API_KEY: acmeKey }
    const rows = join(home, 'rows.csv')
    const recipient = '0x52908400098527886E0F7030069857D2E4169EE7'
    writeFileSync(
      rows,
      ['uid,recipient', ...[uids.jacket, uids.unminted].map((uid) => `${uid},${recipient}`)].join('\n'),
    )
    const refused = await cli(['phygitals', 'transfer', '--file', rows], at)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')])
    expect((await cli(['phygitals', 'transfer', '--file', rows, '--yes'], at)).code).toBe(0)
  })
})

const isUp = async ({ url }: Started): Promise<boolean> =>
  (await send(`${url}/healthz`, { timeoutMs: 5000 })).status === 200
async function gone(pid: number): Promise<void> {
  while (processesOf('tapchipd').includes(pid)) await new Promise((resolve) => setTimeout(resolve, 20))
}
