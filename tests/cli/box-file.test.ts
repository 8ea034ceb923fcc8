import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { BoxFile } from '../../src/cli/nfc/box-file.ts'
import { readBox } from '../../src/cli/nfc/saved-box.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { spawnCli } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { nfcSeed } from '../support/nfc.ts'

// The file of a box of chips: what a kill leaves, two sessions of one box, and what batch says of it.

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let at: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: nfcSeed })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  at = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
})
afterEach(() => at.remove())

const folder = () => join(at.home, '.local/state/tapchip/batches')
const fileOf = (id: string) => join(folder(), `${id}.jsonl`)
const system = () => ({ env: at.env, home: at.home })
const onEmulator = ['--reader', 'emulator', '--timeout', '1']
const wanted = [
  '--key-set',
  '201',
  '--chip-group',
  'Jackets',
  '--team',
  'Acme',
  '--accept-url',
  ...onEmulator,
]
const sheet = (prefix: string, rows: number) => {
  const labels = Array.from({ length: rows }, (_, i) => `${prefix}-${i + 1}`)
  writeFileSync(join(at.home, 'sheet.csv'), `label\n${labels.join('\n')}\n`)
  return labels
}
const stopped = async (prefix: string) => {
  sheet(prefix, 3)
  const ran = await at.interruptedRun(
    (stdout) => stdout.includes('\n'),
    ...['nfc', 'provision', ...wanted, '--file', 'sheet.csv', '--json'],
  )
  expect(ran.code).toBe(130)
  return /b_\w{14}/.exec(ran.stderr)?.[0] ?? ''
}
const about = {
  url: 'http://127.0.0.1:1',
  total: 2,
  input: { name: '', path: null, sha256: null },
  settings: { keySet: '201', chipGroup: 'Jackets' },
}

test('a box of 10 that is killed five times is gone on with each time: each row has one chip', async () => {
  const labels = sheet('killed', 10)
  const box = (...args: string[]) =>
    spawnCli(['nfc', 'provision', ...args, '--reader', 'emulator', '--json'], at.env, at.home)
  let running = box(...wanted.slice(0, 7), '--file', 'sheet.csv')
  let id = ''
  let rows: number[] = []
  const linesIn = (text: string) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  for (const events of [2, 5, 8, 13, 16]) {
    await running.until((_, stderr) => stderr.includes('Batch b_'))
    id = /b_\w{14}/.exec(running.stderr())?.[0] ?? id
    // In the middle of a chip: its beginning is recorded, and its end may be.
    while ((readBox(system(), id)?.events.length ?? 0) < events)
      await new Promise((resolve) => setTimeout(resolve, 5))
    running.child.kill('SIGKILL')
    expect(await running.ended).toBe('SIGKILL')
    expect(readBox(system(), id)?.state).toBe('paused')
    rows = [...rows, ...linesIn(running.stdout()).map(({ row }) => row)]
    running = box('--resume', id)
  }
  expect([await running.ended, running.stderr()]).toEqual([0, expect.stringContaining('of 10 done')])
  rows = [...rows, ...linesIn(running.stdout()).map(({ row }) => row)]
  // A killed one may not have printed the line of its last chip.
  expect(new Set(rows).size).toBe(rows.length)
  const report = (await at.run('batch', 'report', id, '--json')).lines() as Record<string, unknown>[]
  const done = report.filter(({ status }) => status === 'provisioned')
  // A chip that lay there at a kill is in nobody's hand any more, and its row goes to another.
  expect(done.map(({ row }) => Number(row)).sort((a, b) => a - b)).toEqual(labels.map((_, i) => i + 1))
  for (const { uid, row } of done) {
    const headers = { authorization: `Bearer ${daemon.adminToken}` }
    const chip = await (await fetch(`${daemon.url}/admin/chips/${uid}`, { headers })).json()
    expect(chip).toMatchObject({ label: `killed-${row}` })
  }
  expect((await at.run('batch', 'status', id, '--json')).json()).toMatchObject({ state: 'done', total: 10 })
  expect(statSync(fileOf(id)).mode & 0o777).toBe(0o600)
}, 60_000)

