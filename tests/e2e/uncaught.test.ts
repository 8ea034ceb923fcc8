import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { anvilOf, hasEnded } from '../support/anvil-of.ts'
import { type Attacked, openAttacked } from '../support/attacked-daemon.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { acmeKey, seed, uids } from '../support/seeds.ts'

const preload = join(import.meta.dirname, '../support/throw-uncaught.mjs')

async function open(env: Record<string, string> = {}): Promise<Attacked> {
  const attacked = await openAttacked({
    seed,
    env: { NODE_OPTIONS: `--import=${preload}`, TAPCHIP_DEV_CHAIN: 'off', ...env },
  })
  onTestFinished(() => attacked.close())
  return attacked
}

// biome-ignore lint/suspicious/noExplicitAny: lines of a log
const fatal = (daemon: DaemonProcess): any[] =>
  daemon
    .log()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .filter(({ level }) => level >= 50)

/** A batch that the daemon is reading. @returns a function that sends its last row and returns the answer */
async function beginBatch({ daemon }: Attacked) {
  const call = request(`${daemon.ready.url}/chips/batch?dryRun=true`, {
    method: 'POST',
    headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson', expect: '100-continue' },
  })
  call.flushHeaders()
  await once(call, 'continue')
  const row = `{"uid":"${uids.jacket}","redirectUrl":null}\n`
  call.write(row)
  return async () => {
    const answered = once(call, 'response')
    call.end(row)
    const [answer] = (await answered) as [IncomingMessage]
    let text = ''
    for await (const chunk of answer.setEncoding('utf8')) text += chunk
    return { status: answer.statusCode, rows: text.trim().split('\n').length }
  }
}

test('an uncaught error is logged with its request, which is answered still, and ends the daemon with 70', async () => {
  const attacked = await open({ TAPCHIP_DRAIN_SECONDS: '2' })
  const { daemon, ask } = attacked
  const end = await beginBatch(attacked)
  process.kill(daemon.ready.pid, 'SIGUSR2')
  await expect.poll(() => ask('/readyz').then(({ status }) => status)).toBe(503)
  expect((await ask('/healthz')).status).toBe(200)
  expect(await end()).toEqual({ status: 200, rows: 2 })
  expect(await daemon.exited).toBe(70)
  expect(fatal(daemon)).toEqual([
    expect.objectContaining({
      level: 60,
      method: 'POST',
      route: '/chips/batch',
      requestId: expect.stringMatching(/./),
      origin: 'uncaughtException',
      err: expect.objectContaining({ message: 'an error of the test' }),
    }),
  ])
})

test('with several requests under way, all of them are named, without their URLs', async () => {
  const attacked = await open()
  const ends = await Promise.all([beginBatch(attacked), beginBatch(attacked)])
  process.kill(attacked.daemon.ready.pid, 'SIGUSR2')
  await expect.poll(() => fatal(attacked.daemon)).toHaveLength(1)
  for (const end of ends) expect((await end()).status).toBe(200)
  expect(await attacked.daemon.exited).toBe(70)
  const [line] = fatal(attacked.daemon)
  const batch = { requestId: expect.any(String), method: 'POST', route: '/chips/batch' }
  expect(line).toMatchObject({ requests: [batch, batch], openRequests: 2 })
  expect(JSON.stringify(line)).not.toContain('dryRun')
})

test('errors that come again and again neither keep it from stopping in order nor fill the log', async () => {
  const { daemon, dataDir } = await open({ TAPCHIP_DEV_CHAIN: 'on' })
  const anvil = anvilOf(dataDir)
  process.kill(daemon.ready.pid, 'SIGWINCH')
  expect(await daemon.exited).toBe(70)
  const lines = fatal(daemon)
  expect(lines.length).toBeGreaterThan(1)
  expect(lines.length).toBeLessThan(20)
  expect(lines[0].err.message).toBe('a value was thrown that is not an error: undefined')
  expect(lines.map(({ err }) => err.message)).toContain('a rejection of the test')
  expect(daemon.log()).not.toContain('a step of the shutdown failed')
  await hasEnded(anvil)
  const next = await spawnDaemon(['--data-dir', dataDir, '--port', '0'])
  expect((await fetch(`${next.ready.url}/readyz`)).status).toBe(200)
  expect(await next.stop()).toBe(0)
})

test('one that comes before the daemon is ready ends it with 70 as well', async () => {
  const { daemon } = await open({ THROW_AT_START: '1' })
  expect(await daemon.exited).toBe(70)
  expect(fatal(daemon)).toHaveLength(1)
})
