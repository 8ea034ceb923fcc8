import type { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { loadAll } from '../support/command-tree.ts'

let here: CliHome
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: 'http://127.0.0.1:1' })
})
afterEach(() => here.remove())

describe('help', () => {
  test('of the program', async () => {
    const ran = await here.run('--help')
    expect(ran.code).toBe(0)
    expect(ran.stderr).toBe('')
    expect(ran.stdout).toMatchSnapshot()
  })

  test('is the same for -h, for help, and for no word at all', async () => {
    const { stdout } = await here.run('--help')
    for (const args of [['-h'], ['help'], []]) expect((await here.run(...args)).stdout).toBe(stdout)
  })

  test('of a bare noun shows its verbs', async () => {
    const ran = await here.run('chips')
    expect(ran.code).toBe(0)
    expect(ran.stdout).toMatch(/^ {2}edit {2,}Set or clear/m)
    expect((await here.run('help', 'chips')).stdout).toBe(ran.stdout)
  })

  test('of a command begins with what it does and with examples', async () => {
    const { stdout } = await here.run('chips', 'edit', '--help')
    expect(stdout).toMatchSnapshot()
    expect(stdout.indexOf('Examples:')).toBeLessThan(stdout.indexOf('Usage:'))
    expect((await here.run('help', 'chips', 'edit')).stdout).toBe(stdout)
  })

  test.each(['exit-codes', 'environment', 'formatting', 'files'])('on %s', async (topic) => {
    expect((await here.run('help', topic)).stdout).toMatchSnapshot()
  })

  test('every command has a summary, and every verb an example', async () => {
    const at = { ...unused, stdout: process.stdout, stderr: process.stderr, stdin: process.stdin }
    const program = createProgram(at)
    await loadAll(program)
    const walk = (command: Command): Command[] => [command, ...command.commands.flatMap(walk)]
    const all = walk(program).filter((command) => command !== program)
    expect(all.length).toBeGreaterThan(70)
    for (const command of all) expect(command.summary(), command.name()).not.toBe('')
    for (const leaf of all.filter((command) => command.commands.length === 0)) {
      expect(leaf.helpInformation(), leaf.name()).toContain('Examples:\n  $ tapchip ')
    }
  })
})

const unused = {
  env: {},
  home: '/',
  cwd: '/',
  now: () => new Date(0),
  interrupts: { listen: () => () => undefined },
  atExit: () => () => undefined,
  daemonScript: () => '',
}

describe('usage errors end with 2, and say what was meant', () => {
  test.each([
    [['chip', 'list'], "Unknown command 'chip'.", 'Did you mean chips?'],
    [['chips', 'lst'], "Unknown command 'lst'.", 'Did you mean list?'],
    [['chips', 'list', '--chip-gruop', 'x'], "Unknown option '--chip-gruop'.", 'Did you mean --chip-group?'],
    [['chips', 'list', '--jsno'], "Unknown option '--jsno'.", 'Did you mean --json?'],
    [['chips', 'list', '--url', 'localhost:8484'], 'is not the address', 'Write it as http://localhost:8484'],
    [['chips', 'list', '--url', 'ftp://x'], 'is not the address', 'It looks like http'],
    [['chips', 'list', 'x'], 'Too many arguments', 'Check for an empty variable'],
    [['chips', 'show'], "Missing required argument 'uid'.", '--help'],
    [['taps', 'simulate', '--uid', '04DE5F1EACC040', '--count', '0'], '--count must be a whole number', ''],
    [['taps', 'list', '--outcome', 'x'], '--outcome must be one of valid, refused', ''],
    [['chips', 'list', '--timeout', 'soon'], '--timeout must be a number of seconds', ''],
    [['chips', 'show', '1.2E+15'], 'scientific notation', ''],
    [['help', 'nothing'], 'no command or topic "nothing"', 'exit-codes'],
    [['chips', 'edit'], 'Specify which chips: --file, --uid, --chip-group, --label or --where', ''],
    [['completion', 'tcsh'], 'no script for "tcsh"', 'bash, zsh, fish'],
    [['batch', 'status', '../../etc/passwd'], 'There is no batch', ''],
  ])('%j', async (args, what, advice) => {
    here.env.TAPCHIP_API_KEY = 'svc_x'
    const ran = await here.run(...args)
    expect(ran.stderr).toContain(what)
    expect(ran.stderr).toContain(advice)
    expect(ran.stdout).toBe('')
    expect(ran.code).toBe(2)
  })
})

