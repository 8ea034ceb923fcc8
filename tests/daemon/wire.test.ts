import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { openApiDocument } from '../../src/daemon/http/openapi/document.ts'
import { WireWords } from '../../src/daemon/http/parse-input.ts'
import { openTestApp, startTestDaemon, type TestApp } from '../support/daemon.ts'
import { run } from '../support/process.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

describe('a client of a service of another name', () => {
  // What such a client has built in: its service's words, in headers, fields, paths and the ref parameter.
  const client = (url: string) => {
    const get = (path: string, headers: Record<string, string> = {}, body = '') =>
      new Promise<{ status: number; location: string; json: () => Record<string, unknown> }>(
        (resolve, reject) => {
          const call = request(
            `${url}${path}`,
            {
              headers: {
                'content-type': 'application/json',
                'content-length': Buffer.byteLength(body),
                ...headers,
              },
            },
            (answer) => {
              const chunks: Buffer[] = []
              answer.on('data', (chunk: Buffer) => chunks.push(chunk))
              answer.on('end', () =>
                resolve({
                  status: answer.statusCode ?? 0,
                  location: answer.headers.location ?? '',
                  json: () => JSON.parse(Buffer.concat(chunks).toString()),
                }),
              )
            },
          )
          call.on('error', reject).end(body)
        },
      )
    return {
      find: async (e: string, c: string, d: string) => (await get(`/chips/find?e=${e}&c=${c}&d=${d}`)).json(),
      open: async (path: string) => new URL((await get(path)).location).searchParams.get('iykRef'),
      ref: async (id: string) =>
        (await get(`/refs/${id}`, { 'x-iyk-code': 'extra', 'x-iyk-api-key': 'whatever' })).json(),
      otp: async (id: string) => (await get(`/otps/${id}`)).json(),
      chips: async (name: string) =>
        (await get('/chips', { 'x-iyk-api-key': acmeKey }, JSON.stringify({ name }))).json(),
      status: async (path: string, headers: Record<string, string>) => (await get(path, headers)).status,
    }
  }

  let daemon: Awaited<ReturnType<typeof startTestDaemon>>
  const year = { startDate: '2020-01-01', endDate: '2090-01-01', expiryDate: '2090-01-01' }
  beforeAll(async () => {
    const [acme, other] = seed.teams
    const teams = [
      { ...acme, badgeEvents: acme?.badgeEvents?.map((event) => ({ ...event, ...year })) },
      other,
    ]
    daemon = await startTestDaemon({
      seed: { ...seed, teams },
      env: { TAPCHIP_WIRE_PREFIX: 'iyk', TAPCHIP_WIRE_BADGE: 'poap' },
    })
  })
  afterAll(() => daemon.stop())

  test('works unchanged: its words are there, and the neutral ones are gone', async () => {
    const service = client(daemon.url)
    const { d, e, c } = tap(derived, { uid: uids.events }, 1)
    const found = await service.find(e, c, d)
    expect(found).toMatchObject({ isValidTap: true, poapEvent: { id: 2, poapEventId: 100_001 } })
    expect(found).not.toHaveProperty('badgeEvent')
    const otp = await service.otp((found.otp as { code: string }).code)
    expect(otp).toMatchObject({ type: 'POAP_EVENT', poapEvent: { poapEventId: 100_001 } })
    expect(otp).not.toHaveProperty('badgeEvent')

    const id = await service.open(tapPath(tap(derived, { uid: uids.jacket }, 1)))
    const ref = await service.ref(id ?? '')
    expect(ref).toMatchObject({ isValidRef: true, poapEvents: [], guestbookEvents: [] })
    expect(ref).not.toHaveProperty('badgeEvents')
    expect(await service.chips('Jackets')).toHaveLength(5)
    expect(await service.status('/chip-groups', { 'x-svc-api-key': acmeKey })).toBe(401)
  })

  test('finds its words in the description of the interface', async () => {
    const document = await (await fetch(`${daemon.url}/openapi.json`)).text()
    expect(document).toContain('x-iyk-api-key')
    expect(document).toContain('"poapEvents"')
    expect(document).not.toMatch(/x-svc|badgeEvent|badge-event/)
  })
})

