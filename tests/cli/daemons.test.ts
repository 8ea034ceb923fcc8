import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { processStart } from '../../src/cli/process-state.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { spawnDaemon } from '../support/process.ts'

interface Started {
  readonly url: string
  readonly pid: number
  readonly dataDir: string
  readonly logFile: string
}

let here: CliHome
let pids: number[]
let stranger: ChildProcess | undefined
beforeEach(() => {
  here = cliHome({ PATH: process.env.PATH ?? '', TAPCHIP_DEV_CHAIN: 'off' })
  pids = []
})
afterEach(async () => {
  stranger?.kill('SIGKILL')
  stranger = undefined
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  here.remove()
})

const isAlive = (pid: number): boolean => processStart(pid) !== undefined
const start = async (...args: string[]): Promise<Started> => {
  const ran = await here.run('daemon', 'start', '--json', ...args)
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([
    0,
    expect.stringContaining('"started":true'),
    expect.anything(),
  ])
  const started = ran.json() as Started
  pids.push(started.pid)
  return started
}
const at = (name: string): string => join(here.home, name)
const records = (): string => at('.local/state/tapchip/daemons')
const rewrite = (file: string, change: Record<string, unknown>): void =>
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }))

describe('several daemons', () => {
  test('one that is suspended is not waited for, and the way to end it is told', async () => {
    const { pid } = await start('--data-dir', 'a', '--port', '0')
    process.kill(pid, 'SIGSTOP')
    const stopped = await here.run('daemon', 'stop', '--wait', '3600')
    expect(stopped.code).toBe(1)
    expect(stopped.stderr).toContain(`Process ${pid} is suspended and does not respond.`)
    expect(stopped.stderr).toContain(`kill -CONT ${pid}`)
    process.kill(pid, 'SIGCONT')
    await expect.poll(() => isAlive(pid), { timeout: 30_000 }).toBe(false)
  })

  test('live side by side, each with its directory, and the verbs find the one that is meant', async () => {
    const a = await start('--data-dir', 'a', '--port', '0')
    const b = await start('--data-dir', 'b', '--port', '0')
    const c = await start('--ephemeral', '--port', '0')
    const d = await start('--ephemeral', '--port', '0', '--log-level', 'debug')
    expect(new Set([a, b, c, d].map(({ url }) => url)).size).toBe(4)
    expect(new Set([a, b, c, d].map(({ logFile }) => logFile)).size).toBe(4)
    const listed = (await here.run('daemon', 'status', '--all', '--json')).json() as object[]
    expect(listed).toHaveLength(4)
    expect(listed).toContainEqual(expect.objectContaining({ running: true, url: a.url, dataDir: at('a') }))

    // Which one is meant does not show: none is touched.
    for (const verb of ['stop', 'status', 'logs']) {
      const ran = await here.run('daemon', verb)
      expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(`${a.url}  ${at('a')}`)])
    }
    expect((await here.run('daemon', 'status', '--data-dir', 'b', '--json')).json()).toMatchObject({
      pid: b.pid,
    })
    expect((await here.run('daemon', 'logs', '--url', c.url, '--json')).stdout).toContain(c.url)
    expect((await here.run('daemon', 'logs', '--data-dir', 'a')).stdout).not.toContain(b.url)

    // By a context: the others are left alone, by whatever name of loopback it is written.
    await here.run('context', 'create', 'big', '--url', b.url.replace('127.0.0.1', 'localhost'))
    expect((await here.run('--context', 'big', 'daemon', 'stop', '--json')).json()).toEqual({
      stopped: true,
      pid: b.pid,
    })
    const again = await here.run('--context', 'big', 'daemon', 'stop', '--json')
    expect([again.code, again.json()]).toEqual([0, { stopped: false, pid: null }])
    // Also as the current one, and by the environment, which beats it.
    expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: false, pid: null })
    here.env.TAPCHIP_URL = c.url
    expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: true, pid: c.pid })
    expect([a.pid, b.pid, c.pid, d.pid].map(isAlive)).toEqual([true, false, false, true])
    here.env.TAPCHIP_DATA_DIR = at('a')
    // They contradict each other.
    expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: false, pid: null })
    delete here.env.TAPCHIP_URL
    expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: true, pid: a.pid })
    expect(isAlive(d.pid)).toBe(true)
    delete here.env.TAPCHIP_DATA_DIR
    // A flag beats the rest: the current context is another daemon's.
    expect((await here.run('daemon', 'stop', '--url', d.url, '--json')).json()).toEqual({
      stopped: true,
      pid: d.pid,
    })
    expect(readdirSync(records())).toEqual([])
  })

  test('a start with other flags than those of the one that runs is refused, and the same again is none', async () => {
    writeFileSync(at('seed.json'), '{"version":1}')
    const first = await start('--data-dir', 'a', '--port', '0', '--log-level', 'info')
    mkdirSync(at('elsewhere'))
    symlinkSync(at('a'), at('elsewhere/linked'))
    for (const same of [
      ['--data-dir', 'a', '--port', '0', '--log-level', 'info'],
      ['--data-dir', 'elsewhere/linked'],
      ['--data-dir', 'a', '--port', new URL(first.url).port],
    ]) {
      const ran = await here.run('daemon', 'start', ...same, '--json')
      expect([ran.code, ran.json()]).toEqual([0, expect.objectContaining({ pid: first.pid, started: false })])
    }
    for (const other of [
      ['--seed', 'seed.json'],
      ['--port', '1'],
      ['--host', '127.0.0.2'],
      ['--log-level', 'debug'],
      ['--base-url', 'https://tap.example.com'],
    ]) {
      const ran = await here.run('daemon', 'start', '--data-dir', 'a', ...other)
      expect([ran.code, ran.stdout]).toEqual([1, ''])
      expect(ran.stderr).toContain(`A daemon with different flags is running on ${at('a')}, at ${first.url}`)
      expect(ran.stderr).toContain(`tapchip daemon stop --data-dir ${at('a')}`)
    }
    // Another directory, or none, is another daemon.
    const beside = await start('--ephemeral', '--port', '0', '--seed', 'seed.json')
    expect(beside.pid).not.toBe(first.pid)
    const taken = await here.run('daemon', 'start', '--data-dir', 'b', '--port', new URL(first.url).port)
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining(`keeps its data in ${at('a')}`)])
    await here.run('daemon', 'stop', '--data-dir', 'a')
    await here.run('daemon', 'stop', '--url', beside.url)
  })

  test('starts where its context says', async () => {
    const free = createServer()
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
    const address = free.address()
    const port = typeof address === 'object' && address ? address.port : 0
    await new Promise((resolve) => free.close(resolve))
    await here.run('context', 'create', 'local', '--url', `http://127.0.0.1:${port}`)
    const other = await here.run('daemon', 'start', '--context', 'local', '--port', '0')
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('Nothing was started')])
    expect((await start('--context', 'local')).url).toBe(`http://127.0.0.1:${port}`)
    expect((await here.run('daemon', 'start', '--json')).json()).toMatchObject({ started: false })
    expect((await here.run('daemon', 'stop', '--json')).json()).toMatchObject({ stopped: true })
  })

  test('is not started on another directory than that of the daemon that its context has keys for', async () => {
    const kept = await start('--data-dir', 'keep', '--port', '0')
    const { instance } = (await (await fetch(`${kept.url}/healthz`)).json()) as { instance: string }
    mkdirSync(at('.config/tapchip'), { recursive: true })
    writeFileSync(
      at('.config/tapchip/config.json'),
      JSON.stringify({ current: 'keep', contexts: { keep: { url: kept.url, instance, apiKey: 'svc_x' } } }),
    )
    expect((await here.run('daemon', 'stop')).code).toBe(0)
    const ran = await here.run('daemon', 'start')
    expect([ran.code, ran.stderr]).toEqual([
      2,
      expect.stringMatching(/"keep" has keys .*Nothing was started\.\n.*--data-dir DIR/),
    ])
    expect(existsSync(at('.local/share/tapchip'))).toBe(false)
    expect((await start('--data-dir', 'keep')).url).toBe(kept.url)
    expect((await here.run('daemon', 'stop')).code).toBe(0)
  })

  test('is started again where it was, by the line that its stop prints', async () => {
    here.env.TAPCHIP_DATA_DIR = at('keep')
    const { url } = await start('--port', '0')
    const port = new URL(url).port
    const again = await here.run('daemon', 'start', '--port', '0')
    expect(again.stderr).toContain('It is already running.\nStop it: tapchip daemon stop\n')
    delete here.env.TAPCHIP_DATA_DIR
    const named = await here.run('daemon', 'start', '--data-dir', 'keep')
    expect(named.stderr).toContain(`Stop it: tapchip daemon stop --data-dir ${at('keep')}\n`)
    const stopped = await here.run('daemon', 'stop')
    const line = `tapchip daemon start --port ${port} --data-dir ${at('keep')}`
    expect(stopped.stderr).toBe(`Start it again: ${line}\n`)
    expect((await start(...line.split(' ').slice(3))).url).toBe(url)
    expect((await here.run('daemon', 'stop')).stderr).toBe(`Start it again: ${line}\n`)
  })

  test('the log of a context is that of its own daemon, or of none', async () => {
    const { url } = await start('--port', '0')
    await start('--data-dir', 'b', '--port', '0')
    // Nothing runs there that was started here, as behind a tunnel: the daemon of the default directory is another one.
    await here.run('context', 'create', 'tunnel', '--url', 'http://127.0.0.1:1')
    await here.run('context', 'create', 'own', '--url', url)
    const own = await here.run('daemon', 'logs', '--context', 'own', '--json')
    expect([own.code, own.stdout]).toEqual([0, expect.stringContaining(url)])
    const tunnel = await here.run('daemon', 'logs', '--context', 'tunnel')
    expect([tunnel.code, tunnel.stdout, tunnel.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(
        /^There is no log of the daemon at http:\/\/127\.0\.0\.1:1 \(context tunnel\) on this machine/,
      ),
    ])
    // Logged in to one that another took the place of.
    const file = at('.config/tapchip/config.json')
    const kept = JSON.parse(readFileSync(file, 'utf8'))
    kept.contexts.own.instance = 'of-the-one-before'
    writeFileSync(file, JSON.stringify(kept))
    const taken = await here.run('daemon', 'logs', '--context', 'own')
    expect([taken.code, taken.stdout, taken.stderr]).toEqual([
      1,
      '',
      expect.stringContaining(`The daemon at ${url} is not the one that the context own names.`),
    ])
    expect((await here.run('daemon', 'logs', '--url', url)).code).toBe(0)
  })

  test('the log of one that ended is not that of another which has its address now', async () => {
    const { url, pid } = await start('--data-dir', 'a', '--port', '0')
    await here.run('context', 'create', 'big', '--url', url)
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => isAlive(pid), { timeout: 30_000 }).toBe(false)
    // As long as none answers there, why it ended is of interest.
    expect((await here.run('daemon', 'logs', '--context', 'big', '--json')).stdout).toContain(url)
    const { port } = new URL(url)
    const other = await spawnDaemon(['--port', port, '--data-dir', at('other')], { TAPCHIP_DEV_CHAIN: 'off' })
    pids.push(other.ready.pid)
    for (const flags of [
      ['--context', 'big'],
      ['--url', url],
    ]) {
      const ran = await here.run('daemon', 'logs', ...flags)
      expect([ran.code, ran.stdout, ran.stderr]).toEqual([
        1,
        '',
        expect.stringContaining(`There is no log of the daemon at ${url}`),
      ])
    }
  })

  test('doctor finds the only one that runs here, and says how other commands do', async () => {
    const { url } = await start('--data-dir', 'a', '--port', '0')
    const found = (await here.run('doctor', '--json')).json() as { check: string; status: string }[]
    // Another program on this machine may have the default port; doctor then looks at that one, as other commands do.
    const usual = 'http://127.0.0.1:8484'
    const isTaken = await fetch(usual).then(
      () => true,
      () => false,
    )
    const at = isTaken ? usual : url
    expect(found.find(({ check }) => check === 'daemon')).toMatchObject({
      detail: expect.stringContaining(at),
    })
    expect(found.filter(({ check }) => check === 'address')).toMatchObject(
      isTaken ? [] : [{ status: 'warn', fix: `export TAPCHIP_URL=${url}` }],
    )
    expect(JSON.stringify(found)).not.toContain('--url)')
    const { url: second } = await start('--data-dir', 'b', '--port', '0')
    const both = (await here.run('doctor')).stdout
    expect(both).toMatch(isTaken ? usual : new RegExp(`address: .*${second}, ${url} run here\\. Fix`))
    here.env.TAPCHIP_URL = 'http://127.0.0.1:1'
    const asked = (await here.run('doctor', '--json')).json() as { check: string; status: string }[]
    expect(asked.find(({ check }) => check === 'daemon')?.status).toBe('fail')
  })

  test('one on another machine is not started, stopped or looked into from here', async () => {
    const { pid, url } = await start('--port', '0')
    await here.run('context', 'create', 'far', '--url', 'https://tap.invalid')
    for (const args of [['--context', 'far'], []]) {
      for (const verb of ['start', 'stop', 'logs']) {
        const ran = await here.run('daemon', verb, ...args)
        expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('is not on this machine')])
      }
    }
    expect(isAlive(pid)).toBe(true)
    expect((await here.run('daemon', 'stop', '--url', url)).code).toBe(0)
    // What the start itself says is about this machine.
    const { url: fresh } = await start('--ephemeral', '--port', '0')
    expect((await here.run('daemon', 'stop', '--url', fresh)).code).toBe(0)
  })

  test('that faces the public is found by the address of its chips', async () => {
    const baseUrl = 'https://tap.invalid'
    const { pid, url } = await start('--data-dir', 'a', '--port', '0', '--base-url', baseUrl)
    await start('--data-dir', 'b', '--port', '0')
    const status = (await here.run('daemon', 'status', '--data-dir', 'a')).stdout
    expect(status).toMatch(new RegExp(`Daemon.* ${url}\n`))
    expect(status).toMatch(new RegExp(`Chips lead to.* ${baseUrl}\n`))
    await here.run('context', 'create', 'shop', '--url', baseUrl)
    await here.run('context', 'create', 'far', '--url', 'https://tap.invalid/far')
    expect((await here.run('daemon', 'stop', '--context', 'far')).code).toBe(2)
    expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: true, pid })
    expect((await here.run('daemon', 'stop', '--data-dir', 'b')).code).toBe(0)
  })

  test('a protected context is asked for before its daemon is stopped', async () => {
    const { pid, url } = await start('--port', '0')
    await here.run('context', 'create', 'shop', '--url', url, '--protected')
    const ran = await here.run('daemon', 'stop')
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--confirm shop')])
    expect(isAlive(pid)).toBe(true)
    expect((await here.run('daemon', 'stop', '--confirm', 'shop', '--json')).json()).toEqual({
      stopped: true,
      pid,
    })
  })
})

