import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ReconnectPolicy } from '../../src/cli/batch/reconnect-policy.ts'
import { ApiError, DaemonUnreachable } from '../../src/cli/client/errors.ts'

let server: Server
let notes: string[]
let policy: ReconnectPolicy
let port: number
const listen = (at = 0) =>
  new Promise<void>((resolve) => {
    server = createServer((_, answer) => answer.end(JSON.stringify({ instance: 'one' })))
    server.listen(at, '127.0.0.1', resolve)
  })
beforeEach(async () => {
  await listen()
  port = (server.address() as AddressInfo).port
  notes = []
  const ctx = { io: { note: (line: string) => notes.push(line) }, system: { env: {} } }
  const probe = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: answer.status, text: await answer.text() }
  }
  policy = new ReconnectPolicy(ctx as never, { probe } as never, new AbortController().signal, 'one')
})
afterEach(() => server.close())

const listener = { url: new URL('http://127.0.0.1:1') } as never
const cut = new DaemonUnreachable(listener, '', new Error('cut'))
const starting = new ApiError({
  ...{ statusCode: 503, code: 'chain_unavailable', requestId: '', retryAfter: 1 },
  message: 'The daemon is starting, and its chains are not ready yet. Try again soon.',
})

test('a daemon that answers is not said to be away, and a request that it always cuts fails in the end', async () => {
  let repeated = 0
  const repeating = async () => {
    for (;;) {
      await policy.wait(cut)
      repeated += 1
    }
  }
  await expect(repeating()).rejects.toBe(cut)
  expect([repeated, notes]).toEqual([5, []])
})

test('a daemon that starts is said to be starting, once', async () => {
  for (let i = 0; i < 3; i += 1) await policy.wait(starting)
  expect(notes).toEqual(['The daemon is starting. Waiting for it up to 60 s.'])
})

test('a daemon that does not answer is waited for', async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  const waiting = Promise.all([policy.wait(cut), policy.wait(cut)])
  await expect.poll(() => notes).toEqual(['The daemon is not answering. Waiting for it up to 60 s.'])
  await listen(port)
  await waiting
  expect(notes).toHaveLength(1)
})
