import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startMailServer, type TestMailServer } from '../support/mail-server.ts'
import { chips, phygitalSeed } from '../support/phygitals.ts'
import { type DaemonProcess, run, spawnDaemon } from '../support/process.ts'
import { digitsIn, pathIn } from '../support/reservations.ts'
import { derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// A daemon that is killed between what a person does, and what it writes down on the way.

const preload = join(import.meta.dirname, '../support/kill-at-commit.mjs')
const address = 'somebody.private@example.org'
let server: TestMailServer
let home: string
let daemon: DaemonProcess
const logs: string[] = []
const start = async () => {
  daemon = await spawnDaemon(
    [
      '--data-dir',
      join(home, 'data'),
      '--port',
      '0',
      '--seed',
      join(home, 'seed.json'),
      '--log-level',
      'debug',
    ],
    { TAPCHIP_SMTP_URL: server.url, TAPCHIP_SMTP_FROM: 'tags@acme.example', TAPCHIP_DEV_CHAIN: 'on' },
  )
}
const killed = async () => {
  await daemon.kill()
  logs.push(daemon.log())
  await start()
}

beforeAll(async () => {
  server = await startMailServer()
  home = mkdtempSync(join(tmpdir(), 'tapchip-kept-'))
  writeFileSync(join(home, 'seed.json'), JSON.stringify(phygitalSeed))
  await start()
}, 120_000)
afterAll(async () => {
  await daemon.stop()
  await server.stop()
  rmSync(home, { recursive: true })
})

const post = (path: string, fields: Record<string, string>, at = daemon) =>
  fetch(`${at.ready.url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
    body: new URLSearchParams(fields).toString(),
  })

test('killed between reservation, queue and mail: kept once, each mail at least once, and nothing tells for whom', async () => {
  const parameters = tap(derived, { uid: chips.unminted(1) }, 1)
  const page = await fetch(`${daemon.ready.url}${tapPath(parameters)}`, { headers: { accept: 'text/html' } })
  const ref = /data-ref="([^"]+)"/.exec(await page.text())?.[1] ?? ''
  server.pause()
  // Answered without the mail server; its mail is queued when the daemon is killed.
  expect((await post('/t/reserve', { ref, email: address })).status).toBe(200)
  await killed()
  server.resume()
  const code = digitsIn((await server.newest(1)).text)
  await killed()
  server.pause()
  expect((await post('/t/reserve', { ref, code })).status).toBe(200)
  await killed()
  server.resume()
  const link = await vi.waitUntil(
    () =>
      pathIn(
        server
          .mails()
          .map(({ text }) => text)
          .join(),
      ),
    {
      timeout: 60_000,
    },
  )
  // Sent twice, it keeps nothing a second time.
  await post('/t/reserve', { ref, code })
  await killed()
  const form = await fetch(`${daemon.ready.url}${link}`)
  expect(form.status).toBe(200)
  // Whatever came twice is the same mail.
  const ids = new Set(server.mails().map(({ headers }) => headers['message-id']))
  expect(ids.size).toBe(2)
  const token = readFileSync(join(daemon.ready.dataDir, 'admin.token'), 'utf8').trim()
  const env = {
    ...{ HOME: home, TAPCHIP_URL: daemon.ready.url, TAPCHIP_ADMIN_URL: daemon.ready.admin },
    TAPCHIP_ADMIN_TOKEN: token,
  }
  const told: string[] = [...logs]
  const cli = async (...args: string[]) => {
    const { stdout, stderr } = await run('tapchip', args, env)
    told.push(stdout, stderr)
    return stdout
  }
  expect(JSON.parse(await cli('reservations', 'list', '--json'))).toHaveLength(1)
  await cli('audit', 'list', '--json')
  await cli('doctor', '--json')
  await cli('backup', '--without-data-key')
  await cli('bugreport', '--out', join(home, 'report.txt'))
  const metrics = await fetch(`${daemon.ready.admin}/metrics`, {
    headers: { authorization: `Bearer ${token}` },
  })
  told.push(await metrics.text(), daemon.log())
  for (const file of filesBelow(home)) told.push(readFileSync(file, 'latin1'))
  const all = told.join('\n')
  expect(all).not.toContain('somebody.private')
  expect(all).not.toContain(link.slice(-32))
  expect(told.slice(0, logs.length).join('\n')).not.toMatch(new RegExp(`\\b${code}\\b`))
}, 300_000)

test('killed after a mail was sent, before that was written down: it is sent again with the same digits, which work', async () => {
  const dataDir = join(home, 'torn')
  const args = [
    '--data-dir',
    dataDir,
    '--port',
    '0',
    '--seed',
    join(home, 'seed.json'),
    '--log-level',
    'error',
  ]
  const env = {
    ...{ TAPCHIP_SMTP_URL: server.url, TAPCHIP_SMTP_FROM: 'tags@acme.example' },
    TAPCHIP_DEV_CHAIN: 'on',
  }
  const torn = await spawnDaemon(args, {
    ...env,
    ...{ NODE_OPTIONS: `--import ${preload}`, KILL_SQL: 'update "mails" set "sentAt"', KILL_WHEN: 'before' },
  })
  const path = tapPath(tap(derived, { uid: chips.unminted(2) }, 1))
  const page = await fetch(`${torn.ready.url}${path}`, { headers: { accept: 'text/html' } })
  const ref = /data-ref="([^"]+)"/.exec(await page.text())?.[1] ?? ''
  const before = server.mails().length
  await expect(post('/t/reserve', { ref, email: 'twice@example.org' }, torn)).rejects.toThrow()
  expect(await torn.exited).toBeNull()
  // The server has taken it, and puts it into its box a moment later.
  await server.newest(before + 1)
  const again = await spawnDaemon(args, env)
  try {
    await server.newest(before + 2)
    const [one, other] = server.mails().slice(-2)
    expect(other?.headers['message-id']).toBe(one?.headers['message-id'])
    const code = digitsIn(one?.text ?? '')
    expect(digitsIn(other?.text ?? '')).toBe(code)
    expect((await post('/t/reserve', { ref, code }, again)).status).toBe(200)
    expect(pathIn((await server.newest(before + 3)).text)).not.toBe('')
  } finally {
    await again.stop()
  }
}, 120_000)

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
