import { once } from 'node:events'
import http, { createServer } from 'node:http'
import { type AddressInfo, BlockList, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import pino from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/daemon/config/config.ts'
import { isIn, limitConnections, sharedAddresses } from '../../src/daemon/http/connections.ts'
import { TokenBucket } from '../../src/daemon/http/rate-limit.ts'
import { startWarnings } from '../../src/daemon/start-warnings.ts'
import { Semaphore } from '../../src/values/semaphore.ts'
import { type Options, openTestApp, startTestDaemon, type TestApp, testClock } from '../support/daemon.ts'
import { acmeKey, otherKey, seed, uids } from '../support/seeds.ts'

// How much of the daemon one client gets.

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const open = async (options: Options = {}): Promise<TestApp> => {
  const t = await openTestApp({ seed, ...options })
  closers.push(t.close)
  return t
}
const listening = async (t: TestApp): Promise<number> => {
  await t.app.listen({ host: '127.0.0.1', port: 0 })
  return (t.app.server.address() as AddressInfo).port
}
const config = (env: Record<string, string>) =>
  loadConfig({ help: false, version: false, configFile: undefined, values: {} }, env)
const withKey = (key: string) => ({ 'x-svc-api-key': key })

/** A connection that says what it is told; `heard` is all that came back once it has ended. */
const dial = async (port: number, text = '', localAddress = '127.0.0.1') => {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  closers.push(() => socket.destroy())
  let all = ''
  socket.on('data', (chunk) => {
    all += chunk.toString()
  })
  // Whoever is cut off in the middle of a sentence may hear of it.
  socket.on('error', () => undefined)
  const heard = new Promise<string>((resolve) => socket.on('close', () => resolve(all)))
  await once(socket, 'connect')
  socket.write(text)
  return { socket, heard, soFar: () => all }
}
const head = (line: string, headers: Record<string, string | number>) =>
  `${line} HTTP/1.1\r\nHost: localhost\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

describe('a budget', () => {
  test('is there at once, grows back evenly, and is each client’s own', () => {
    const clock = testClock()
    const budget = new TokenBucket(clock, 6)
    const spend = (client: string, times: number) =>
      Array.from({ length: times }, () => budget.spend(client) ?? 'ok')
    expect(spend('one', 8)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 10, 10])
    expect(spend('two', 1)).toEqual(['ok'])
    clock.advance('4s')
    expect(spend('one', 1)).toEqual([6])
    clock.advance('16s')
    expect(spend('one', 3)).toEqual(['ok', 'ok', 10])
    clock.advance('1h')
    expect(spend('one', 7).at(-1)).toBe(10)
  })

  test.each([1, 7, 600, 60_000])('of %i is just that, whatever the rounding', (most) => {
    const budget = new TokenBucket(testClock(), most)
    for (let n = 0; n < most; n++) budget.spend('x')
    expect(budget.spend('x')).toBeGreaterThan(0)
    const fresh = new TokenBucket(testClock(), most)
    for (let n = 1; n < most; n++) fresh.spend('x')
    expect(fresh.spend('x')).toBeUndefined()
  })

  test('remembers a bounded number of clients, and forgets those that spent long ago', () => {
    const budget = new TokenBucket(testClock(), 1)
    budget.spend('old')
    budget.spend('new')
    for (let n = 0; n < 19_998; n++) budget.spend(String(n))
    budget.spend('new')
    budget.spend('one more')
    expect([budget.spend('new') === undefined, budget.spend('old') === undefined]).toEqual([false, true])
  })
})

describe('turns', () => {
  test('are taken in order, by each owner for itself, and end with whoever goes away', () => {
    const semaphore = new Semaphore({ atOncePerKey: 2, waitingPerKey: 256, waitMs: 60_000 })
    const went: string[] = []
    const take = (owner: number, name: string) =>
      semaphore.acquire(String(owner), (isGranted) => went.push(`${name} ${isGranted}`))
    const leave = ['a', 'b', 'c', 'd', 'e'].map((name) => take(1, name))
    take(2, 'other')()
    expect(went).toEqual(['a true', 'b true', 'other true'])
    leave[2]?.()
    leave[0]?.()
    leave[0]?.()
    expect(went.slice(3)).toEqual(['d true'])
    leave[1]?.()
    leave[3]?.()
    leave[4]?.()
    expect(went.slice(4)).toEqual(['e true'])
    expect(new Set([take(1, 'f'), take(1, 'g')]).size).toBe(2)
    expect(went.slice(5)).toEqual(['f true', 'g true'])
  })

  test('are waited for by a bounded number', () => {
    const semaphore = new Semaphore({ atOncePerKey: 1, waitingPerKey: 256, waitMs: 60_000 })
    const refused: boolean[] = []
    const leave = Array.from({ length: 258 }, () =>
      semaphore.acquire('1', (isGranted) => refused.push(!isGranted)),
    )
    expect(refused).toEqual([false, true])
    for (const one of leave) one()
  })
})

describe('an API key', () => {
  test('has a budget of its own, also where no key is needed', async () => {
    const clock = testClock()
    const t = await open({ clock, env: { TAPCHIP_KEY_RATE_LIMIT: '4', TAPCHIP_RATE_LIMIT: '1' } })
    const ask = (url: string, key: string) => t.app.inject({ url, headers: withKey(key) })
    for (const url of ['/chip-groups', '/refs/x', '/refs/x', '/items'])
      expect((await ask(url, acmeKey)).statusCode).toBeLessThan(429)
    for (const url of ['/chip-groups', '/refs/x', '/nothing']) {
      const refused = await ask(url, acmeKey)
      expect(refused.statusCode).toBe(429)
      expect(refused.headers['retry-after']).toBe('15')
      expect(refused.json()).toMatchObject({
        code: 'rate_limited',
        message: expect.stringContaining('4 a minute'),
      })
    }
    expect((await ask('/chip-groups', otherKey)).statusCode).toBe(200)
    expect((await t.app.inject({ url: '/refs/x' })).statusCode).toBe(404)
    expect(
      (await t.app.inject({ url: '/admin/teams', headers: { ...t.admin, ...withKey(acmeKey) } })).statusCode,
    ).toBe(200)
    clock.advance('15s')
    expect((await ask('/chip-groups', acmeKey)).statusCode).toBe(200)
    expect((await ask('/chip-groups', acmeKey)).statusCode).toBe(429)
  })

  test('has one by default, which an ephemeral daemon has not', () => {
    expect(config({})).toMatchObject({ rateLimit: 600, keyRateLimit: 60_000, guessLimit: 300 })
    expect(config({ TAPCHIP_RATE_LIMIT: 'off', TAPCHIP_KEY_RATE_LIMIT: 'off' })).toMatchObject({
      rateLimit: undefined,
      keyRateLimit: undefined,
      guessLimit: 300,
    })
    expect(config({ TAPCHIP_EPHEMERAL: 'on' })).toMatchObject({
      rateLimit: undefined,
      keyRateLimit: undefined,
      guessLimit: undefined,
    })
  })

  test('has four long requests at once: the next waits, and nobody else does', async () => {
    const t = await open()
    const port = await listening(t)
    const stream = (key: string) =>
      head('POST /chips/batch?dryRun=true', {
        ...withKey(key),
        'content-type': 'application/x-ndjson',
        'transfer-encoding': 'chunked',
        connection: 'close',
      })
    const row = `{"uid":"${uids.jacket}","redirectUrl":null}\n`
    const chunk = `${row.length.toString(16)}\r\n${row}\r\n`
    const end = '0\r\n\r\n'
    const begun = countOf(t, '/chips/batch')
    const four = []
    for (let n = 0; n < 4; n++) four.push(await dial(port, stream(acmeKey) + chunk))
    await expect.poll(begun).toBe(4)
    const fifth = await dial(port, stream(acmeKey) + chunk + end)
    await expect.poll(begun).toBe(5)
    // Whole, and still not answered, while another team and short requests of the same key are.
    const other = await dial(port, stream(otherKey) + chunk + end)
    expect(await other.heard).toContain('HTTP/1.1 200')
    expect((await fetch(`http://127.0.0.1:${port}/chip-groups`, { headers: withKey(acmeKey) })).status).toBe(
      200,
    )
    expect(fifth.soFar()).toBe('')
    four[0]?.socket.write(end)
    expect(await four[0]?.heard).toContain('"changed"')
    expect(await fifth.heard).toContain('"changed"')
    // Whoever goes away makes room as well.
    const sixth = await dial(port, stream(acmeKey) + chunk)
    await expect.poll(begun).toBe(7)
    const seventh = await dial(port, stream(acmeKey) + chunk + end)
    four[1]?.socket.destroy()
    expect(await seventh.heard).toContain('"changed"')
    sixth.socket.destroy()
  })

  test('whose other requests do not end is told to come back', async () => {
    const t = await open({ patience: { requestMs: 60_000, queueMs: 20 } })
    const port = await listening(t)
    const begun = countOf(t, '/chips/batch')
    const headers = { ...withKey(acmeKey), 'content-type': 'application/x-ndjson', 'content-length': 10 }
    for (let n = 0; n < 4; n++) await dial(port, head('POST /chips/batch', headers))
    await expect.poll(begun).toBe(4)
    const answer = await t.app.inject({
      method: 'POST',
      url: '/chips/batch',
      headers: { ...withKey(acmeKey), 'content-type': 'application/x-ndjson' },
      payload: '{}',
    })
    expect(answer.statusCode).toBe(429)
    expect(answer.headers['retry-after']).toBe('1')
    expect(answer.json().code).toBe('rate_limited')
  })
})

