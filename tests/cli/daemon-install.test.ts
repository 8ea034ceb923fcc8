import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { unitText } from '../../src/cli/commands/daemon/unit.ts'
import { type CliHome, cliHome, type Ran } from '../support/cli.ts'
import { type FakeSystemd, fakeSystemd } from '../support/systemd.ts'

let here: CliHome
let systemd: FakeSystemd
beforeEach(() => {
  here = cliHome()
  systemd = fakeSystemd(here.home)
  here.env.PATH = `${systemd.bin}:${process.env.PATH}`
})
afterEach(() => here.remove())

const unitPath = () => join(here.home, '.config/systemd/user/tapchip.service')
const envFile = () => join(here.home, '.config/tapchip/tapchipd.env')
const install = (...args: string[]) => here.run('daemon', 'install', '--user', ...args)
const ends = (ran: Ran, code: number, text: string | RegExp) =>
  expect([ran.code, ran.stderr]).toEqual([
    code,
    typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text),
  ])
const serviceKeys = (unit: string): Record<string, string> =>
  Object.fromEntries([...unit.matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, name, value]) => [name, value]))

/** The real programs, without any manager or bus to talk to. */
const real = (program: string, args: readonly string[]) =>
  spawnSync(program, args, {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      HOME: here.home,
      XDG_RUNTIME_DIR: here.home,
      DBUS_SESSION_BUS_ADDRESS: `unix:path=${here.home}/no-bus`,
      SYSTEMCTL_FORCE_BUS: '1',
    },
  })

describe('the unit', () => {
  test('--dry-run prints it, and writes and asks nothing', async () => {
    const ran = await install('--dry-run', '--port', '9000')
    ends(ran, 0, 'Dry run: nothing was written.')
    expect(serviceKeys(ran.stdout)).toMatchObject({
      Type: 'notify',
      NotifyAccess: 'all',
      ExecStart: `"${process.execPath}" ${join(import.meta.dirname, '../../bin/tapchipd.js')} --port 9000`,
      EnvironmentFile: `-${envFile()}`,
      StateDirectory: 'tapchipd',
      StateDirectoryMode: '0700',
      RuntimeDirectory: 'tapchip',
      UMask: '0077',
      // Also after exit code 70.
      Restart: 'on-failure',
      RestartPreventExitStatus: '2',
      KillMode: 'mixed',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      SystemCallFilter: '@system-service',
      LimitCORE: '0',
      WantedBy: 'default.target',
    })
    expect(ran.stdout).not.toMatch(/^MemoryDenyWriteExecute/m)
    expect([existsSync(unitPath()), existsSync(envFile()), systemd.calls()]).toEqual([false, false, []])
    const json = await install('--dry-run', '--port', '9000', '--json')
    expect(json.json()).toEqual({ dryRun: true, path: unitPath(), envFile: envFile(), unit: ran.stdout })
  })

  test.each([
    ['--system', 2.5],
    ['--user', 7],
  ])('systemd takes the one for %s, and its exposure is at most %d', async (scope, most) => {
    const ran = await here
      .run('daemon', 'install', scope, '--dry-run', '--run-as', 'daemon')
      .then((first) => (scope === '--user' ? here.run('daemon', 'install', scope, '--dry-run') : first))
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('[Service]')])
    const path = join(here.home, 'tapchip.service')
    writeFileSync(path, ran.stdout)
    const verified = real('systemd-analyze', ['verify', ...(scope === '--user' ? ['--user'] : []), path])
    expect([verified.status, verified.stdout, verified.stderr]).toEqual([0, '', ''])
    const security = real('systemd-analyze', ['security', '--offline=true', path])
    const exposure = Number(/exposure level for tapchip.service: ([\d.]+)/.exec(security.stdout)?.[1])
    expect(exposure).toBeLessThanOrEqual(most)
  })

  test('paths with anything in them reach systemd whole', () => {
    const odd = join(here.home, 'a b %h %% $HOME "q" \'s\' back\\slash;#é')
    mkdirSync(odd)
    const node = join(here.home, 'no de %h $HOME')
    symlinkSync(process.execPath, node)
    const flags = ['--data-dir', odd, '--base-url', 'https://x.example/$a%20b']
    const base = {
      scope: 'user',
      script: join(odd, 'tapchipd.js'),
      flags,
      envFile: join(odd, 'env'),
      dataDir: odd,
    } as const
    const unit = unitText({
      ...base,
      node,
      runAs: undefined,
      port: undefined,
      usesHomes: true,
      usesTmp: true,
    })
    const path = join(here.home, 'tapchip.service')
    writeFileSync(path, unit)
    const verify = () => real('systemd-analyze', ['verify', '--user', path]).stderr
    expect(verify()).toBe('')
    // It looks at the program, so it would tell if the path were another one.
    writeFileSync(path, unit.replace('no de', 'no dx'))
    expect(verify()).toContain('no dx %h $HOME is not executable')
    // systemd.service(5): seen so with a running systemd 252; `$$` and `%%` become one.
    expect(serviceKeys(unit).ExecStart).toContain('"https://x.example/$$a%%20b"')
    expect(serviceKeys(unit).ExecStart).toContain(
      'a b %%h %%%% $$HOME \\"q\\" \'s\' back\\\\slash;#é/tapchipd.js"',
    )
    expect(serviceKeys(unit).ReadWritePaths).toContain('a b %%h %%%% $HOME \\"q\\"')
  })
})

