import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { type Answers, executable, onTerminal as runOnTerminal } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: { version: 1, teams: [{ name: 'Acme' }] } })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
})
afterEach(() => here.remove())

const hasTerminals = spawnSync('script', ['--version']).status === 0

const onTerminal = (command: string, answers: Answers, env: Record<string, string> = {}) =>
  runOnTerminal(command, answers, { ...here.env, ...env })

describe('on a terminal', () => {
  test('which `script` of util-linux makes: install it where this fails', () => {
    expect(hasTerminals).toBe(true)
  })

  test('what was left out is asked for', async () => {
    const { code, screen } = await onTerminal('teams create', [[/Name of the team/, 'Typed\r']])
    expect([code, screen]).toEqual([0, expect.stringContaining('Typed')])
    expect((await here.run('teams', 'list', '--json')).stdout).toContain('"Typed"')
  })

  test('a choice is offered from what the daemon holds', async () => {
    await here.run('chip-groups', 'create', '--name', 'Jackets', '--team', 'Acme')
    const { json } = await here.run('api-keys', 'create', '--name', 'ops', '--team', 'Acme', '--json')
    const { key } = json() as { key: string }
    writeFileSync(join(here.home, 'empty.csv'), 'uid\n')
    const command = `chips import --file ${join(here.home, 'empty.csv')}`
    const { code, screen } = await onTerminal(command, [[/Which chip group/, '\r']], {
      TAPCHIP_API_KEY: key,
    })
    expect([code, screen]).toEqual([0, expect.stringMatching(/Jackets[\s\S]*has no rows/)])
  })

  test('what cannot be brought back asks for its name, and anything else changes nothing', async () => {
    await here.run('teams', 'create', '--name', 'Doomed')
    const kept = await onTerminal('teams remove Doomed', [[/type its name/, 'y\r']])
    expect([kept.code, kept.screen]).toEqual([2, expect.stringContaining('Nothing was changed')])
    const gone = await onTerminal('teams remove Doomed', [[/type its name/, 'Doomed\r']])
    expect(gone.code).toBe(0)
    expect((await here.run('teams', 'list', '--json')).stdout).not.toContain('"Doomed"')
  })

  test('Ctrl-C at a question ends with 130', async () => {
    expect((await onTerminal('teams create', [[/Name of the team/, '\u0003']])).code).toBe(130)
  })

  test('nothing is asked with --no-input, nor under CI', async () => {
    expect((await onTerminal('teams create --no-input', [])).code).toBe(2)
    expect((await onTerminal('teams create', [], { CI: 'true' })).code).toBe(2)
  })

  test('tables are aligned and coloured, without colour when asked', async () => {
    const coloured = await onTerminal('teams list', [])
    expect(coloured.screen).toContain('\u001b[1mID')
    expect((await onTerminal('teams list', [], { NO_COLOR: '1' })).screen).not.toContain('\u001b')
    expect((await onTerminal('teams list --no-color', [])).screen).not.toContain('\u001b')
    expect((await onTerminal('teams list', [], { TERM: 'dumb' })).screen).not.toContain('\u001b')
  })
})

test('a batch whose reader goes away ends in order, and says how far it came', async () => {
  const chips = Array.from({ length: 800 }, (_, i) => `04${(i + 1).toString(16).padStart(12, '0')}`)
  writeFileSync(join(here.home, 'chips.csv'), `uid\n${chips.join('\n')}\n`)
  const keys = { id: 7, metaReadKey: '0'.repeat(32), fileReadKey: '1'.repeat(32), diversification: 'none' }
  here.stdin = JSON.stringify(keys)
  await here.run('key-sets', 'create', '--file', '-')
  await here.run(
    'chips',
    'import',
    '--file',
    'chips.csv',
    '--chip-group',
    'G',
    '--key-set',
    '7',
    '--team',
    'Acme',
  )
  const made = await here.run('api-keys', 'create', '--name', 'pipe', '--team', 'Acme', '--json')
  const rows = chips.map((uid) => `${uid},https://example.com/`)
  writeFileSync(join(here.home, 'edits.csv'), `uid,redirectUrl\n${rows.join('\n')}\n`)
  // Slow enough that the reader has gone before the last row.
  const command = `'${process.execPath}' '${executable}' chips edit --file edits.csv --rate 300 --json`
  const { key } = made.json() as { key: string }
  // The daemon runs in this process: nothing here may wait for the shell without letting it work.
  const child = spawn('bash', ['-c', `${command} | head -1; echo "\${PIPESTATUS[0]}"`], {
    env: { PATH: process.env.PATH ?? '', ...here.env, TAPCHIP_API_KEY: key },
    cwd: here.home,
  })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(stdout.trim().split('\n').at(-1)).toBe('130')
  expect(stderr).toMatch(/Stopped after [\d,]+ of 800\. Continue: tapchip batch resume b_/)
})

test('off a terminal nothing is asked', async () => {
  const child = spawnSync(process.execPath, [executable, 'teams', 'create'], {
    env: { PATH: process.env.PATH ?? '', ...here.env },
    input: 'Piped\n',
    encoding: 'utf8',
  })
  expect([child.status, child.stderr]).toEqual([2, expect.stringContaining('--name is missing')])
})

test('a reader that goes away is no failure', () => {
  const shell = `'${process.execPath}' '${executable}' --help | head -1; echo "\${PIPESTATUS[0]}"`
  const child = spawnSync('bash', ['-c', shell], { encoding: 'utf8' })
  expect([child.stdout.trim().split('\n').at(-1), child.stderr]).toEqual(['0', ''])
})
