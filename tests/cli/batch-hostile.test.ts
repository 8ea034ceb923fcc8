import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
  const answer = await fetch(`${daemon.url}/batch-journals/${id}/${path}`, {
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

/** A journal at the daemon, of a machine that has stopped. */
const give = async (content: Buffer, { kind = 'chips edit' } = {}) => {
  const about = {
    kind,
    total: 1,
    startedAt: header().startedAt,
    host: 'desk',
    place: 'elsewhere',
    context: null,
  }
  await post('hold', { ...about, holder })
  const chunk = { offset: 0, bytes: content.length, data: deflateRawSync(content).toString('base64') }
  await post('journal', { holder, state: 'stopped', done: 0, failed: 0, chunk })
}
const lines = (...content: object[]) =>
  Buffer.from(content.map((line) => `${JSON.stringify(line)}\n`).join(''))

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
