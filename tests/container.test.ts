import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readArguments } from '../src/daemon/config/arguments.ts'
import { loadConfig } from '../src/daemon/config/config.ts'
import { bin, spawnDaemon } from './support/process.ts'

const root = resolve(import.meta.dirname, '..')
const text = (name: string) => readFileSync(resolve(root, name), 'utf8')

// What can be seen without an engine: each command that the files hold is run as it is written.
describe('the container', () => {
  const dockerfile = text('Dockerfile').replaceAll(/\\\n\s*/g, '')
  const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '))
  const line = (name: string) => new RegExp(`^${name} (.*)$`, 'm').exec(last)?.[1] ?? ''

  test('runs the daemon as nobody special, keeps its data in a volume, and is stopped in order', () => {
    expect(line('USER')).toBe('node')
    expect(last).toContain(`TAPCHIP_DATA_DIR=${line('VOLUME')}`)
    expect(line('STOPSIGNAL')).toBe('SIGTERM')
    const [program, ...args] = JSON.parse(line('CMD')) as string[]
    expect(existsSync(bin(program as 'tapchipd'))).toBe(true)
    const ran = spawnSync(process.execPath, [bin('tapchipd'), ...args, '--help'])
    expect(ran.status).toBe(0)
  })

  test('is healthy as long as the daemon answers, and shows administration to nobody outside', async () => {
    const check = / CMD (node .*)$/.exec(line('HEALTHCHECK'))?.[1] ?? ''
    const [, ...args] = JSON.parse(line('CMD')) as string[]
    const daemon = await spawnDaemon([...args, '--ephemeral', '--port', '0'])
    expect(daemon.ready.admin).toMatch(/^unix:/)
    for (const path of ['/metrics', '/admin/status', '/admin/openapi.json'])
      expect((await fetch(`${daemon.ready.url}${path}`)).status).toBe(404)
    const healthy = () =>
      spawnSync('sh', ['-c', check.replace('http://127.0.0.1:8484', daemon.ready.url)]).status
    expect(healthy()).toBe(0)
    await daemon.stop()
    expect(healthy()).toBe(1)
  })
})

describe('two daemons in containers', () => {
  const compose = text('compose.fleet.yaml')

  test('are told what a daemon knows, and end as late as it may take them', () => {
    const [, block = ''] = /\n {2}environment:\n((?: {4}.*\n)+)/.exec(compose) ?? []
    const env = Object.fromEntries(
      [...block.matchAll(/^ {4}(\w+): '?(.*?)'?$/gm)].map(([, name = '', value = '']) => [name, value]),
    )
    const secrets = { POSTGRES_PASSWORD: 'p', TAPCHIP_DATA_KEY: '0f'.repeat(32) }
    const filled = Object.entries(env).map(([name, value]) => [
      name,
      value.replace(
        /\$\{(\w+)(?::[-?](.*))?\}/g,
        (_, key: keyof typeof secrets, other) => secrets[key] ?? other,
      ),
    ])
    const config = loadConfig(readArguments([]), Object.fromEntries(filled))
    expect(config).toMatchObject({ databaseUrl: 'postgres://tapchip:p@database/tapchip', warnings: [] })
    const grace = Number(/stop_grace_period: (\d+)s/.exec(compose)?.[1])
    expect(grace).toBeGreaterThanOrEqual(config.drainSeconds + 18)
  })

  test('stand behind the proxy of the page and of the drill', () => {
    const drill = text('scripts/failover/haproxy.mjs')
    const [, lines = ''] = /\nbackend ready\n([\s\S]*?)\$\{/.exec(drill) ?? []
    const wanted = lines
      .split('\n')
      .map((one) => one.trim())
      .filter((one) => !/^(mode|#|$)/.test(one))
    expect(wanted.length).toBeGreaterThan(5)
    for (const page of [compose, text('docs/fleet.md')])
      for (const one of [...wanted, 'use_backend anyway if { nbsrv(ready) eq 0 }'])
        expect(page).toContain(one)
  })
})

describe('the action', () => {
  // The last step, with its inputs as the runner hands them over.
  const script = /run: (node "\$ACTION.*)$/m.exec(text('action.yml'))?.[1] ?? ''
  const act = (env: Record<string, string>) =>
    spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ACTION: root, ...env },
    })

  test('runs a command of several lines with the seed, and ends as it does', () => {
    const seed = resolve(root, 'fixtures/demo.json')
    const ran = act({ SEED: seed, COMMAND: 'echo "key $TAPCHIP_API_KEY"\nexit 5' })
    expect([ran.status, ran.stdout]).toEqual([5, 'key svc_demo_only_0000000000000000\n'])
  })

  test('needs no seed', () => {
    const ran = act({ SEED: '', COMMAND: 'test -n "$TAPCHIP_API_KEY"' })
    expect([ran.status, ran.stderr]).toEqual([0, expect.stringContaining('A daemon runs at')])
  })
})
