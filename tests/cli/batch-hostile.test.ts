import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { acmeKey, seed } from '../support/seeds.ts'

// Whoever may edit may write a journal, and another may resume it, with other rights and on another machine.

const id = 'b_1hq3v9k7s2m4xa'
let daemon: TestDaemon
let home: CliHome
beforeEach(async () => {
  daemon = await startTestDaemon({ seed })
  home = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_API_KEY: acmeKey })
})
afterEach(async () => {
  home.remove()
  await daemon.stop()
})

const post = async (path: string, body: object) => {
  const headers = { 'content-type': 'application/json', 'x-svc-api-key': acmeKey }
  const answer = await fetch(`${daemon.url}/batches/${id}/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(200)
}
const holder = 'first-holder-0001'
const header = () => ({
  type: 'batch',
  version: 2,
  id,
  kind: 'chips edit',
  startedAt: '2026-06-01T12:00:00.000Z',
  url: daemon.url,
  pid: 1,
  place: 'elsewhere',
  total: 1,
  input: { name: 'x.csv', path: null, sha256: null },
})

/** A journal at the daemon, of a machine that has stopped. @param bytes what the piece claims to hold */
const give = async (
  content: Buffer,
  { kind = 'chips edit', host = 'desk', state = 'stopped', bytes = content.length } = {},
) => {
  const about = { kind, total: 1, startedAt: header().startedAt, host, place: 'elsewhere', context: null }
  await post('hold', { ...about, holder })
  const chunk = { offset: 0, bytes, data: deflateRawSync(content).toString('base64') }
  await post('journal', { holder, state, done: 0, failed: 0, chunk })
}
const lines = (...content: object[]) =>
  Buffer.from(content.map((line) => `${JSON.stringify(line)}\n`).join(''))
const row = { type: 'row', row: 1, uid: '1', redirectUrl: null }
const journals = () => join(home.home, '.local/state/tapchip/batches')

test('a journal that names another batch leads to no file', async () => {
  const other = join(dirname(journals()), 'other.jsonl')
  mkdirSync(dirname(other), { recursive: true })
  writeFileSync(other, 'mine\n')
  await give(lines({ ...header(), id: '../other' }, row))
  for (const args of [
    ['resume', id, '--take-over'],
    ['report', id],
    ['undo', id, '--yes'],
  ]) {
    const ran = await home.run('batch', ...args)
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('is not the journal of batch')])
  }
  expect(readFileSync(other, 'utf8')).toBe('mine\n')
})

test('a journal is of the kind that the daemon let somebody write', async () => {
  await give(lines({ ...header(), kind: 'phygitals transfer' }))
  const ran = await home.run('batch', 'resume', id, '--take-over')
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('is not the journal of batch')])
})

test('a piece that holds more than it claims is not read', async () => {
  await give(Buffer.alloc(64 * 2 ** 20), { bytes: 1000 })
  const ran = await home.run('batch', 'report', id)
  expect([ran.code, ran.stdout]).toEqual([1, ''])
  expect(ran.stderr).toContain(`The daemon's copy of batch ${id} cannot be read`)
  expect(readdirSync(journals())).toEqual([])
})

test('no file but an image leaves the machine that resumes the creation of a badge event', async () => {
  const secret = join(home.home, 'secret.txt')
  writeFileSync(secret, 'my secret')
  const cells = {
    name: 'Walk',
    startDate: '2026-06-01',
    endDate: '2026-06-02',
    expiryDate: '2026-06-03',
    requestedCodes: '5',
    image: secret,
  }
  const kind = 'badge-events create'
  await give(lines({ ...header(), kind }, { type: 'row', row: 1, cells }), { kind })
  const ran = await home.run('batch', 'resume', id, '--take-over')
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(`The image ${secret} `)])
  expect(existsSync(secret)).toBe(true)
})

test('what a journal or a machine is named steers no terminal', async () => {
  const sequence = '\u001b]0;owned\u0007'
  await give(lines({ ...header(), url: `http://${sequence}` }, row), {
    host: `desk${sequence}`,
    state: 'running',
  })
  const texts = []
  for (const args of [
    ['resume', id],
    ['list', '--all'],
    ['status', id],
    ['undo', id, '--yes'],
  ]) {
    const { stdout, stderr } = await home.run('batch', ...args)
    texts.push(stdout + stderr)
  }
  expect(texts.map((text) => text.includes('\\u001b]0;owned'))).toEqual([true, true, true, true])
  expect(texts.join('')).not.toContain('\u001b]0')
})