test('one process works on a box at a time', async () => {
  const { id, file } = BoxFile.begin(system(), new Date(), about)
  expect((await at.run('batch', 'list', '--json')).json()).toMatchObject([{ id, state: 'running' }])
  for (const args of [
    ['nfc', 'provision', '--resume', id],
    ['batch', 'resume', id],
    ['batch', 'remove', id, '--yes'],
  ]) {
    const ran = await at.run(...args)
    expect([ran.code, ran.stderr]).toEqual([
      1,
      expect.stringContaining(`Box ${id} is being worked on, by process ${process.pid}.`),
    ])
  }
  file.close()

  // Two that have both found it free.
  const seen = readBox(system(), id)
  if (!seen) throw new Error('It is gone.')
  const first = BoxFile.reopen(seen)
  expect(() => BoxFile.reopen(seen)).toThrow(`Another process has just gone on with box ${id}.`)
  first.write({ type: 'begun', uid: '1' })
  expect(readBox(system(), id)).toMatchObject({ state: 'running', events: [{ uid: '1' }], damaged: [] })
  first.close({ at: new Date().toISOString(), isDone: true })
  expect(readBox(system(), id)).toMatchObject({ state: 'done' })
})

test('a line that a kill cut short is gone on after; another damaged one is refused', async () => {
  const id = await stopped('torn')
  appendFileSync(fileOf(id), '{"type":"begun","uid":"12')
  expect((await at.run('batch', 'list', '--json')).json()).toMatchObject([{ id, state: 'paused' }])
  const resumed = await at.run('nfc', 'provision', '--resume', id, ...onEmulator)
  expect([resumed.code, resumed.stderr]).toEqual([0, expect.stringContaining('3 chips of 3 done')])
  expect(readBox(system(), id)?.damaged).toEqual([])

  const text = readFileSync(fileOf(id), 'utf8')
  writeFileSync(fileOf(id), text.replace(/"type":"result","uid":"\d+"/, '"type":"result"'))
  const [list, report] = [await at.run('batch', 'list'), await at.run('batch', 'report', id)]
  expect([list.code, list.stderr]).toEqual([1, expect.stringMatching(/damaged: line 4 cannot be read/)])
  expect([report.code, report.stderr]).toEqual([3, expect.stringContaining('were left out')])
  const refused = await at.run('batch', 'resume', id, ...onEmulator)
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('begin a new box with the rest'),
  ])
  expect((await at.run('batch', 'remove', id, '--yes')).code).toBe(0)
  expect(readdirSync(folder())).toEqual([])
  // Neither what it says nor the length of a box's first line misleads.
  writeFileSync(fileOf(id), '{"type":"batch","kind":"a\\nb\\u001b[31m"}\n')
  const path = `/${'folder/'.repeat(800)}sheet.csv`
  BoxFile.begin(system(), new Date(), {
    ...about,
    input: { name: 'sheet.csv', path, sha256: 'a' },
  }).file.close()
  expect((await at.run('batch', 'list', '--json')).stderr).toBe(
    `An earlier version of tapchip started ${id} here. Finish them with that version; once they are done: tapchip batch remove ID\n`,
  )
})

test('what is lost with a machine is the report alone: the same sheet goes on elsewhere with its other rows', async () => {
  const id = await stopped('moved')
  const before = await at.run('batch', 'report', id, '--json')
  const other = cliHome({ ...at.env })
  try {
    writeFileSync(join(other.home, 'sheet.csv'), readFileSync(join(at.home, 'sheet.csv')))
    const ran = await other.run('nfc', 'provision', ...wanted, '--file', 'sheet.csv', '--json')
    const rows = [...before.lines(), ...ran.lines()].map((line) => (line as { row: number }).row)
    expect([ran.code, rows]).toEqual([0, [1, 2, 3]])
    expect((await other.run('batch', 'resume', id)).code).toBe(2)
  } finally {
    other.remove()
  }
})

