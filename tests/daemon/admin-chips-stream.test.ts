import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { adminSocketName } from '../../src/values/local-daemon.ts'
import { adminToken, startTestDaemon } from '../support/daemon.ts'
import { derived, seed } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// What an injected request cannot show: bodies that are still arriving, and clients that go away.

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
beforeEach(async () => {
  daemon = await startTestDaemon({ seed })
})
afterEach(() => daemon.stop())

const headers = { authorization: `Bearer ${adminToken}` }
const numbered = (n: number): string =>
  uidFromBytes(Buffer.from(`04${n.toString(16).padStart(12, '0')}`, 'hex'))
// Of long rows, a window is 8 MB instead of 50,000.
const url = `https://example.com/${'x'.repeat(1500)}`
const rows = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, n) => `${numbered(from + n)},${url}\n`).join('')
const moreThanOneWindow = 6000

const begin = (query = '', options: http.RequestOptions = {}): http.ClientRequest =>
  http.request(`${daemon.url}/admin/chips/import?team=Acme&chipGroup=Big&keySet=101${query}`, {
    ...options,
    method: 'POST',
    headers: { ...headers, 'content-type': 'text/csv' },
  })

async function answerOf(request: http.ClientRequest): Promise<http.IncomingMessage> {
  const [response] = await once(request, 'response')
  return response
}

async function textOf(response: http.IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return text
}

async function get(path: string): Promise<unknown> {
  const request = http.get(`${daemon.url}${path}`, { headers })
  return JSON.parse(await textOf(await answerOf(request)))
}

const chipsOfBig = async (): Promise<number | undefined> => {
  const groups = await daemon.ctx.db.read
    .selectFrom('chips')
    .innerJoin('chipGroups', 'chipGroups.id', 'chips.chipGroupId')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('chipGroups.name', '=', 'Big')
    .executeTakeFirst()
  return groups?.count
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve))
}

test('rows are registered and answered while the sheet is still arriving, and taps go on', async () => {
  const request = begin()
  request.write(`uid,redirectUrl\n${rows(1, moreThanOneWindow + 1)}`)
  const response = await answerOf(request)
  const iterator = response.setEncoding('utf8')[Symbol.asyncIterator]()
  expect((await iterator.next()).value).toMatch(/^\{"row":1,"uid":"\d+","status":"created"\}\n/)
  const uid = Buffer.from(`04${(7).toString(16).padStart(12, '0')}`, 'hex').toString('hex')
  expect(await get(tapPath(tap(derived, { uid }, 1), '/chips/find'))).toMatchObject({ isValidTap: true })

  request.end(rows(moreThanOneWindow + 1, moreThanOneWindow + 11))
  let last = ''
  for (let next = await iterator.next(); !next.done; next = await iterator.next())
    last = `${last}${next.value}`.slice(-200)
  const row = moreThanOneWindow + 10
  expect(last.trim().split('\n').at(-1)).toBe(`{"row":${row},"uid":"${numbered(row)}","status":"created"}`)
})

test('what was written before the client went away stays, and doing it again says so', async () => {
  const request = begin('&report=failures')
  request.on('error', () => undefined)
  request.write(`uid,redirectUrl\n${rows(1, moreThanOneWindow + 1)}`)
  await until(async () => ((await chipsOfBig()) ?? 0) >= 5000)
  request.destroy()
  const record = () => get('/admin/audit?team=Acme&action=chips.import')
  await until(async () => JSON.stringify(await record()).includes('"stopped"'))
  const written = (await chipsOfBig()) ?? 0
  expect(await record()).toMatchObject([
    { detail: { phase: 'stopped', created: written, failed: 0 } },
    { detail: { phase: 'started' } },
  ])

  const again = begin('&report=failures')
  again.end(`uid,redirectUrl\n${rows(1, moreThanOneWindow + 1)}`)
  const counts = JSON.parse(await textOf(await answerOf(again)))
  expect(counts).toEqual({ created: moreThanOneWindow - written, unchanged: written, failed: 0 })
})

test('a client that sends all before it listens hears why its sheet was refused', async () => {
  const { hostname, port } = new URL(daemon.url)
  const socket = net.connect(Number(port), hostname)
  const block = 'x,y\n'.repeat(64 * 1024)
  const body = `uid,colour\n${block.repeat(40)}`
  socket.write(
    `POST /admin/chips/import?team=Acme&chipGroup=Big&keySet=101 HTTP/1.1\r\nhost: ${hostname}\r\n` +
      `authorization: ${headers.authorization}\r\ncontent-type: text/csv\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  await new Promise((resolve) => socket.write(body, resolve))
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('HTTP/1.1 400')
  expect(String(answer)).toContain('\\"colour\\"')
  socket.destroy()
})

test('a client that reads nothing is sent little, and its rows wait', async () => {
  // This system keeps megabytes of what goes through a port, and little of what goes through a file.
  const request = begin('', { socketPath: join(daemon.dataDir, adminSocketName) })
  const answered = answerOf(request)
  request.write('uid,redirectUrl\n')
  let sent = 0
  let isStuck = false
  const total = 60_000
  while (sent < total && !isStuck) {
    if (!request.write(rows(sent + 1, sent + 1001))) {
      isStuck = await Promise.race([
        once(request, 'drain').then(() => false),
        new Promise<boolean>((resolve) => setTimeout(resolve, 1500, true)),
      ])
    }
    sent += 1000
  }
  expect(isStuck).toBe(true)
  const response = await answered
  response.resume()
  request.end()
  await once(response, 'end')
  expect(await chipsOfBig()).toBe(sent)
})
