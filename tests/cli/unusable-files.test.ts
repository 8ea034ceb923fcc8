import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { fileProblem } from '../../src/cli/file-problem.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { bin, run } from '../support/process.ts'
import { acmeKey, seed, uids } from '../support/seeds.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let dir: string
let home: string
let sheet: string
beforeAll(async () => {
  daemon = await startTestDaemon({ seed })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-unusable-'))
  home = join(dir, 'home')
  mkdirSync(home)
  sheet = join(dir, 'sheet.csv')
  writeFileSync(sheet, `uid,redirectUrl\n${uids.jacket},https://example.com/\n`)
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const env = (more: Record<string, string> = {}) => ({
  HOME: home,
  TAPCHIP_URL: daemon.url,
  TAPCHIP_API_KEY: acmeKey,
  TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
  ...more,
})
const words = async (args: string[], code: number, expected: RegExp, more: Record<string, string> = {}) => {
  const ran = await run('tapchip', args, env(more))
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(expected)])
  // The folder's own name is made of random letters.
  expect(ran.stderr.replaceAll(dir, '')).not.toMatch(/^ {4}at |\bE[A-Z]{3,}\b/m)
}

describe('a home that is a file', () => {
  beforeEach(() => {
    rmSync(home, { recursive: true })
    writeFileSync(home, '')
  })
  test.each([
    [
      ['context', 'create', 'x', '--url', 'http://127.0.0.1:1'],
      /config\.json cannot be read: there is a file.*\n.*XDG_CONFIG_HOME/,
    ],
    [['nfc', 'read', '--reader', 'emulator'], /emulator\.json cannot be used: there is a file/],
  ])('is named by %j, with what to do', async (args, expected) => {
    await words(args, 1, expected)
  })
})

test('a daemon is not started that would be on no record', async () => {
  const state = join(dir, 'state')
  writeFileSync(state, '')
  const data = join(dir, 'data')
  const start = ['daemon', 'start', '--port', '0', '--data-dir', data]
  await words(start, 1, /daemons cannot be written.*\n.*XDG_STATE_HOME/, {
    XDG_STATE_HOME: state,
    TAPCHIP_URL: '',
  })
  expect(readdirSync(dir)).not.toContain('data')
  await words([...start.slice(0, -1), state], 1, /daemon\.log cannot be written.*\n.*--data-dir DIR/, {
    TAPCHIP_URL: '',
  })
})

describe('a file to write that cannot be', () => {
  test.each([
    ['/nowhere/again.csv', /it or its directory does not exist/],
    ['.', /is a directory/],
    ['sheet.csv/again.csv', /there is a file where a directory is needed/],
  ])('--failed %s is refused before anything is sent', async (file, expected) => {
    const path = file.startsWith('/') ? file : join(dir, file)
    for (const kind of [
      ['chips', 'edit'],
      ['chips', 'import', '--chip-group', 'X', '--key-set', '101', '--team', 'Acme', '--ignore-columns'],
    ]) {
      await words([...kind, '--file', sheet, '--failed', path], 2, expected)
      expect(readdirSync(home)).toEqual([])
    }
  })

  test('an export says so, and leaves nothing', async () => {
    for (const file of ['/nowhere/chips.csv', join(sheet, 'chips.csv')])
      await words(
        ['chips', 'export', '--team', 'Acme', '--file', file],
        1,
        /cannot be written: .*\nNothing was left behind/,
      )
    expect(readdirSync(dir).sort()).toEqual(['home', 'sheet.csv'])
  })
})

test.each([
  ['', /is not JSON\.\nFix the file/],
  ['\u0000\u0001', /is not JSON/],
  ['[]', /must contain a single JSON object/],
  ['{"contexts":[]}', /contexts must be an object/],
  ['{"contexts":{"a":1}}', /contexts\.a\.url must be a URL/],
  ['{"current":7}', /current must be the name of a context/],
])('a damaged file of contexts, %j, is refused, and not written over', async (content, expected) => {
  const folder = join(home, '.config/tapchip')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'config.json'), content)
  await words(['context', 'list'], 1, expected)
  await words(['context', 'create', 'x', '--url', 'http://127.0.0.1:1'], 1, expected)
  expect(readFileSync(join(folder, 'config.json'), 'utf8')).toBe(content)
})

test.each(['', '{', 'null', '[]', '{"pid":1,"flags":[]}', '\u0000'])(
  'a damaged record of a daemon, %j, is none',
  async (content) => {
    const folder = join(home, '.local/state/tapchip/daemons')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'a.json'), content)
    const stopped = await run('tapchip', ['daemon', 'stop'], { HOME: home })
    expect([stopped.code, stopped.stderr]).toEqual([0, expect.stringContaining('is not running')])
  },
)

describe('a full disk under the output', () => {
  const onFull = async (args: string[], which: 1 | 2) => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [bin('tapchip'), ...args], {
      env: { PATH: process.env.PATH ?? '', ...env() },
      stdio: ['ignore', which === 1 ? full : 'ignore', which === 2 ? full : 'pipe'],
    })
    closeSync(full)
    let said = ''
    child.stderr?.on('data', (chunk) => {
      said += chunk
    })
    const [code] = await once(child, 'close')
    return { code, said }
  }

  test('of data ends the command in words', async () => {
    const { code, said } = await onFull(['chip-groups', 'list', '--json'], 1)
    expect([code, said]).toEqual([
      1,
      'Standard output cannot be written: the disk is full.\nFree some space.\n',
    ])
  })

  test('of what is only said changes no exit code', async () => {
    expect((await onFull(['chips', 'list', '--bogus'], 2)).code).toBe(2)
    expect((await onFull(['chip-groups', 'list'], 2)).code).toBe(0)
  })

  test('of a batch takes nothing from its report', async () => {
    const { code, said } = await onFull(['chips', 'edit', '--file', sheet, '--json'], 1)
    // After its last row, or before.
    expect([1, 130]).toContain(code)
    expect(said).toContain('Standard output cannot be written: the disk is full.')
    const [id = ''] = /b_[0-9a-z]{14}/.exec(said) ?? []
    const report = await run('tapchip', ['batch', 'report', id, '--json'], env())
    expect(JSON.parse(report.stdout)).toMatchObject({ row: 1, status: expect.stringMatching(/changed$/) })
  })
})

test.each([
  ['EACCES', /permission denied/],
  ['EROFS', /its file system is read-only/],
  ['EDQUOT', /disk quota is used up/],
  ['EMFILE', /too many open files/],
])('%s is told in words', (code, expected) => {
  const error = Object.assign(new Error(`${code}: raw`), { code, syscall: 'open', path: '/a/b' })
  expect(fileProblem(error)?.message).toMatch(expected)
  expect(fileProblem(error)?.advice).toMatch(/\w/)
  // What has no file is somebody else's to tell.
  expect(fileProblem(Object.assign(new Error(), { code, syscall: 'connect' }))).toBeUndefined()
})
