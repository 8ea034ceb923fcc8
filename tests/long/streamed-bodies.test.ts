import { randomInt } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { type Attacked, attackedToken, openAttacked } from '../support/attacked-daemon.ts'
import { randomFrom } from '../support/random.ts'
import { seed } from '../support/seeds.ts'
import { inWords, probeSteadily } from '../support/steady-probe.ts'
import {
  credentialsOf,
  repeated,
  type StreamedBody,
  sendStreamed,
  statusOf,
  streamedEndpoint,
  streamedEndpoints,
} from '../support/streamed-bodies.ts'

// Bodies that end in every way but the right one, and some that end right. TAPCHIP_FUZZ_SEED repeats a run.

const total = 5000
const together = 8
const fuzzSeed = Number(process.env.TAPCHIP_FUZZ_SEED ?? randomInt(2 ** 31))
const random = randomFrom(fuzzSeed)
const upTo = (most: number) => Math.floor(random() * (most + 1))
const oneOf = <T>(all: readonly T[]): T => all[upTo(all.length - 1)] as T
const isOneIn = (n: number) => random() < 1 / n

let attacked: Attacked
beforeAll(async () => {
  attacked = await openAttacked({ seed, env: { TAPCHIP_RATE_LIMIT: 'off' }, args: ['--log-level', 'error'] })
})
afterAll(() => attacked?.close())

const block = 64 * 1024
const badRows = [
  'not a row\n',
  '{"uid":\n',
  '{"uid":1,"redirectUrl":[]}\n',
  'a,b,c,d\n',
  '"never closed\n',
  '\0\n',
  `${'['.repeat(5000)}\n`,
  'x'.repeat(70_000),
  Buffer.from([0xff, 0xfe, 0x0a]),
  '--b\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\nGIF89a\r\n',
]
const types = ['text/csv', 'application/json', 'application/x-ndjson', 'multipart/form-data', 'image/png', '']
const ends = ['whole', 'cut', 'half', 'abandoned'] as const

type Body = Pick<StreamedBody, 'headers' | 'pieces' | 'length' | 'end' | 'pauseMs'>
type Endpoint = ReturnType<typeof streamedEndpoint>

/** Several in a piece, since each piece costs the sender more than the daemon. */
const rows = ({ row }: Endpoint, most: number) => repeated(row.repeat(1 + upTo(20)), upTo(most / 10))

/** Each makes a body that has one thing wrong with it, or nothing. */
const kinds: Record<string, (endpoint: Endpoint, limit: number | undefined) => Body> = {
  right: (to) => ({ headers: {}, pieces: [to.heading, ...rows(to, 300), to.ending], end: 'whole' }),
  cut: (to) => ({
    headers: {},
    pieces: [to.heading, ...rows(to, 300), to.row.slice(0, upTo(9))],
    end: 'cut',
  }),
  'half closed': (to) => ({ headers: {}, pieces: [to.heading, ...rows(to, 100)], end: 'half' }),
  abandoned: (to) => ({ headers: {}, pieces: [to.heading, ...rows(to, 3000)], end: 'abandoned' }),
  'bad row': (to) => ({
    headers: {},
    pieces: [to.heading, ...rows(to, 50), oneOf(badRows), ...rows(to, 500), to.ending],
    end: oneOf(ends),
  }),
  noise: (to) => ({
    headers: {},
    pieces: [to.heading, ...rows(to, 5), Buffer.from(Array.from({ length: upTo(2000) }, () => upTo(255)))],
    end: oneOf(ends),
  }),
  'too long': (to, limit = 8 * 1024 * 1024) => ({
    headers: {},
    // The long ones take most of the time of all.
    pieces: repeated(Buffer.alloc(block, oneOf([to.row, '{}\n', 'x'])), isOneIn(8) ? limit / block + 9 : 140),
    end: oneOf(ends),
  }),
  endless: (to) => ({
    headers: {},
    pieces: [to.heading, ...repeated(Buffer.alloc(block, oneOf([to.row, ' ', '\n'])), upTo(64))],
    end: 'abandoned',
  }),
  gzip: (to) => ({
    headers: { 'content-encoding': oneOf(['gzip', 'br', 'nonsense']) },
    pieces: [gzipSync(to.heading + to.row.repeat(upTo(500)))],
    end: oneOf(ends),
  }),
  'wrong type': (to) => ({
    headers: { 'content-type': oneOf(types) },
    pieces: [to.heading, ...rows(to, 100)],
    end: oneOf(ends),
  }),
  'no key': (to) => ({
    headers: isOneIn(4)
      ? { authorization: 'Bearer nobody', 'x-svc-api-key': 'nobody' }
      : { authorization: '' },
    pieces: [to.heading, ...rows(to, 500)],
    end: oneOf(ends),
  }),
  'wrong length': (to) => {
    const text = to.heading + to.row.repeat(upTo(100))
    return {
      headers: {},
      pieces: [text],
      length: upTo(2 * text.length),
      end: oneOf(['cut', 'half', 'abandoned']),
    }
  },
  'two lengths': (to) => ({ headers: { 'content-length': '7' }, pieces: rows(to, 50), end: oneOf(ends) }),
  slow: (to) => ({
    headers: {},
    pieces: (to.heading + to.row).match(/.{1,9}/gs) ?? [],
    end: oneOf(ends),
    pauseMs: upTo(10),
  }),
}

test(`${total} streamed bodies end nothing, and meet no 5xx but 503 (seed ${fuzzSeed})`, async () => {
  const { daemon } = attacked
  const port = Number(new URL(daemon.ready.url).port)
  const health = probeSteadily({
    urls: [`${daemon.ready.url}/healthz`],
    repeat: true,
    everyMs: 10,
    pid: daemon.ready.pid,
  })
  const names = Object.keys(kinds)
  const statuses: Record<number, number> = {}
  const bad: unknown[] = []
  let sent = 0
  const sender = async () => {
    while (sent < total) {
      const n = sent++
      const key = oneOf(streamedEndpoints)
      // Rare, since each is many megabytes.
      const name = isOneIn(100) ? 'too long' : oneOf(names.filter((one) => one !== 'too long'))
      const to = streamedEndpoint(key)
      const limit = (endpoints as Record<string, { bodyLimit?: number }>)[key]?.bodyLimit
      const body = kinds[name]?.(to, limit)
      if (!body) continue
      const credentials = credentialsOf(to.path, attackedToken)
      const headers = { 'content-type': to.type, ...(name === 'no key' ? {} : credentials), ...body.headers }
      const answer = await sendStreamed({ ...body, port, path: to.path, headers })
      const status = statusOf(answer)
      statuses[status] = (statuses[status] ?? 0) + 1
      const within = [...answer.matchAll(/"statusCode":(\d+)/g)].map(([, code]) => Number(code))
      if ([status, ...within].some((code) => code >= 500 && code !== 503))
        bad.push({ n, key, name, end: body.end, answer: answer.slice(0, 600) })
    }
  }
  await Promise.all(Array.from({ length: together }, sender))
  const probes = await health.stop()
  console.log(`seed ${fuzzSeed}: ${JSON.stringify(statuses)}; health meanwhile: ${inWords(probes)}`)
  expect(bad.slice(0, 3)).toEqual([])
  // 0: a connection that the daemon closed as too long idle, just when it was used again.
  expect(probes.filter(({ status }) => status !== 200 && status !== 0)).toEqual([])
  const lines = daemon.log().split('\n').filter(Boolean)
  expect(lines.map((line) => JSON.parse(line)).filter(({ level }) => level > 30)).toEqual([])
  expect(await daemon.stop()).toBe(0)
}, 600_000)