describe('what surrounds the interface', () => {
  let t: TestApp
  beforeAll(async () => {
    t = await openTestApp({ seed })
  })
  afterAll(() => t.close())

  const preflight = (url: string, method = 'GET') =>
    t.app.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': method,
        'access-control-request-headers': 'content-type,x-svc-api-key,x-svc-code',
      },
    })

  test('browsers may call the interface from anywhere with the documented headers', async () => {
    for (const [url, method] of [
      ['/chips/find', 'GET'],
      ['/chips', 'PATCH'],
      ['/refs/x', 'GET'],
      ['/otps/x', 'DELETE'],
    ] as const) {
      const answer = await preflight(url, method)
      expect(answer.statusCode).toBe(204)
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      expect(answer.headers['access-control-allow-headers']).toContain('x-svc-api-key')
      expect(answer.headers['access-control-allow-headers']).toContain('x-svc-code')
      expect(answer.headers['access-control-allow-methods']).toContain(method)
    }
    const refused = await t.app.inject({ url: '/refs/x', headers: { origin: 'https://app.example' } })
    expect(refused.statusCode).toBe(404)
    expect(refused.headers['access-control-allow-origin']).toBe('*')
  })

  test.each(['/admin/teams', '/metrics', '/healthz', '/t', '/openapi.json'])(
    'and nothing else: %s',
    async (url) => {
      expect((await preflight(url)).headers['access-control-allow-origin']).toBeUndefined()
      const plain = await t.app.inject({ url, headers: { origin: 'https://app.example', ...t.admin } })
      expect(plain.headers['access-control-allow-origin']).toBeUndefined()
    },
  )

  test('/admin and /metrics refuse requests that came through a proxy', async () => {
    for (const url of ['/admin/teams', '/metrics', '/admin/openapi.json']) {
      for (const header of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip']) {
        const answer = await t.app.inject({ url, headers: { ...t.admin, [header]: '203.0.113.9' } })
        expect({ status: answer.statusCode, code: answer.json().code }).toEqual({
          status: 403,
          code: 'forwarded_refused',
        })
      }
    }
    const remote = await openTestApp({ env: { TAPCHIP_ADMIN_REMOTE: 'on' } })
    const answer = await remote.app.inject({
      url: '/admin/teams',
      headers: { ...remote.admin, 'x-forwarded-for': '203.0.113.9' },
    })
    expect(answer.statusCode).toBe(200)
    await remote.close()
  })

  test('health, readiness and metrics answer without a key', async () => {
    expect((await t.app.inject({ url: '/healthz' })).json()).toEqual({
      status: 'ok',
      name: 'tapchipd',
      version: expect.any(String),
      instance: t.ctx.instance,
    })
    expect((await t.app.inject({ url: '/readyz' })).json()).toMatchObject({ status: 'ready' })
    await t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 900), '/chips/find') })
    const metrics = (await t.app.inject({ url: '/metrics' })).body
    expect(metrics).toContain(
      'tapchip_http_request_seconds_count{method="GET",route="/chips/find",status="200"}',
    )
    expect(metrics).toContain('tapchip_taps_total{outcome="valid"} 1')
  })

  test('what is not there is a 404 in the shape of every error', async () => {
    for (const [method, url] of [
      ['GET', '/nothing'],
      ['PUT', '/chips'],
      ['DELETE', '/chips/find'],
      ['GET', '/refs'],
      ['POST', '/metadata'],
    ] as const) {
      const answer = await t.app.inject({ method, url })
      expect(answer.statusCode).toBe(404)
      expect(answer.json()).toEqual({
        statusCode: 404,
        error: 'Not Found',
        message: expect.any(String),
        code: 'not_found',
        requestId: answer.headers['x-request-id'],
      })
    }
  })

  test('/openapi.json lists the interface, what scripts have beyond it, and no admin path', async () => {
    const document = (await t.app.inject({ url: '/openapi.json' })).json()
    const listed = Object.entries<Record<string, unknown>>(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const open = Object.entries(endpoints).filter(([, { part }]) => part !== 'admin')
    expect(listed.sort()).toEqual(open.map(([key]) => key.replace(/:(\w+)/g, '{$1}')).sort())
    expect(listed).toContain('POST /phygitals/transfer/pullable')
    expect(document.openapi).toBe('3.1.0')
  })
})