describe('a suggestion never turns a wish into another', () => {
  test.each([
    ['chip-groups', 'move'],
    ['items', 'mvoe'],
    ['items', 'rename'],
    ['badge-events', 'unapprove'],
    ['guestbook', 'enable'],
    ['chips', 'delink'],
    ['badge-events', 'undelete'],
    ['chips', 'undisable'],
    ['transactions', 'approve'],
  ])('%s %s', async (noun, verb) => {
    const ran = await here.run(noun, verb)
    const opposites = /mean.*(?:remove|disable|unlink|unpause|stop)/
    expect([ran.code, ran.stderr]).toEqual([2, expect.not.stringMatching(opposites)])
    // Nothing fits: then it says what there is.
    expect(ran.stderr).toMatch(/^Unknown command '\w+'\.\nAvailable: \w+, /)
  })

  test.each([
    [['chips', 'enabel'], 'Did you mean enable?'],
    [['chips', 'disalbe'], 'Did you mean disable?'],
    [['chips', 'lnik'], 'Did you mean link?'],
    [['chips', 'unlnk'], 'Did you mean unlink?'],
    [['chips', 'remvoe'], 'Did you mean remove?'],
    [['items', 'remov'], 'Did you mean remove?'],
    [['guestbook', 'unpuase'], 'Did you mean unpause?'],
    [['guestbook', 'puase'], 'Did you mean pause?'],
    [['restart'], 'Did you mean one of daemon start, daemon stop?'],
    [['daemon', 'restart'], 'Did you mean one of start, stop?'],
    [['status'], 'Did you mean daemon status?'],
    [['logs'], 'Did you mean daemon logs?'],
    [['chips', 'ls'], 'Did you mean list?'],
    [['api-keys', 'delete'], 'Did you mean revoke?'],
    [['webhooks', 'rotate'], 'Did you mean roll?'],
    [['delete'], 'Available: chips, '],
  ])('%j still means %s', async (args, meant) => {
    expect((await here.run(...args)).stderr).toContain(meant)
  })
})

test('an example that names the program itself has no name put before it', async () => {
  const ran = await here.run('chips', 'import', '--help')
  expect(ran.stdout).toContain('  $ cat chips.jsonl | tapchip chips import ')
  expect(ran.stdout).toContain('  $ tapchip chips import ')
})

test('a context that is not there yet is created with its name', async () => {
  const ran = await here.run('login', '--context', 'base')
  expect([ran.code, ran.stderr]).toEqual([
    2,
    expect.stringContaining('tapchip context create base --url URL'),
  ])
})

describe('exit codes before any request', () => {
  test('a missing API key is 4, with advice', async () => {
    for (const args of [
      ['chips', 'list', '--chip-group', 'x'],
      ['items', 'show', 'x'],
      ['otps', 'delete', 'x', '--yes'],
    ]) {
      const ran = await here.run(...args)
      expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining('TAPCHIP_API_KEY')])
    }
  })

  test('a missing credential is 4, with advice that names no root token', async () => {
    // Where nothing listens on this machine, that is what is wrong.
    expect((await here.run('teams', 'list', '--json')).code).toBe(5)
    const ran = await here.run('teams', 'list', '--json', '--url', 'https://tap.invalid')
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([
      4,
      '',
      expect.stringMatching(/No API key, and no admin token.\n.*tapchip login.*TAPCHIP_API_KEY/s),
    ])
  })

  test('a daemon out of reach is 5, with advice', async () => {
    const ran = await here.run('refs', 'show', 'V1StGXR8_Z5jdHi6B-myT')
    expect([ran.code, ran.stderr]).toEqual([
      5,
      'Daemon not reachable at 127.0.0.1:1. Start it: tapchip daemon start\n',
    ])
  })

  test('what removes asks, and off a terminal wants --yes', async () => {
    here.env.TAPCHIP_API_KEY = 'svc_x'
    here.env.TAPCHIP_ADMIN_TOKEN = 'adm_x'
    for (const args of [
      ['otps', 'delete', 'x'],
      ['chips', 'remove', '04DE5F1EACC040'],
      ['teams', 'remove', 'x'],
      ['chip-groups', 'remove', 'x'],
      ['items', 'remove', 'x'],
      ['api-keys', 'revoke', '1'],
      ['admin-tokens', 'revoke', '1'],
      ['key-sets', 'remove', '1'],
      ['links', 'remove', '1'],
    ]) {
      const ran = await here.run(...args)
      expect([args, ran.code, ran.stderr]).toEqual([args, 2, expect.stringContaining('--yes')])
    }
  })

  test('what is left out is named, off a terminal', async () => {
    here.env.TAPCHIP_ADMIN_TOKEN = 'adm_x'
    for (const [flag, ...args] of [
      ['--name', 'teams', 'create'],
      ['--label', 'links', 'create'],
      ['--uid', 'taps', 'simulate'],
      ['--with-token', 'login'],
      ['TAPCHIP_BACKUP_PASSPHRASE', 'backup'],
      ['A tap URL', 'chips', 'find'],
    ]) {
      const ran = await here.run(...args)
      expect([args, ran.code, ran.stderr]).toEqual([args, 2, expect.stringContaining(`${flag}`)])
    }
  })
})

test('a code that begins with a dash is a code, and a flag that is wrong is still a flag', async () => {
  for (const code of ['-ecogIpWI4NXxKPKM750H', '--cogIpWI4NXxKPKM750H']) {
    for (const args of [
      ['refs', 'show', code],
      ['--json', 'otps', 'show', code],
      ['refs', 'show', '--include-owner', code, '--json'],
    ]) {
      expect([args, (await here.run(...args)).code]).toEqual([args, 5])
    }
  }
  expect((await here.run('refs', 'show', 'x', '--include-onwer')).stderr).toContain(
    'Did you mean --include-owner?',
  )
})

test('--version tells our version when no daemon answers', async () => {
  expect((await here.run('--version')).stdout).toBe('tapchip 0.0.0-test\n')
  expect((await here.run('--version', '--json')).json()).toEqual({
    version: '0.0.0-test',
    commit: null,
    daemon: null,
  })
})