describe('stop signals a process only if it is the daemon beyond doubt', () => {
  const strange = (): number => {
    // Whatever it is called, it is no daemon of ours.
    stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', 'tapchipd'], { stdio: 'ignore' })
    return stranger.pid ?? 0
  }

  test('a stale record whose pid another process has by now', async () => {
    const { pid, dataDir } = await start('--port', '0')
    const record = join(dataDir, 'daemon.json')
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => isAlive(pid)).toBe(false)
    rewrite(record, { pid: strange() })
    const ran = await here.run('daemon', 'stop', '--json')
    expect([ran.code, ran.json()]).toEqual([0, { stopped: false, pid: null }])
    expect(stranger?.exitCode ?? stranger?.signalCode).toBeNull()
    const listed = (await here.run('daemon', 'status', '--all', '--json')).json()
    expect(listed).toEqual([expect.objectContaining({ running: false, dataDir })])
    // It is no reason to start no daemon either.
    const { pid: fresh } = await start('--port', '0')
    expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: true, pid: fresh })
  })

  test('a note of another data directory finds none there', async () => {
    const { pid, url, dataDir } = await start('--data-dir', 'a', '--port', '0')
    const [name = ''] = readdirSync(records())
    rewrite(join(records(), name), { dataDir: at('elsewhere') })
    expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: false, pid: null })
    expect(isAlive(pid)).toBe(true)
    rewrite(join(records(), name), { dataDir })
    expect((await here.run('daemon', 'stop', '--url', url, '--json')).json()).toEqual({ stopped: true, pid })
  })

  test.each([0, -1, 1, 1.5, '7', null])('a record whose pid is %s is none', async (wrong) => {
    const { pid, url, dataDir } = await start('--ephemeral', '--port', '0')
    rewrite(join(dataDir, 'daemon.json'), { pid: wrong })
    const ran = await here.run('daemon', 'stop', '--json')
    expect([ran.code, ran.json()]).toEqual([0, { stopped: false, pid: null }])
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    rewrite(join(dataDir, 'daemon.json'), { pid })
    expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: true, pid })
  })

  test('one that was started by hand is found by its data directory', async () => {
    const daemon = await spawnDaemon(['--port', '0', '--data-dir', at('by-hand')], {
      TAPCHIP_DEV_CHAIN: 'off',
    })
    pids.push(daemon.ready.pid)
    const { pid } = daemon.ready
    expect((await here.run('daemon', 'status', '--data-dir', 'by-hand', '--json')).json()).toMatchObject({
      running: true,
    })
    const none = await here.run('daemon', 'status', '--data-dir', 'none', '--json')
    expect([none.code, none.json()]).toEqual([5, { running: false, dataDir: at('none') }])
    expect((await here.run('daemon', 'stop', '--data-dir', 'elsewhere', '--json')).json()).toMatchObject({
      stopped: false,
    })
    expect((await here.run('daemon', 'stop', '--data-dir', 'by-hand', '--json')).json()).toEqual({
      stopped: true,
      pid,
    })
    // Without its directory it cannot be told which process it is: that is said, and is no success.
    const there = await spawnDaemon(['--port', '0', '--data-dir', at('by-hand')], {
      TAPCHIP_DEV_CHAIN: 'off',
    })
    pids.push(there.ready.pid)
    // With its directory the token and the socket there are found.
    const known = await here.run('daemon', 'status', '--data-dir', 'by-hand', '--json')
    expect(known.json()).toMatchObject({ running: true, pid: there.ready.pid })
    const alien = await here.run('daemon', 'stop', '--url', there.ready.url)
    expect([alien.code, alien.stdout]).toEqual([1, ''])
    expect(alien.stderr).toMatch(/A daemon answers at .*, but it was not started here.*\n.*--data-dir DIR/)
    expect(isAlive(there.ready.pid)).toBe(true)
    expect((await here.run('daemon', 'stop', '--data-dir', 'by-hand')).code).toBe(0)
    // And by its address: it says which directory that is.
    const again = await spawnDaemon(['--port', '0', '--data-dir', at('by-hand')], {
      TAPCHIP_DEV_CHAIN: 'off',
    })
    pids.push(again.ready.pid)
    here.env.TAPCHIP_ADMIN_TOKEN = readFileSync(at('by-hand/admin.token'), 'utf8').trim()
    const stopped = await here.run('daemon', 'stop', '--url', again.ready.url, '--json')
    expect(stopped.json()).toEqual({ stopped: true, pid: again.ready.pid })
    expect(existsSync(records())).toBe(false)
  })
})
