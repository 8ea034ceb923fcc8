import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type DaemonProcess, spawnDaemon } from './process.ts'
import { acmeKey, seed } from './seeds.ts'

/** A request that means harm, or is clumsy beyond measure; one API key is all that it takes. */
export interface Hostile {
  readonly name: string
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  readonly body: () => string
  readonly status: number
}

const many = (count: number, text: string) => text.repeat(count)
const event = (metadata: string) => `{"name":"E","tokenId":"1","contractId":1,"metadata":${metadata}}`
const withAttributes = (attributes: string) =>
  `{"name":"","collection":"","description":"","image":"","attributes":[${attributes}],"media_gallery":[]}`
const uids = (count: number) =>
  Array.from({ length: count }, (_, at) => `"${1_260_000_000_000_000 + at}"`).join()
const patch = (tagUIDs: string) => `{"tagUIDs":[${tagUIDs}],"updates":{"redirectUrl":null}}`

/** @param mebibytes of those that are streams of lines */
export const hostileRequests = (mebibytes: number): readonly Hostile[] => {
  const lines = (text: string, size = mebibytes) => many(Math.floor((size * 1024 * 1024) / text.length), text)
  const token = '"contractAddress":"0x8f3c2A7d1e5B9046A2CD7E81F0B3c4D5e6f70819","chainId":31337,"tokenId":"1"'
  const described = `{${token},"metadata":${withAttributes(many(400, '{"trait_type":"a","value":"b"},').slice(0, -1))}}\n`
  return [
    {
      name: 'bad attributes',
      method: 'POST',
      path: '/events',
      body: () => event(withAttributes(`${many(489_999, '0,')}0`)),
      status: 400,
    },
    {
      name: 'ten thousand of them',
      method: 'POST',
      path: '/events',
      body: () => event(withAttributes(`${many(6_999, '{},')}{}`)),
      status: 400,
    },
    {
      name: 'values without end',
      method: 'POST',
      path: '/events',
      body: () => event(`[${many(349_000, '[],')}[]]`),
      status: 400,
    },
    {
      name: 'depth without end',
      method: 'POST',
      path: '/events',
      body: () => event(`${many(500_000, '[')}`),
      status: 400,
    },
    {
      name: 'a million chips',
      method: 'PATCH',
      path: '/chips',
      body: () => patch(uids(1_000_000)),
      status: 400,
    },
    {
      name: 'a hundred thousand foreign chips',
      method: 'PATCH',
      path: '/chips',
      body: () => patch(uids(100_000)),
      status: 404,
    },
    {
      name: 'rows that fit',
      method: 'POST',
      path: '/chips/batch?dryRun=true',
      body: () =>
        lines(`{"uid":"1260000000000000","redirectUrl":"https://example.com/${many(4000, 'x')}"}\n`),
      status: 200,
    },
    {
      name: 'rows that do not',
      method: 'POST',
      path: '/chips/batch',
      body: () => lines('{}\n'),
      status: 400,
    },
    {
      name: 'metadata',
      method: 'POST',
      path: '/phygitals/metadata/batch?dryRun=true',
      body: () => lines(described, mebibytes / 4),
      status: 200,
    },
    {
      name: 'metadata that does not fit',
      method: 'POST',
      path: '/phygitals/metadata/batch?dryRun=true',
      body: () => lines('{}\n'),
      status: 400,
    },
  ]
}

/** A daemon with the built executable, half a gigabyte of heap and a chain of its own. */
export async function startSmallDaemon(): Promise<DaemonProcess & { children(): number[] }> {
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-hostile-'))
  const seedFile = join(dir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const args = ['--data-dir', join(dir, 'data'), '--port', '0', '--seed', seedFile, '--log-level', 'error']
  const env = { TAPCHIP_RATE_LIMIT: 'off', NODE_OPTIONS: '--max-old-space-size=512' }
  const daemon = await spawnDaemon(args, env)
  onTestFinished(async () => {
    await daemon.stop()
    rmSync(dir, { recursive: true, force: true })
  })
  const { pid } = daemon.ready
  const children = () =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter((text) => text.trim() !== '')
      .map(Number)
  return { ...daemon, children }
}

export const isRunning = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))

/** Sends it so many times at once. @returns statuses and the bytes of the longest answer */
export async function sendAtOnce(url: string, { method, path, body }: Hostile, times: number) {
  const text = body()
  const answers = Array.from({ length: times }, async () => {
    const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, { method, headers, body: text })
    let bytes = 0
    for await (const chunk of answer.body ?? []) bytes += chunk.length
    return { status: answer.status, bytes }
  })
  const told = await Promise.all(answers)
  return {
    statuses: [...new Set(told.map(({ status }) => status))],
    bytes: Math.max(...told.map(({ bytes }) => bytes)),
  }
}