describe('rate limits', () => {
  test('bound what a stranger can call, and count a valid key by itself', async () => {
    const t = await openTestApp({ seed, env: { TAPCHIP_RATE_LIMIT: '5' } })
    const get = (url: string, headers: Record<string, string> = {}, remoteAddress = '192.0.2.1') =>
      t.app.inject({ url, headers, remoteAddress })
    const statuses: number[] = []
    for (let i = 0; i < 7; i++) statuses.push((await get('/refs/x')).statusCode)
    expect(statuses).toEqual([404, 404, 404, 404, 404, 429, 429])
    const refused = await get('/refs/x')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.json()).toMatchObject({ statusCode: 429, code: 'rate_limited' })
    expect(refused.headers['access-control-allow-origin']).toBe('*')
    expect(refused.headers['access-control-expose-headers']).toBe('retry-after, x-request-id')
    expect((await get('/refs/x', { 'x-svc-api-key': acmeKey })).statusCode).toBe(404)
    expect((await get('/refs/x', { 'x-svc-api-key': 'svc_unknown' })).statusCode).toBe(429)
    expect((await get('/refs/x', {}, '192.0.2.2')).statusCode).toBe(404)
    expect((await get('/chip-groups', { 'x-svc-api-key': acmeKey })).statusCode).toBe(200)
    expect((await get('/refs/x', { 'x-forwarded-for': '192.0.2.77' })).statusCode).toBe(429)
    await t.close()
  })

  test('count an IPv6 client by its first 64 bits', async () => {
    const t = await openTestApp({ env: { TAPCHIP_RATE_LIMIT: '2' } })
    const get = (remoteAddress: string) => t.app.inject({ url: '/otps/x', remoteAddress })
    expect((await get('2001:db8:1:2::1')).statusCode).toBe(404)
    expect((await get('2001:db8:1:2::2')).statusCode).toBe(404)
    expect((await get('2001:db8:1:2:ffff::3')).statusCode).toBe(429)
    expect((await get('2001:db8:1:3::1')).statusCode).toBe(404)
    await t.close()
  })

  test('believe forwarded addresses from trusted proxies alone', async () => {
    const t = await openTestApp({ env: { TAPCHIP_RATE_LIMIT: '1', TAPCHIP_TRUST_PROXY: '10.0.0.0/8' } })
    const get = (forwarded: string, remoteAddress: string) =>
      t.app.inject({ url: '/otps/x', headers: { 'x-forwarded-for': forwarded }, remoteAddress })
    expect((await get('192.0.2.1', '10.0.0.1')).statusCode).toBe(404)
    expect((await get('192.0.2.2', '10.0.0.1')).statusCode).toBe(404)
    expect((await get('192.0.2.1', '10.0.0.1')).statusCode).toBe(429)
    expect((await get('192.0.2.9', '198.51.100.1')).statusCode).toBe(404)
    expect((await get('192.0.2.10', '198.51.100.1')).statusCode).toBe(429)
    await t.close()
  })
})

test('a word that would give two things one name is refused at the start', async () => {
  const wire = new WireWords({ wirePrefix: 'svc', wireBadge: 'badge' })
  const documents = (['public', 'admin'] as const).map((part) =>
    JSON.stringify(openApiDocument({ wire, baseUrl: 'https://chips.example' }, part)),
  )
  const names = documents.flatMap((text) => [...text.matchAll(/["/]([a-z][a-z0-9]*)(?:-event|Event)/g)])
  const taken = new Set(names.map(([, word = '']) => word))
  // The word of the service whose clients work unchanged: its one field of that name is never beside a renamed one.
  for (const word of ['badge', 'poap']) expect(taken.delete(word)).toBe(true)
  expect([...taken]).toContain('guestbook')
  for (const word of taken) {
    const ran = await run('tapchipd', ['--ephemeral', '--port', '0'], { TAPCHIP_WIRE_BADGE: word })
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('TAPCHIP_WIRE_BADGE')])
  }
})