describe('daemon install', () => {
  test('writes the unit, starts the service, and the second time changes nothing', async () => {
    here.env.TAPCHIP_TRUST_PROXY = '1'
    const first = await install('--base-url', 'https://tap.example.com', '--json')
    expect([first.code, first.json()]).toEqual([
      0,
      { status: 'installed', scope: 'user', unit: unitPath(), envFile: envFile() },
    ])
    expect(systemd.calls().filter((call) => !/ (is-|show)/.test(call))).toEqual([
      '--user daemon-reload',
      '--user enable tapchip.service',
      '--user restart tapchip.service',
    ])
    expect([statSync(unitPath()).mode & 0o777, statSync(envFile()).mode & 0o777]).toEqual([0o644, 0o600])
    // A variable of the shell would be missing without a word.
    expect(first.stderr).toContain('does not have these variables of your shell: TAPCHIP_TRUST_PROXY')
    writeFileSync(envFile(), 'TAPCHIP_TRUST_PROXY=1\n')
    chmodSync(envFile(), 0o644)
    const again = await install('--base-url', 'https://tap.example.com', '--json')
    expect([again.code, again.json()]).toEqual([0, expect.objectContaining({ status: 'unchanged' })])
    expect(again.stderr).not.toContain('TAPCHIP_TRUST_PROXY')
    expect(systemd.calls().filter((call) => call.includes('restart'))).toHaveLength(1)
    expect(readFileSync(envFile(), 'utf8')).toBe('TAPCHIP_TRUST_PROXY=1\n')
  })

  test('shows what would change, and asks', async () => {
    await install('--port', '9000')
    const before = readFileSync(unitPath(), 'utf8')
    const refused = await install('--port', '9001')
    ends(refused, 2, 'exists and is different:')
    expect(refused.stderr).toMatch(/^- ExecStart=.* --port 9000$/m)
    expect(refused.stderr).toMatch(/^\+ ExecStart=.* --port 9001$/m)
    expect(refused.stderr).toContain('Confirm with --yes')
    expect(readFileSync(unitPath(), 'utf8')).toBe(before)
    ends(await install('--port', '9001', '--yes'), 0, '')
    expect(readFileSync(unitPath(), 'utf8')).toContain('--port 9001')
    expect(systemd.calls().at(-1)).toBe('--user restart tapchip.service')
  })

  test('takes over the data that daemon start has kept', async () => {
    const data = join(here.home, '.local/share/tapchip')
    mkdirSync(data, { recursive: true })
    writeFileSync(join(data, 'instance'), 'x\n')
    await install()
    expect(readFileSync(unitPath(), 'utf8')).toContain(`--data-dir ${data}`)
    expect(serviceKeys(readFileSync(unitPath(), 'utf8'))).toMatchObject({
      ReadWritePaths: `"${data}"`,
      DataDir: data,
    })
  })

  test('says what to do where systemd does not run, and where the service does not start', async () => {
    here.env.PATH = here.home
    ends(await install(), 1, /^systemd's manager for this user does not run here \(there is no systemctl\)/)
    expect(existsSync(unitPath())).toBe(false)
    here.env.PATH = `${systemd.bin}:${process.env.PATH}`
    systemd.breakStart()
    systemd.journal(['tapchipd: 127.0.0.1:8484 is already in use.'])
    const ran = await install()
    ends(
      ran,
      1,
      'The service is installed, but it does not start.\ntapchipd: 127.0.0.1:8484 is already in use.',
    )
  })

  test('refuses what a service could not use', async () => {
    ends(await here.run('daemon', 'install', '--user', '--system', '--dry-run'), 2, 'not both')
    ends(await install('--run-as', 'acme', '--dry-run'), 2, 'for a system service')
    ends(await install('--config', 'absent.json', '--dry-run'), 2, 'absent.json does not exist')
    ends(await install('--base-url', 'https://x.example/\n[Service]', '--dry-run'), 2, 'control character')
    const system = (...args: string[]) => here.run('daemon', 'install', '--system', '--dry-run', ...args)
    ends(await system('--data-dir', '/srv/tapchip'), 2, '--run-as USER')
    const secret = join(here.home, 'config.json')
    writeFileSync(secret, '{}', { mode: 0o600 })
    ends(await system('--config', secret), 2, `cannot read ${secret}`)
  })
})

describe('an installed service', () => {
  test('daemon uninstall stops it, and says where the data stays', async () => {
    await install()
    ends(await here.run('daemon', 'uninstall', '--user'), 2, 'Confirm with --yes')
    const removed = await here.run('daemon', 'uninstall', '--user', '--yes', '--json')
    expect([removed.code, removed.json()]).toEqual([
      0,
      {
        status: 'removed',
        scope: 'user',
        unit: unitPath(),
        dataDir: join(here.home, '.local/state/tapchipd'),
        envFile: envFile(),
      },
    ])
    expect([existsSync(unitPath()), existsSync(envFile())]).toEqual([false, true])
    expect(systemd.calls().slice(-3)).toEqual([
      '--user disable --now tapchip.service',
      '--user daemon-reload',
      '--user reset-failed tapchip.service',
    ])
    const again = await here.run('daemon', 'uninstall', '--user', '--json')
    expect([again.code, again.json()]).toEqual([0, { status: 'absent', scope: 'user', unit: unitPath() }])
  })

  test('doctor and status say whether it runs', async () => {
    await install()
    const found = async () =>
      ((await here.run('doctor', '--json')).json() as { check: string }[]).filter(({ check }) =>
        /^service/.test(check),
      )
    expect(await found()).toEqual([expect.objectContaining({ check: 'service (user)', status: 'ok' })])
    await here.run('daemon', 'uninstall', '--user', '--yes')
    expect(await found()).toEqual([])
    systemd.breakStart()
    await install()
    expect(await found()).toEqual([
      expect.objectContaining({
        status: 'fail',
        fix: expect.stringContaining('systemctl --user start tapchip.service'),
      }),
    ])
    here.env.TAPCHIP_URL = 'http://127.0.0.1:1'
    ends(
      await here.run('daemon', 'status'),
      5,
      'The service tapchip.service is inactive: systemctl --user start',
    )
  })

  test('its log comes from the journal, by level, by request, and as it grows', async () => {
    await install()
    const line = (level: number, requestId: string) =>
      JSON.stringify({ level, time: '2026-06-01T12:00:00.000Z', requestId, msg: `line ${requestId}` })
    systemd.journal(['Started tapchip.service', line(30, 'ab-1'), line(50, 'ab-2'), line(30, 'ab-11')])
    expect((await here.run('daemon', 'logs')).stdout.split('\n')).toHaveLength(5)
    expect(systemd.journalCalls().at(-1)).toBe(
      '--user --user-unit=tapchip.service --no-pager --output=cat --show-cursor --lines=100',
    )
    expect((await here.run('daemon', 'logs', '--request', 'ab-1', '--json')).lines()).toEqual([
      expect.objectContaining({ requestId: 'ab-1' }),
    ])
    ends(await here.run('daemon', 'logs', '--request', 'zz-9'), 1, 'no line about the request zz-9')
    const since = await here.run('daemon', 'logs', '--level', 'error', '--since', '2026-06-01', '--json')
    expect(since.stdout).toBe(`Started tapchip.service\n${line(50, 'ab-2')}\n`)
    expect(systemd.journalCalls().at(-1)).toContain(`--lines=all --since=@${Date.parse('2026-06-01') / 1000}`)
    const followed = await here.interruptedRun(
      (out) => out.split('line ab-11').length > 2,
      'daemon',
      'logs',
      '-f',
    )
    expect(followed.code).toBe(0)
    expect(systemd.journalCalls().at(-1)).toContain('--follow --lines=all --after-cursor=s=1')
  })

  test('every call is one that the real systemctl and journalctl take', async () => {
    await install()
    await install('--port', '9001', '--yes')
    systemd.journal(['x'])
    await here.run('daemon', 'logs', '--since', '2h')
    await here.interruptedRun((out) => out.split('x\n').length > 2, 'daemon', 'logs', '-f')
    await here.run('daemon', 'uninstall', '--user', '--yes')
    expect(systemd.calls().length).toBeGreaterThan(8)
    for (const call of new Set(systemd.calls())) {
      const { stderr } = real('systemctl', call.split(' '))
      expect([call, stderr]).toEqual([call, expect.stringMatching(/^Failed to /)])
    }
    for (const call of new Set(systemd.journalCalls())) {
      const args = call.split(' ').map((arg) => (arg === '--follow' ? '--quiet' : arg))
      const { stderr } = real('journalctl', ['--directory', here.home, ...args])
      expect([call, stderr]).toEqual([
        call,
        expect.not.stringMatching(/unrecognized|invalid option|Failed to parse/),
      ])
    }
  })
})

test('the programs of systemd are here', () => {
  expect(execFileSync('systemd-analyze', ['--version'], { encoding: 'utf8' })).toMatch(/^systemd \d+/)
})
