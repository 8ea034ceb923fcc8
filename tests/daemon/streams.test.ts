import { Readable } from 'node:stream'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DomainError } from '../../src/daemon/domain/errors/errors.ts'
import { CheckedLines } from '../../src/daemon/http/checked-lines.ts'
import { sendLines } from '../../src/daemon/http/streams.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { acmeKey, seed } from '../support/seeds.ts'

async function* failing(error: unknown) {
  yield { row: 1 }
  yield { row: 2 }
  throw error
}
const socket = { destroyed: false }
// What an attacker tried, and how it ends now.

let t: TestApp
const clock = testClock()
beforeAll(async () => {
  t = await openTestApp({ seed, clock })
})
afterAll(() => t.close())

test('what goes wrong in the middle of a stream is its last line, and shows nothing of the inside', async () => {
  const app = Fastify()
  app.get('/known', (_request, reply) =>
    sendLines(reply, failing(new DomainError('store_unavailable', 'The disk is full.'))),
  )
  app.get('/unknown', (_request, reply) => sendLines(reply, failing(new Error('at line 7 of secret.ts'))))
  const known = (await app.inject('/known')).body.trim().split('\n')
  expect(JSON.parse(known.at(-1) ?? '')).toMatchObject({ statusCode: 503, code: 'store_unavailable' })
  expect(known).toHaveLength(3)
  const unknown = await app.inject('/unknown')
  expect(unknown.body).toContain('"statusCode":500')
  expect(unknown.body).not.toContain('secret')
  await app.close()
})

test('lines are cut wherever the chunks of a body end, in the middle of a letter too', async () => {
  const bytes = Buffer.from('{"a":"ü"}\r\n\n{"b":"🏔"}\n{"c":1}')
  for (let size = 1; size < bytes.length; size++) {
    const chunks = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    const read = await CheckedLines.read({ body: chunks(), raw: { socket } }, 1000, async (value) => ({
      value,
    }))
    const lines: unknown[] = []
    for await (const { value } of read.goodLines()) lines.push(value)
    expect(lines).toEqual([{ a: 'ü' }, { b: '🏔' }, { c: 1 }])
  }
})

test('a body that is too long or no UTF-8 is refused', async () => {
  const read = (bytes: Buffer) => {
    const body = async function* () {
      yield bytes
    }
    return CheckedLines.read({ body: body(), raw: { socket } }, 10, async (value) => ({ value }))
  }
  await expect(read(Buffer.alloc(11, 'a'))).rejects.toMatchObject({ code: 'too_large' })
  await expect(read(Buffer.from([0xff, 0xfe]))).rejects.toMatchObject({ code: 'invalid_input' })
})

test('a body whose sender has gone is looked at no further', async () => {
  const gone = { destroyed: false }
  let looked = 0
  const read = CheckedLines.read(
    { body: Readable.from([Buffer.from('1\n'.repeat(10_000))]), raw: { socket: gone } },
    1e6,
    async (value) => {
      looked += 1
      gone.destroyed = true
      const end = performance.now() + 1
      while (performance.now() < end);
      return { value }
    },
  )
  await expect(read).rejects.toThrow('disconnected')
  expect(looked).toBeLessThan(100)
})

describe('very bad batches', () => {
  const batch = (payload: string) =>
    t.app.inject({
      method: 'POST',
      url: '/chips/batch?dryRun=true',
      headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' },
      payload,
    })

  test('end early: a line without end, and rows that are all wrong', async () => {
    expect((await batch('x'.repeat(30_000_000))).json().message).toContain('line of over')
    const wrong = await batch('{}\n'.repeat(200_000))
    expect(wrong.statusCode).toBe(400)
    expect(wrong.body.length).toBeLessThan(200_000)
    const list = JSON.stringify({
      tagUIDs: Array.from({ length: 110_000 }, () => 'x'),
      updates: { redirectUrl: null },
    })
    const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'application/json' }
    expect(
      (await t.app.inject({ method: 'PATCH', url: '/chips', headers, payload: list })).body.length,
    ).toBeLessThan(5000)
  })
})