test('a file that cannot be read is named, and hides no other one', async () => {
  const { id, file } = BoxFile.begin(system(), new Date(), about)
  file.close()
  mkdirSync(fileOf('b_1hq3v9k7s2m4xa'))
  writeFileSync(fileOf('b_1hq3v9k7s2m4xb'), '')
  truncateSync(fileOf('b_1hq3v9k7s2m4xb'), 3 * 2 ** 30)
  const list = await at.run('batch', 'list', '--json')
  expect([list.code, list.json()]).toEqual([1, [expect.objectContaining({ id })]])
  expect(list.stderr).toContain('m4xa.jsonl cannot be read: it is a directory')
  expect(list.stderr).toContain('m4xb.jsonl cannot be read: it is too large for the file of a box')
})

test.skipIf(process.platform === 'win32')('a pipe in its place keeps nobody waiting', async () => {
  mkdirSync(folder(), { recursive: true })
  execFileSync('mkfifo', [fileOf('b_1hq3v9k7s2m4xa')])
  for (const [verb, ...more] of [['list'], ['status', 'b_1hq3v9k7s2m4xa']]) {
    const ran = await at.run('batch', verb ?? '', ...more)
    expect([verb, ran.code, ran.stderr]).toEqual([
      verb,
      1,
      expect.stringContaining('cannot be read: it is a pipe or a device'),
    ])
  }
})

test('the verbs that it does not have say what to do', async () => {
  const { id, file } = BoxFile.begin(system(), new Date(), about)
  file.close()
  for (const verb of ['pause', 'follow', 'cancel', 'approve']) {
    const ran = await at.run('batch', verb, id)
    expect([verb, ran.code, ran.stderr]).toEqual([verb, 2, expect.stringContaining('Ctrl-C there stops it')])
  }
})

test('the journal of an earlier version is named, and left to that version', async () => {
  mkdirSync(folder(), { recursive: true })
  const [id, packed] = ['b_1hq3v9k7s2m4xa', 'b_1hq3v9k7s2m4xb']
  writeFileSync(
    fileOf(id),
    '{"type":"batch","version":2,"kind":"phygitals transfer"}\n{"type":"row","row":1}\n',
  )
  writeFileSync(`${fileOf(packed)}.gz`, 'not read')
  const list = await at.run('batch', 'list', '--json')
  expect([list.code, list.json(), list.stderr]).toEqual([
    0,
    [],
    expect.stringContaining(`An earlier version of tapchip started ${id} (phygitals transfer) here.`),
  ])
  expect(list.stderr).not.toContain(packed)
  for (const args of [['resume'], ['status'], ['report'], ['undo', '--yes'], ['follow']]) {
    const [verb = '', ...more] = args
    const ran = await at.run('batch', verb, id, ...more)
    expect([verb, ran.code, ran.stderr]).toEqual([
      verb,
      1,
      expect.stringContaining('undo it with that version'),
    ])
  }
  const provision = await at.run('nfc', 'provision', '--resume', id)
  expect([provision.code, provision.stderr]).toEqual([
    1,
    expect.stringContaining('undo it with that version'),
  ])
  expect((await at.run('batch', 'report', packed)).stderr).toContain(
    `Batch ${packed} was started by an earlier version`,
  )
  for (const one of [id, packed]) expect((await at.run('batch', 'remove', one, '--yes')).code).toBe(0)
  expect(readdirSync(folder())).toEqual([])
})

test('where its file cannot be written no chip is touched', async () => {
  at.env.XDG_STATE_HOME = join(at.home, 'state')
  mkdirSync(join(at.home, 'state/tapchip'), { recursive: true })
  writeFileSync(join(at.home, 'state/tapchip/batches'), '')
  const ran = await at.run('nfc', 'provision', ...wanted, '--count', '2')
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([1, '', expect.stringContaining('XDG_STATE_HOME=DIR')])
})
