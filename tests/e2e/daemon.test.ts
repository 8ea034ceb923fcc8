import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { killOnceThere, run, spawnDaemon } from '../support/process.ts'
import { acmeKey, derived, listedKey, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let dir: string
let seedFile: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-e2e-'))
  seedFile = join(dir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const withoutChain = { TAPCHIP_DEV_CHAIN: 'off' }

describe('tapchipd', () => {
  test('prints one ready line, serves, and ends with 0 on SIGTERM; what was there stays', async () => {
    const data = join(dir, 'data')
    const args = ['--data-dir', data, '--port', '0', '--seed', seedFile]
    const first = await spawnDaemon(args)
    expect(first.ready).toEqual({
      event: 'ready',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      admin: first.ready.url,
      pid: expect.any(Number),
      dataDir: data,
      chains: { 31337: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) },
    })
    const parameters = tap(derived, { uid: uids.jacket }, 5)
    const found = await (await fetch(first.ready.url + tapPath(parameters, '/chips/find'))).json()
    expect(found).toMatchObject({ isValidTap: true })
    const before = await (
      await fetch(`${first.ready.url}/chip-groups`, { headers: { 'x-svc-api-key': acmeKey } })
    ).json()
    expect(await first.stop()).toBe(0)
    for (const line of first.log().trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow()

    const second = await spawnDaemon(args)
    expect(await (await fetch(second.ready.url + tapPath(parameters, '/chips/find'))).json()).toMatchObject({
      isValidTap: false,
    })
    expect(
      await (
        await fetch(`${second.ready.url}/chip-groups`, { headers: { 'x-svc-api-key': acmeKey } })
      ).json(),
    ).toEqual(before)
    expect(await second.stop()).toBe(0)
  })

  test('keeps its directory, its keys and its token to their owner', async () => {
    const data = join(dir, 'data')
    const daemon = await spawnDaemon(['--data-dir', data, '--port', '0'], withoutChain)
    const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)
    expect(mode(data)).toBe('700')
    expect(mode(join(data, 'data.key'))).toBe('600')
    expect(mode(join(data, 'admin.token'))).toBe('600')
    const token = readFileSync(join(data, 'admin.token'), 'utf8').trim()
    const answer = await fetch(`${daemon.ready.url}/admin/teams`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(answer.status).toBe(200)
    await daemon.stop()
  })

  test('--ephemeral leaves nothing behind', async () => {
    const daemon = await spawnDaemon(['--ephemeral', '--port', '0'])
    expect(existsSync(daemon.ready.dataDir)).toBe(true)
    expect(await daemon.stop()).toBe(0)
    expect(existsSync(daemon.ready.dataDir)).toBe(false)
  })

  test('no key, code or token is in a log at its most talkative, nor in the database file', async () => {
    const data = join(dir, 'data')
    const args = ['--data-dir', data, '--port', '0', '--seed', seedFile, '--log-level', 'trace']
    const daemon = await spawnDaemon(args, withoutChain)
    const { url } = daemon.ready
    const parameters = tap(derived, { uid: uids.jacket }, 5)
    const opened = await fetch(url + tapPath(parameters), { redirect: 'manual' })
    const ref = new URL(opened.headers.get('location') ?? '').searchParams.get('svcRef') ?? ''
    const body: unknown = await (
      await fetch(`${url}/refs/${ref}`, { headers: { 'x-svc-api-key': acmeKey } })
    ).json()
    const code = /"otp":"([^"]+)"/.exec(JSON.stringify(body))?.[1] ?? ''
    expect(code).toHaveLength(21)
    await fetch(`${url}/otps/${code}`, { method: 'DELETE', headers: { 'x-svc-api-key': acmeKey } })
    await fetch(`${url}/chips/find?e=${parameters.e}&c=nonsense`)
    await fetch(`${url}/chips`, {
      method: 'PATCH',
      headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/json' },
      body: '{"tagUIDs":',
    })
    await daemon.stop()
    const keys = [derived.metaReadKey, derived.fileReadKey, listedKey]
    const secrets = [
      ...keys,
      acmeKey,
      ref,
      code,
      parameters.e,
      parameters.c,
      readFileSync(join(data, 'admin.token'), 'utf8').trim(),
    ]
    for (const secret of secrets) expect(daemon.log().toLowerCase()).not.toContain(secret.toLowerCase())
    const stored = Buffer.concat(
      readdirSync(data)
        .filter((name) => name.startsWith('tapchip.db'))
        .map((name) => readFileSync(join(data, name))),
    )
    for (const key of keys) {
      expect(stored.includes(Buffer.from(key, 'hex'))).toBe(false)
      expect(stored.toString('latin1').toLowerCase()).not.toContain(key)
    }
    for (const secret of [acmeKey, ref, code]) expect(stored.includes(Buffer.from(secret))).toBe(false)
  })

  test('refuses to start without the data key of its database, and makes no fresh one', async () => {
    const data = join(dir, 'data')
    await (await spawnDaemon(['--data-dir', data, '--port', '0', '--seed', seedFile], withoutChain)).stop()
    const key = readFileSync(join(data, 'data.key'), 'utf8')
    rmSync(join(data, 'data.key'))
    const missing = await run('tapchipd', ['--data-dir', data, '--port', '0'], withoutChain)
    expect(missing).toMatchObject({ code: 1, stdout: '' })
    expect(missing.stderr).toContain('data key')
    expect(existsSync(join(data, 'data.key'))).toBe(false)
    const wrong = await run('tapchipd', ['--data-dir', data, '--port', '0'], {
      ...withoutChain,
      TAPCHIP_DATA_KEY: '00'.repeat(32),
    })
    expect(wrong).toMatchObject({ code: 1, stdout: '' })
    expect(wrong.stderr).toContain('not the one')
    const right = await spawnDaemon(['--data-dir', data, '--port', '0'], {
      ...withoutChain,
      TAPCHIP_DATA_KEY: key.trim(),
    })
    expect(await right.stop()).toBe(0)
    writeFileSync(join(data, 'data.key'), key)
    chmodSync(join(data, 'data.key'), 0o644)
    expect((await run('tapchipd', ['--data-dir', data, '--port', '0'], withoutChain)).stderr).toContain(
      'chmod 600',
    )
  })

  test('refuses a database of a newer version, untouched', async () => {
    const data = join(dir, 'data')
    await (await spawnDaemon(['--data-dir', data, '--port', '0'], withoutChain)).stop()
    const file = new BetterSqlite3(join(data, 'tapchip.db'))
    file
      .prepare('insert into kysely_migration (name, timestamp) values (?, ?)')
      .run('9999-from-the-future', '2099-01-01')
    file.close()
    const refused = await run('tapchipd', ['--data-dir', data, '--port', '0'], withoutChain)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('9999-from-the-future')
    expect(refused.stderr).toContain('newer')
  })

  // In the order in which a first start makes them.
  test.each([
    'daemon.lock',
    'data.key',
    'tapchip.db',
    'tapchip.db-wal',
    'instance',
    'admin.token',
    'dev-chain',
    'daemon.json',
  ])('killed in its first start as soon as it has made %s, it starts again', async (file) => {
    const data = join(dir, 'killed')
    const chain = ['dev-chain', 'daemon.json'].includes(file) ? 'on' : 'off'
    const args = ['--data-dir', data, '--port', '0', '--seed', seedFile, '--dev-chain', chain]
    await killOnceThere(join(data, file), args)
    const again = await spawnDaemon(args)
    const groups = await fetch(`${again.ready.url}/chip-groups`, { headers: { 'x-svc-api-key': acmeKey } })
    expect(groups.status).toBe(200)
    expect(await again.stop()).toBe(0)
  })

  test('refuses a directory that another one uses, and is free of it after a kill', async () => {
    const data = join(dir, 'data')
    const first = await spawnDaemon(['--data-dir', data, '--port', '0'], withoutChain)
    const second = await run('tapchipd', ['--data-dir', data, '--port', '0'], withoutChain)
    expect(second).toMatchObject({ code: 1 })
    expect(second.stderr).toContain('Another tapchipd uses')
    await first.kill()
    const third = await spawnDaemon(['--data-dir', data, '--port', '0'], withoutChain)
    expect(await third.stop()).toBe(0)
  })

  test.each([
    [['--port', 'many'], {}, 2, 'port'],
    [['--nonsense'], {}, 2, 'nonsense'],
    [[], { TAPCHIP_RATE_LIMIT: 'often' }, 2, 'TAPCHIP_RATE_LIMIT'],
    [['--seed', 'nothing.json'], {}, 1, 'nothing.json'],
    [['--config', 'nothing.json'], {}, 2, 'nothing.json'],
  ])('says what does not fit: %j %j', async (args, env, code, words) => {
    const finished = await run('tapchipd', ['--ephemeral', '--port', '0', ...args], { ...env })
    expect(finished).toMatchObject({ code, stdout: '' })
    expect(finished.stderr).toContain(words)
    expect(finished.stderr).not.toContain('    at ')
  })

  test('flags come before the environment, and the environment before the file', async () => {
    const config = join(dir, 'config.json')
    writeFileSync(
      config,
      JSON.stringify({ wirePrefix: 'fromfile', baseUrl: 'https://file.example', logLevel: 'error' }),
    )
    const daemon = await spawnDaemon(
      ['--ephemeral', '--port', '0', '--config', config, '--base-url', 'https://flag.example'],
      { ...withoutChain, TAPCHIP_WIRE_PREFIX: 'fromenv' },
    )
    const document = await (await fetch(`${daemon.ready.url}/openapi.json`)).text()
    expect(document).toContain('x-fromenv-api-key')
    expect(document).toContain('https://flag.example')
    expect(daemon.log()).toBe('')
    await daemon.stop()
    writeFileSync(config, JSON.stringify({ adminToken: 'adm_should-not-stand-here' }))
    expect((await run('tapchipd', ['--ephemeral', '--config', config])).stderr).toContain(
      'TAPCHIP_ADMIN_TOKEN',
    )
    writeFileSync(config, JSON.stringify({ prot: 1 }))
    expect((await run('tapchipd', ['--ephemeral', '--config', config])).stderr).toContain('prot')
  })

  test('--help and --version', async () => {
    const help = await run('tapchipd', ['--help'])
    expect(help).toMatchObject({ code: 0, stderr: '' })
    for (const flag of [
      '--host',
      '--port',
      '--data-dir',
      '--base-url',
      '--config',
      '--seed',
      '--ephemeral',
      '--log-level',
    ])
      expect(help.stdout).toContain(flag)
    expect((await run('tapchipd', ['--version'])).stdout).toMatch(/^tapchipd \d+\.\d+\.\d+\n$/)
  })
})

describe('a seed file', () => {
  test('that does not fit is refused with the path of what is wrong', async () => {
    writeFileSync(seedFile, JSON.stringify({ version: 2 }))
    const finished = await run('tapchipd', ['--ephemeral', '--port', '0', '--seed', seedFile])
    expect(finished).toMatchObject({ code: 1, stdout: '' })
    expect(finished.stderr).toContain('version')
    expect(finished.stderr).not.toContain('    at ')
  })

  test('loads the demo of the README', async () => {
    const daemon = await spawnDaemon(['--ephemeral', '--port', '0', '--seed', 'fixtures/demo.json'])
    expect(await daemon.stop()).toBe(0)
  })
})
