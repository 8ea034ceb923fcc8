import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { type CliHome, withDaemon } from '../support/cli.ts'
import { loadAll } from '../support/command-tree.ts'
import { sections, undocumented } from '../support/documented-json.ts'
import { isPostgres } from '../support/postgres.ts'
import { seed, uids } from '../support/seeds.ts'

/** These print no data of their own. */
const withoutData = new Set(['ci', 'completion', 'help', '__complete'])

const leaves = (command: Command, path: readonly string[] = []): string[] =>
  command.commands.length === 0
    ? [path.join(' ')]
    : command.commands.flatMap((one) => leaves(one, [...path, one.name()]))

describe('docs/json.md', () => {
  test('has a section on each command that prints data, and on no other', async () => {
    const program = createProgram({
      env: {},
      home: '/',
      cwd: '/',
      now: () => new Date(0),
      interrupts: { listen: () => () => undefined },
      atExit: () => () => undefined,
      daemonScript: () => '',
      stdout: process.stdout,
      stderr: process.stderr,
      stdin: process.stdin,
    })
    await loadAll(program)
    const documented = new Set(sections.flatMap(({ commands }) => commands))
    const commands = leaves(program).filter((command) => !withoutData.has(command))
    expect(commands.filter((command) => !documented.has(command))).toEqual([])
    expect([...documented].filter((command) => !commands.includes(command))).toEqual([])
  })
})

test('every run of a test is compared with it', () => {
  const key = {
    id: 1,
    label: 'Shop',
    baseUrl: 'https://x.example/',
    createdAt: '2026-01-01T00:00:00Z',
    team: 'A',
  }
  const list = (...rows: unknown[]) => undocumented(['links', 'list', '--json'], JSON.stringify(rows))
  expect(list(key)).toBe(undefined)
  expect(list(key, { ...key, color: 'red' })).toContain('color is not documented')
  expect(list({ ...key, team: undefined })).toContain('team is missing')
  expect(list({ ...key, team: null })).toContain('team is null, not string')
  expect(list({ ...key, createdAt: 'today' })).toContain('createdAt is "today", not time')
  expect(undocumented(['links', 'list', '--json'], '{"new":1}')).toContain('new is not documented')
  expect(undocumented(['links', 'list', '--json'], 'No links.')).toContain('prints something else than JSON')
})

describe('with the acme seed', () => {
  let here: CliHome
  withDaemon({ seed, chain: true }, (home) => {
    here = home
  })
  /** The run itself is compared with docs/json.md. */
  const prints = async (...args: string[]) => {
    const { stdout, stderr } = await here.run(...args, '--json')
    expect(stdout, stderr).not.toBe('')
  }

  const reads = [
    'chips list',
    `chips show ${uids.jacket}`,
    'chip-groups list',
    'items list',
    'items show jacket',
    'items chips jacket',
    'key-sets list',
    'links list',
    'teams list',
    'teams show Acme',
    'api-keys list',
    'admin-tokens list',
    'contracts list',
    'contracts show 1',
    'transactions list',
    'guestbook list',
    'guestbook contracts',
    'badge-events list',
    'taps list',
    'taps stats',
    'audit list',
    'audit verify',
    'audit export',
    'chips export',
    'batch list',
    'batch list --all',
    'context list',
    'context show',
    'login --status',
    'doctor',
    'daemon status',
    'daemon status --all',
    ...(isPostgres ? [] : ['backup --without-data-key']),
    'bugreport --out -',
    '--version',
    'nfc recover --list',
    'nfc readers --reader emulator',
    'nfc read --reader emulator',
  ]
  test.each(reads)('tapchip %s', (line) => prints(...line.split(' ')))

  test('batches and their reports', async () => {
    const write = (name: string, text: string) => writeFileSync(join(here.home, name), text)
    write(
      'edits.csv',
      `uid,redirectUrl\n${uids.jacket},https://example.com/new\n04:11:22:33:44:55:66,https://example.com/\n`,
    )
    write('items.csv', 'id,name\njacket,Coat\n')
    write('sheet.csv', `uid,label\n${uids.jacket},Coat 1\n`)
    write('new.csv', 'uid\n04:98:93:CA:AA:11:77\n')
    const commands = [
      ['chips', 'edit', '--file', 'edits.csv'],
      ['items', 'edit', '--file', 'items.csv'],
      ['chips', 'apply', '--file', 'sheet.csv'],
      ['chips', 'import', '--file', 'new.csv', '--chip-group', 'Jackets', '--key-set', '101'],
      ['chips', 'disable', uids.jacket, '--yes'],
      ['chips', 'enable', '--where', 'disabled=true', '--yes'],
    ]
    for (const command of commands) {
      if (command[1] !== 'import') await prints(...command, '--dry-run')
      await prints(...command)
    }
    const batches = (await here.json('batch', 'list')) as { id: string }[]
    expect(batches.length).toBeGreaterThan(4)
    for (const { id } of batches) {
      await prints('batch', 'status', id)
      await prints('batch', 'report', id)
    }
  })
})