/** How many requests of a path have come in. */
const countOf = (t: TestApp, path: string) => {
  let count = 0
  t.app.server.on('request', ({ url }) => {
    if (url?.startsWith(path)) count += 1
  })
  return () => count
}

describe('guessing', () => {
  const guesses = {
    'API keys': { url: '/chip-groups', headers: withKey('svc_wrong') },
    'admin tokens': { url: '/admin/teams', headers: { authorization: 'Bearer adm_wrong' } },
    refs: { url: '/refs/aaaaaaaaaaaaaaaaaaaaa' },
    'codes, looking them up': { url: '/otps/aaaaaaaaaaaaaaaaaaaaa' },
    'codes, using them': {
      method: 'POST' as const,
      url: '/events/mint/self',
      headers: { 'x-svc-code': 'aaaaaaaaaaaaaaaaaaaaa', 'content-type': 'application/json' },
      payload: '{"recipient":"0x52908400098527886e0f7030069857d2e4169ee7"}',
    },
  }

  test.each(Object.entries(guesses))(
    'at %s is refused after a while, of that client alone, also where strangers have no limit',
    async (_what, request) => {
      const t = await open({ clock: testClock() })
      const from = (remoteAddress: string) => t.app.inject({ ...request, remoteAddress })
      const first = await from('192.0.2.1')
      expect([401, 404]).toContain(first.statusCode)
      const more = await Promise.all(Array.from({ length: 299 }, () => from('192.0.2.1')))
      expect(new Set(more.map(({ statusCode }) => statusCode))).toEqual(new Set([first.statusCode]))
      const refused = await from('192.0.2.1')
      expect(refused.statusCode).toBe(429)
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      expect((await from('192.0.2.2')).statusCode).toBe(first.statusCode)
      // An office shares an address.
      const good = { url: '/chip-groups', headers: withKey(acmeKey), remoteAddress: '192.0.2.1' }
      expect((await t.app.inject(good)).statusCode).toBe(200)
      const root = { url: '/admin/teams', headers: t.admin, remoteAddress: '192.0.2.1' }
      expect((await t.app.inject(root)).statusCode).toBe(200)
    },
  )

  test('of keys goes on slowly: a few are looked at in a time, others not at all, and who is known notices nothing', async () => {
    const t = await open({
      clock: testClock(),
      env: { TAPCHIP_RATE_LIMIT: '3' },
      patience: { requestMs: 30_000, queueMs: 10_000, guessMs: 300 },
    })
    const ask = async (key: string) =>
      (await t.app.inject({ url: '/chip-groups', headers: withKey(key), remoteAddress: '192.0.2.1' }))
        .statusCode
    expect(await ask(acmeKey)).toBe(200)
    for (let n = 0; n < 3; n++) expect(await ask(`svc_wrong${n}`)).toBe(401)
    let isHeld = true
    const held = Promise.all(Array.from({ length: 8 }, (_, n) => ask(`svc_more${n}`))).then((statuses) => {
      isHeld = false
      return statuses
    })
    // The right key of somebody who was never here, among too many wrong ones, is not even looked at.
    expect(await ask(otherKey)).toBe(429)
    expect(await ask(acmeKey)).toBe(200)
    expect(isHeld).toBe(true)
    expect(await held).toEqual(Array(8).fill(429))
    expect(await ask(otherKey)).toBe(200)
  })

  test('spends what strangers have, once, and whoever comes by IPv6 is one by the first 64 bits', async () => {
    const lines: string[] = []
    const clock = testClock()
    const t = await open({ clock, env: { TAPCHIP_RATE_LIMIT: '3' }, log: (line) => lines.push(line) })
    const ask = async (url: string, headers: Record<string, string>, end: number) =>
      (await t.app.inject({ url, headers, remoteAddress: `2001:db8::${end}` })).statusCode
    expect(await ask('/refs/x', {}, 1)).toBe(404)
    expect(await ask('/chip-groups', withKey('svc_wrong'), 2)).toBe(401)
    expect(await ask('/admin/teams', { authorization: 'Bearer adm_wrong' }, 3)).toBe(401)
    for (const url of ['/refs/x', '/chip-groups', '/admin/teams'])
      expect(await ask(url, { ...withKey('svc_wrong'), authorization: 'Bearer adm_wrong' }, 4)).toBe(429)
    // One line, with whom it is about, and nothing of what was tried.
    const told = lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40)
    expect(told).toEqual([
      expect.objectContaining({ client: '2001:db8::', msg: expect.stringContaining('refused') }),
    ])
    expect(lines.join('')).not.toContain('wrong')
    clock.advance('20s')
    expect(await ask('/chip-groups', withKey('svc_wrong'), 5)).toBe(401)
    expect(await ask('/chip-groups', withKey('svc_wrong'), 6)).toBe(429)
  })

  test('is refused on a Unix socket as well', async () => {
    const t = await open({ env: { TAPCHIP_RATE_LIMIT: '2' } })
    const path = join(t.dataDir, 'test.sock')
    await t.app.listen({ path })
    const ask = (token: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { host: 'localhost', authorization: `Bearer ${token}`, connection: 'close' }
        http
          .get({ socketPath: path, path: '/admin/teams', headers }, (answer) => {
            answer.resume()
            resolve(answer.statusCode)
          })
          .on('error', reject)
      })
    expect([await ask('adm_a'), await ask('adm_b'), await ask('adm_c')]).toEqual([401, 401, 429])
    expect(await ask(t.admin.authorization.slice('Bearer '.length))).toBe(200)
  })
})

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
    const t = await open({ patience, log: (line) => lines.push(line) })
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
    const t = await open({ patience })
    const headers = { ...withKey(acmeKey), 'content-type': 'application/json', 'content-length': 1_000_000 }
    const { socket, heard } = await dial(await listening(t), `${head('PATCH /chips', headers)}{`)
    trickle(socket)
    expect(await heard).toMatch(/^HTTP\/1.1 408 /)
  })

  test('is ended in the middle of its headers', async () => {
    const t = await open({ patience })
    const { heard } = await dial(await listening(t), 'GET /healthz HTTP/1.1\r\nHost: loc')
    expect(await heard).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/)
  })

  test('is ended where it was refused long before its body is there', async () => {
    const t = await open({ patience })
    const headers = { 'content-type': 'application/json', 'content-length': 1_000_000 }
    const { socket, heard } = await dial(await listening(t), head('PATCH /chips', headers))
    trickle(socket)
    expect(await heard).toMatch(/^HTTP\/1.1 401 /)
  })

  test('is not ended while a long body comes, is ended once it stands still', async () => {
    const t = await open({ patience })
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
    const t = await open({ patience: { requestMs, queueMs: 60_000 } })
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

describe('connections', () => {
  /** A server where nobody's address is shared, whose answers wait for `answer`. */
  const serve = async (limits: { maxConnections: number; clientConnections: number }) => {
    const waiting: (() => void)[] = []
    const server = createServer((_request, response) => waiting.push(() => response.end('ok')))
    limitConnections(server, limits, new BlockList(), pino({ level: 'silent' }))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closers.push(
      () => server.close(),
      () => server.closeAllConnections(),
    )
    const { port } = server.address() as AddressInfo
    let accepted = 0
    server.on('connection', () => {
      accepted += 1
    })
    /** One after another, so that it is known which came first. */
    const come = async (text: string, from = '127.0.0.1') => {
      const before = [accepted, waiting.length]
      const one = await dial(port, text, from)
      await expect.poll(() => accepted).toBe((before[0] ?? 0) + 1)
      return one
    }
    return { come, waiting }
  }
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

  test('of one client are bounded: a new one takes the place of an idle one', async () => {
    const { come, waiting } = await serve({ maxConnections: 100, clientConnections: 2 })
    const busy = await come(request)
    await expect.poll(() => waiting.length).toBe(1)
    const idle = await come('GET / HT')
    const another = await come('', '127.0.0.2')
    await come(request)
    expect(await idle.heard).toBe('')
    await expect.poll(() => waiting.length).toBe(2)
    // Both are being answered.
    const tooMany = await come(request)
    expect(await tooMany.heard).toBe('')
    for (const answer of waiting) answer()
    await expect.poll(busy.soFar).toContain('200 OK')
    expect(another.socket.destroyed).toBe(false)
  })

  test('are bounded all together, and what has its answer is idle again', async () => {
    const { come, waiting } = await serve({ maxConnections: 2, clientConnections: 100 })
    const first = await come(request, '127.0.0.1')
    await expect.poll(() => waiting.length).toBe(1)
    await come(request, '127.0.0.2')
    await expect.poll(() => waiting.length).toBe(2)
    waiting[0]?.()
    await expect.poll(first.soFar).toContain('200 OK')
    const third = await come(request, '127.0.0.3')
    await first.heard
    await expect.poll(() => waiting.length).toBe(3)
    waiting[2]?.()
    await expect.poll(third.soFar).toContain('200 OK')
  })

  test('of this machine and of trusted proxies are many clients’', () => {
    const isShared = (trust: Parameters<typeof sharedAddresses>[0], address: string) =>
      isIn(sharedAddresses(trust), address)
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
      expect(isShared(undefined, address)).toBe(true)
    for (const address of ['192.0.2.1', '2001:db8::1', '::ffff:192.0.2.1']) {
      expect(isShared(undefined, address)).toBe(false)
      expect(isShared(0, address)).toBe(false)
      expect(isShared(1, address)).toBe(true)
      expect(isShared(['192.0.2.0/24', '2001:db8::1'], address)).toBe(true)
      expect(isShared(['198.51.100.7'], address)).toBe(false)
    }
  })

  test('are bounded wherever the daemon listens', async () => {
    const daemon = await startTestDaemon({ env: { TAPCHIP_MAX_CONNECTIONS: '2' } })
    closers.push(daemon.stop)
    for (const at of [
      { host: '127.0.0.1', port: Number(new URL(daemon.url).port) },
      { path: join(daemon.dataDir, 'admin.sock') },
    ]) {
      const [first] = Array.from({ length: 3 }, () => {
        const socket = connect(at)
        closers.push(() => socket.destroy())
        return socket
      })
      await new Promise((closed) => first?.on('error', () => undefined).on('close', closed))
    }
    expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200)
  })
})

describe('a proxy that the daemon was not told of', () => {
  const warnings = async (t: TestApp): Promise<string[]> =>
    (await t.app.inject({ url: '/admin/status', headers: t.admin })).json().warnings

  test('is warned of once, and counted', async () => {
    const lines: string[] = []
    const t = await open({ log: (line) => lines.push(line) })
    expect(await warnings(t)).toEqual([])
    for (let n = 0; n < 3; n++)
      await t.app.inject({ url: '/refs/x', headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(await warnings(t)).toEqual([expect.stringMatching(/^3 requests .*TAPCHIP_TRUST_PROXY/)])
    expect(lines.filter((line) => line.includes('TAPCHIP_TRUST_PROXY'))).toHaveLength(1)
    const told = await open({ env: { TAPCHIP_TRUST_PROXY: '1' } })
    await told.app.inject({ url: '/refs/x', headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(await warnings(told)).toEqual([])
  })

  test.each([
    [{ TAPCHIP_BASE_URL: 'https://tap.example.com' }, 1],
    [{ TAPCHIP_BASE_URL: 'http://tap.example.com' }, 1],
    [{ TAPCHIP_BASE_URL: 'https://tap.example.com', TAPCHIP_HOST: '0.0.0.0' }, 1],
    [{ TAPCHIP_BASE_URL: 'http://192.0.2.7:8484', TAPCHIP_HOST: '0.0.0.0' }, 0],
    [{ TAPCHIP_BASE_URL: 'http://localhost:8484' }, 0],
    [{ TAPCHIP_BASE_URL: 'https://tap.example.com', TAPCHIP_TRUST_PROXY: '1' }, 0],
  ])('shows by the base URL: %j', (env, count) => {
    const words = startWarnings(config(env)).filter((line) => line.includes('TAPCHIP_TRUST_PROXY'))
    expect(words).toHaveLength(count)
  })
})
