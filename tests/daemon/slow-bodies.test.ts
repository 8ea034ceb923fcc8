import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { countOf, dial, head, listening, openForTest, withKey } from '../support/raw-http.ts'
import { acmeKey, uids } from '../support/seeds.ts'

describe('a slow request', () => {
  const requestMs = 150
  const patience = { requestMs, queueMs: 10_000 }
  const code = { 'x-svc-code': 'aaaaaaaaaaaaaaaaaaaaa', 'content-type': 'application/json' }

  /** Sends a byte whenever one can be sent, for as long as somebody listens. */
  const trickle = (socket: Socket) => {
    const timer = setInterval(() => socket.writable && socket.write(' '), 10)
    socket.on('close', () => clearInterval(timer))
  }

  test('is ended, in the middle of a body that stands still, or comes byte by byte', async () => {
    const lines: string[] = []
    // On a busy machine, a first request's head may take longer than the others' patience to be read.
    const t = await openForTest({
      patience: { ...patience, requestMs: 1500 },
      log: (line) => lines.push(line),
    })
    const port = await listening(t)
    const start = head('POST /events/mint/self', { ...code, 'content-length': 1000 })
    const still = await dial(port, `${start}{`)
    const slow = await dial(port, `${start}{`)
    trickle(slow.socket)
    for (const heard of [await still.heard, await slow.heard]) {
      const [status = '', body = ''] = heard.split('\r\n\r\n')
      expect(status).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/)
      expect(JSON.parse(body)).toMatchObject({
        statusCode: 408,
        error: 'Request Timeout',
        code: 'too_slow',
        message: expect.stringContaining('send it again'),
        requestId: expect.stringMatching(/./),
      })
    }
    expect(lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40)).toEqual([])
  })

  test('is ended where what may be long comes byte by byte, and is no stream', async () => {
    // As above, and this one's key is looked up first.
    const t = await openForTest({ patience: { ...patience, requestMs: 1500 } })
    const headers = { ...withKey(acmeKey), 'content-type': 'application/json', 'content-length': 1_000_000 }
    const { socket, heard } = await dial(await listening(t), `${head('PATCH /chips', headers)}{`)
    trickle(socket)
    expect(await heard).toMatch(/^HTTP\/1.1 408 /)
  })

  test('is ended in the middle of its headers', async () => {
    const t = await openForTest({ patience })
    const { heard } = await dial(await listening(t), 'GET /healthz HTTP/1.1\r\nHost: loc')
    expect(await heard).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/)
  })

  test('is ended where it was refused long before its body is there', async () => {
    const t = await openForTest({ patience })
    const headers = { 'content-type': 'application/json', 'content-length': 1_000_000 }
    const { socket, heard } = await dial(await listening(t), head('PATCH /chips', headers))
    trickle(socket)
    expect(await heard).toMatch(/^HTTP\/1.1 401 /)
  })

  test('is not ended while a long body comes, is ended once it stands still', async () => {
    const t = await openForTest({ patience })
    const port = await listening(t)
    const headers = {
      ...withKey(acmeKey),
      'content-type': 'application/x-ndjson',
      'transfer-encoding': 'chunked',
      connection: 'close',
    }
    const start = head('POST /chips/batch?dryRun=true', headers)
    const row = `{"uid":"${uids.jacket}","redirectUrl":null}\n`
    const chunk = `${row.length.toString(16)}\r\n${row}\r\n`
    const moving = await dial(port, start)
    const timer = setInterval(() => moving.socket.writable && moving.socket.write(chunk), 10)
    // Three that began later are ended one after another, while that one goes on.
    for (let n = 0; n < 3; n++) {
      const still = await dial(port, start + chunk)
      expect(await still.heard).toMatch(/^HTTP\/1.1 408 /)
    }
    clearInterval(timer)
    moving.socket.write('0\r\n\r\n')
    expect(await moving.heard).toMatch(/^HTTP\/1.1 200 /)
  })

  test('is not ended while the daemon itself lets it wait', async () => {
    const t = await openForTest({ patience: { requestMs, queueMs: 60_000 } })
    const port = await listening(t)
    const headers = { ...withKey(acmeKey), 'content-type': 'application/x-ndjson', connection: 'close' }
    const start = (length: number) =>
      head('POST /chips/batch?dryRun=true', { ...headers, 'content-length': length })
    const begun = countOf(t, '/chips/batch')
    const moving = []
    for (let n = 0; n < 4; n++) {
      const one = await dial(port, start(100_000_000))
      trickle(one.socket)
      moving.push(one)
    }
    await expect.poll(begun).toBe(4)
    const row = `{"uid":"${uids.jacket}","redirectUrl":null}\n`
    const body = row.repeat(5000)
    // It has sent more than is read before its turn, and not all.
    const waiting = await dial(port, start(body.length) + body.slice(0, -1))
    const still = await dial(port, head('POST /events/mint/self', { ...code, 'content-length': 9 }))
    await still.heard
    const again = await dial(port, head('POST /events/mint/self', { ...code, 'content-length': 9 }))
    await again.heard
    expect(waiting.soFar()).toBe('')
    moving[0]?.socket.destroy()
    waiting.socket.write('\n')
    expect(await waiting.heard).toMatch(/^HTTP\/1.1 200 /)
  })
})
