import { afterAll, beforeAll, expect, test } from 'vitest'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { type Attacked, attackedToken, openAttacked } from '../support/attacked-daemon.ts'
import { seed } from '../support/seeds.ts'
import {
  credentialsOf,
  repeated,
  type StreamedBody,
  sendStreamed,
  statusOf,
  streamedBatches,
  streamedEndpoint,
  streamedEndpoints,
} from '../support/streamed-bodies.ts'

// Node sets a request's socket to null when a loop over the request is left early: on the built daemon, one such
// request used to end the process. So these end bodies early in every way, and the daemon has to go on.

let attacked: Attacked
beforeAll(async () => {
  attacked = await openAttacked({ seed, env: { TAPCHIP_RATE_LIMIT: 'off', TAPCHIP_DEV_CHAIN: 'off' } })
  for (const [path, batch] of Object.entries(streamedBatches)) {
    const body = JSON.stringify({ ...batch, total: 1_000_000, rowsHash: '0'.repeat(64) })
    const headers = { 'content-type': 'application/json', ...credentialsOf(path, attackedToken) }
    expect((await attacked.ask(path, { method: 'POST', headers, body })).status).toBe(200)
  }
})
afterAll(() => attacked?.close())

const kib = 1024
const block = (text: string) => Buffer.alloc(64 * kib, text)

const sendTo = async (key: string, sent: Partial<StreamedBody>): Promise<string> => {
  const { path, type } = streamedEndpoint(key)
  const answer = await sendStreamed({
    port: Number(new URL(attacked.daemon.ready.url).port),
    path,
    pieces: [],
    end: 'whole',
    ...sent,
    headers: { 'content-type': type, ...credentialsOf(path, attackedToken), ...sent.headers },
  })
  expect((await attacked.ask('/healthz')).status).toBe(200)
  return answer
}

const asksForLines = (key: string) => streamedEndpoint(key).type === 'application/x-ndjson'

test.each(streamedEndpoints.filter(asksForLines))(
  '%s refuses a body over its limit, and serves on',
  async (key) => {
    const limit = (endpoints as Record<string, { bodyLimit?: number }>)[key]?.bodyLimit ?? 0
    const pieces = () => repeated(block('{}\n'), Math.ceil(limit / (64 * kib)) + 16)
    // A reset may overtake the answer while more is sent.
    await expect
      .poll(async () => statusOf(await sendTo(key, { pieces: pieces() })), { timeout: 30_000 })
      .toBe(413)
  },
)

test.each(streamedEndpoints)('%s outlives a body that is cut, half closed, or abandoned', async (key) => {
  const { heading, row } = streamedEndpoint(key)
  for (const end of ['cut', 'half', 'abandoned'] as const)
    for (const pieces of [[], [heading], [heading, row], [heading, row, row.slice(0, -3)]])
      expect(statusOf(await sendTo(key, { pieces, end }))).toBeLessThan(500)
  // The answer has begun, or has ended, while more is sent.
  for (const piece of [row, block('x'), block('{}\n'), block('\xff')])
    await sendTo(key, { pieces: [heading, ...repeated(piece, 200)], end: 'abandoned' })
})

test.each(streamedEndpoints)('%s outlives a bad row, and what comes after it', async (key) => {
  const { heading, row, ending } = streamedEndpoint(key)
  const bad = ['not a row\n', '\xff\xfe\n', '{"uid":1}\n', '"'.repeat(70_000), '\0', 'x'.repeat(200_000)]
  for (const one of bad.map((text) => Buffer.from(text, 'latin1'))) {
    const pieces = [heading, ...repeated(row, 20), one, ...repeated(row, 2000), ending]
    const answer = await sendTo(key, { pieces })
    expect({ one: one.subarray(0, 9).toString('latin1'), status: statusOf(answer) }).not.toMatchObject({
      status: expect.toSatisfy((status: number) => status === 0 || status >= 500),
    })
    expect(answer).not.toContain('"statusCode":500')
  }
})

test.each(streamedEndpoints)('%s outlives what it does not take', async (key) => {
  const { heading, row } = streamedEndpoint(key)
  const pieces = [heading, ...repeated(row, 3000)]
  for (const headers of [
    { 'content-encoding': 'gzip' },
    { 'content-type': 'image/png' },
    { 'x-svc-api-key': 'svc_unknown', authorization: 'Bearer unknown' },
    { 'idempotency-key': 'k' },
  ] as Record<string, string>[])
    for (const end of ['whole', 'cut'] as const)
      expect(statusOf(await sendTo(key, { pieces, headers, end }))).toBeLessThan(500)
})

test('nothing of that was an error of the daemon, and it stops in order', async () => {
  const { daemon } = attacked
  const logged = daemon
    .log()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  expect(logged.filter(({ level, status = 0 }) => level >= 50 || status >= 500)).toEqual([])
  const { text } = await attacked.ask('/metrics', { headers: attacked.admin })
  expect(text).toContain('status="413"')
  expect(text).not.toMatch(/status="5\d\d"/)
  expect(await daemon.stop()).toBe(0)
})
