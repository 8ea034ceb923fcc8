import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { resolve } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { html } from '../../src/daemon/pages/tap/html.ts'
import { layout } from '../../src/daemon/pages/tap/layout.ts'
import { gzipPage } from '../../src/daemon/routes/page-bytes.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { spawnDaemon } from '../support/process.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

test('a compressed page is the page, byte for byte, in a size that varies', () => {
  const settings = {
    language: 'en',
    nonce: 'n',
    now: new Date(),
    gateways: { ipfs: 'https://i.example', arweave: 'https://a.example' },
    script: undefined,
    home: 'https://d.example',
  } as const
  for (const text of ['', 'ü <style> </style> 🎉'.repeat(500)]) {
    const page = layout(`t ${text.slice(0, 9)}`, html`<main>${text}</main>`, settings)
    const sizes = new Set<number>()
    for (let n = 0; n < 40; n++) {
      const compressed = gzipPage(page)
      sizes.add(compressed.length)
      expect(gunzipSync(compressed).toString()).toBe(page.body)
      expect(compressed.length).toBeLessThan(6000)
    }
    expect(sizes.size).toBeGreaterThan(1)
  }
})

describe('over HTTP', () => {
  let daemon: TestDaemon
  let counter = 0
  beforeAll(async () => {
    daemon = await startTestDaemon({ seed })
  })
  afterAll(() => daemon.stop())

  interface Answer {
    status: number | undefined
    headers: IncomingHttpHeaders
    bytes: Buffer
  }
  /** As it is on the wire. */
  async function ask(
    path: string,
    headers: Record<string, string> = {},
    body?: string,
    url = daemon.url,
  ): Promise<Answer> {
    const asked = request(url + path, { method: body === undefined ? 'GET' : 'POST', headers })
    asked.end(body)
    const [answer] = await once(asked, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of answer) chunks.push(chunk)
    return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(chunks) }
  }
  const chrome = { 'accept-encoding': 'gzip, deflate, br, zstd', accept: 'text/html' }
  const next = () => tap(derived, { uid: uids.unminted }, ++counter)

  test('a browser gets tap pages, refusals and the page at / compressed, and a program that does not ask plain ones', async () => {
    const used = tapPath(next())
    for (const [path, status, words] of [
      [used, 200, 'data-ref='],
      [used, 410, 'used before'],
      ['/t?e=1', 400, 'not complete'],
      ['/', 200, 'Hold your phone'],
      ['/nothing', 404, 'nothing here'],
    ] as const) {
      const { status: got, headers, bytes } = await ask(path, chrome)
      expect([path, got, headers['content-encoding']]).toEqual([path, status, 'gzip'])
      expect(headers.vary).toContain('accept-encoding')
      const text = gunzipSync(bytes).toString()
      expect(text).toContain(words)
      expect(text.endsWith('</html>\n')).toBe(true)
      expect(bytes.length).toBeLessThan(7000)
    }
    for (const accepted of [{}, { 'accept-encoding': 'identity' }, { 'accept-encoding': 'gzip;q=0' }]) {
      const plain = await ask(tapPath(next()), { accept: 'text/html', ...accepted })
      expect(plain.headers['content-encoding']).toBeUndefined()
      expect(plain.bytes.toString()).toContain('data-ref=')
    }
  })

  test('what a request brought is not compressed with a ref', async () => {
    const strange = await ask(`${tapPath(next())}&guess=data-ref`, chrome)
    expect([strange.status, strange.headers['content-encoding']]).toEqual([200, undefined])
    const page = strange.bytes.toString()
    const ref = /data-ref="([\w-]{21})"/.exec(page)?.[1] ?? ''
    const typed = new URLSearchParams({ ref, kind: 'claim', id: '0', recipient: 'nonsense' }).toString()
    const form = { ...chrome, 'content-type': 'application/x-www-form-urlencoded' }
    const refused = await ask('/t/act', form, typed)
    expect(refused.headers['content-encoding']).toBeUndefined()
    expect(refused.bytes.toString()).toContain('nonsense')
  })

  test('the script comes compressed as the browser likes it, and plain to others', async () => {
    const text = readFileSync(resolve(import.meta.dirname, '../../dist/tap-page/page.js'))
    const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16)
    const built = await spawnDaemon(['--ephemeral', '--port', '0'])
    onTestFinished(async () => {
      await built.stop()
    })
    const load = (headers: Record<string, string> = {}) =>
      ask(`/t/assets/page-${hash}.js`, headers, undefined, built.ready.url)
    const plain = await load()
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(plain.bytes).toEqual(text)
    const brotli = await load({ 'accept-encoding': 'gzip, br' })
    const gzip = await load({ 'accept-encoding': 'gzip' })
    expect([brotli.headers['content-encoding'], gzip.headers['content-encoding']]).toEqual(['br', 'gzip'])
    expect(brotliDecompressSync(brotli.bytes)).toEqual(text)
    expect(gunzipSync(gzip.bytes)).toEqual(text)
    for (const { headers } of [plain, brotli, gzip]) expect(headers.vary).toBe('accept-encoding')
    expect(gzip.bytes.length).toBeLessThan(text.length / 2)
  })
})
