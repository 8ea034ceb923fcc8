import { createHash } from 'node:crypto'
import http, { type IncomingMessage, type RequestListener } from 'node:http'
import https from 'node:https'
import { type AddressInfo, createServer, type NetConnectOpts, type Server, Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  createOutbound,
  type Lookup,
  OutboundFailed,
  OutboundRefused,
  type OutboundRequest,
  privateRange,
} from '../../src/daemon/outbound/outbound.ts'

// Made for this file (openssl req -x509), signed by itself: nobody trusts it.
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAQ/hyic6246+Qq2v
055pUy0rD/8w9o0qzZVZFx9aDg6hRANCAATDYunD2+kprG0KqMG6J538VoiRxTY0
xFUwtoj4qeBmP6hYSsZWMVXpJ7DU64t+fn0jL6+1g3BBMND3yw8VdsIP
-----END PRIVATE KEY-----`
const cert = `-----BEGIN CERTIFICATE-----
MIIBpDCCAUqgAwIBAgIUdohkUlkb2jYxZVEo70vdtWampEQwCgYIKoZIzj0EAwIw
GTEXMBUGA1UEAwwOcHVibGljLmV4YW1wbGUwIBcNMjYxMTIwMTIyMDE1WhgPMjEy
NjEwMjcxMjIwMTVaMBkxFzAVBgNVBAMMDnB1YmxpYy5leGFtcGxlMFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEw2Lpw9vpKaxtCqjBuied/FaIkcU2NMRVMLaI+Kng
Zj+oWErGVjFV6Sew1OuLfn59Iy+vtYNwQTDQ98sPFXbCD6NuMGwwHQYDVR0OBBYE
FNkXjoBj7tZOoiWPakX0GU33a//YMB8GA1UdIwQYMBaAFNkXjoBj7tZOoiWPakX0
GU33a//YMA8GA1UdEwEB/wQFMAMBAf8wGQYDVR0RBBIwEIIOcHVibGljLmV4YW1w
bGUwCgYIKoZIzj0EAwIDSAAwRQIgaSj/+Yr7L7GlPkoxSW+GDKgAwka6MOOvR0j5
ProQMXkCIQCTY4BVZyry69B2jCq5jpk6eQjufvIxIr4HVkeMp3/s6g==
-----END CERTIFICATE-----`

const open: Server[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const server of open.splice(0)) {
    if (server instanceof http.Server) server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function listen<S extends Server>(server: S, host = '127.0.0.1', port = 0) {
  open.push(server)
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  return (server.address() as AddressInfo).port
}

/** A server that notes who came. */
async function serve(listener: RequestListener, host = '127.0.0.1', port = 0) {
  const requests: IncomingMessage[] = []
  const server = http.createServer((request, response) => {
    requests.push(request)
    listener(request, response)
  })
  const taken = await listen(server, host, port)
  return { requests, server, port: taken, origin: `http://${host}:${taken}` }
}

const ok: RequestListener = (_request, response) => {
  response.setHeader('x-greeting', 'hello')
  response.end('{"fine":true}')
}

const limits = { timeoutMs: 5000, maxBytes: 1_000_000 }
const get = (url: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({
  url,
  method: 'GET',
  headers: {},
  ...more,
})
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => expect.fail(`it answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )

/** Names that point where a test says; the last list stays. */
function names(...answers: string[][]) {
  const asked: string[] = []
  const lookup: Lookup = async (hostname) => {
    const list = answers[Math.min(asked.push(hostname), answers.length) - 1] ?? []
    return list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  return { asked, lookup }
}

/** Stands in for the internet: a connection to any address goes to a port of loopback, and is noted. */
function internet(port: number) {
  const reached: string[][] = []
  const connect = Socket.prototype.connect
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: unknown[]) {
    const [given] = args
    const options = (Array.isArray(given) ? given[0] : given) as NetConnectOpts & { host: string }
    if ('lookup' in options && options.lookup) {
      options.lookup(options.host, { all: true }, (_error, addresses) => {
        reached.push((addresses as { address: string }[]).map(({ address }) => address))
      })
      delete options.lookup
    } else reached.push([options.host])
    Object.assign(options, { host: '127.0.0.1', port })
    return Reflect.apply(connect, this, args)
  } as typeof connect)
  return reached
}

describe('which addresses are public', () => {
  test.each([
    ...['0.0.0.0', '127.0.0.1', '127.255.0.3', '10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254'],
    ...['100.64.0.1', '192.0.0.8', '192.0.2.1', '192.88.99.1', '198.18.0.1', '224.0.0.1', '240.0.0.1'],
    ...[
      '255.255.255.255',
      '::',
      '::1',
      'fc00::1',
      'fd12::1',
      'fe80::1',
      'fe80::1%eth0',
      'fec0::1',
      'ff02::1',
    ],
    // IPv4 in IPv6: mapped, compatible, translated, NAT64, NAT64 of the own network, 6to4, Teredo.
    ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::127.0.0.1', '::ffff:0:127.0.0.1', '64:ff9b::10.0.0.1'],
    ...['64:ff9b::127.0.0.1', '64:ff9b:1::8.8.8.8', '2002:7f00:1::1', '2002:808:808::1', '2001::1'],
    ...['2001:db8::1', '3fff::1', '100::1', '5f00::1', '4000::1', 'nonsense', ''],
  ])('%s is not', (address) => {
    expect(privateRange(address)).toEqual(expect.any(String))
  })

  test.each(['8.8.8.8', '104.16.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8'])(
    '%s is',
    (address) => {
      expect(privateRange(address)).toBeUndefined()
    },
  )
})

describe('refused before a connection is made', () => {
  test.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0',
    '[::ffff:127.0.0.1]',
    '127.0.0.1.',
  ])('a private address written as %s', async (host) => {
    const { requests, port } = await serve(ok)
    const error = await caught(createOutbound(limits).request(get(`http://${host}:${port}/`)))
    expect(error).toBeInstanceOf(OutboundRefused)
    expect(error).toMatchObject({ reason: 'private_address' })
    expect(requests).toEqual([])
  })

  test('a name with one private address among public ones', async () => {
    const { requests, port } = await serve(ok)
    const reached = internet(port)
    const { lookup } = names(['8.8.8.8', '127.0.0.1', '2606:4700::1111'])
    const error = await caught(
      createOutbound({ ...limits, lookup }).request(get(`http://evil.example:${port}/`)),
    )
    expect(error).toBeInstanceOf(OutboundRefused)
    expect(error).toMatchObject({ reason: 'private_address', address: '127.0.0.1' })
    // Whoever chose the name learns nothing of the network around the daemon.
    expect((error as Error).message).not.toContain('127.0.0.1')
    expect([requests, reached]).toEqual([[], []])
  })

  test('localhost, by the system itself', async () => {
    const { requests, port } = await serve(ok)
    const error = await caught(createOutbound(limits).request(get(`http://localhost:${port}/`)))
    expect(error).toBeInstanceOf(OutboundRefused)
    expect(requests).toEqual([])
  })

  test.each([
    'ftp://a.example/',
    'file:///etc/passwd',
    'data:,x',
    'http://me:word@a.example/',
    'nonsense',
    '/x',
  ])('%s', async (url) => {
    const { asked, lookup } = names(['8.8.8.8'])
    const error = await caught(createOutbound({ ...limits, lookup }).request(get(url)))
    expect(error).toBeInstanceOf(OutboundRefused)
    expect(error).toMatchObject({ reason: 'url' })
    expect((error as Error).message).not.toContain('word')
    expect(asked).toEqual([])
  })
})

describe('an allowed origin', () => {
  test('may be private, and another port of the same host may not', async () => {
    const allowed = await serve(ok)
    const other = await serve(ok)
    const outbound = createOutbound({ ...limits, allowPrivate: [`${allowed.origin}/`] })
    const answer = await outbound.request(get(`${allowed.origin}/path?q=1`, { headers: { 'x-key': 'k' } }))
    expect(answer).toMatchObject({ status: 200, headers: { 'x-greeting': 'hello' } })
    expect(JSON.parse(answer.body.toString())).toEqual({ fine: true })
    const [request] = allowed.requests
    expect(request?.headers['user-agent'], 'says who it is').toBe('tapchip/0.0.0-test')
    expect([request?.url, request?.headers['x-key'], request?.headers.connection]).toEqual([
      '/path?q=1',
      'k',
      'close',
    ])
    expect(await caught(outbound.request(get(other.origin)))).toBeInstanceOf(OutboundRefused)
    expect(other.requests).toEqual([])
  })

  test('that is none stops the daemon where it is configured', () => {
    expect(() => createOutbound({ ...limits, allowPrivate: ['localhost'] })).toThrow(OutboundRefused)
  })
})

describe('a name that changes its mind', () => {
  test('is looked up once, and the connection goes to the address that was checked', async () => {
    const { requests, port } = await serve(ok)
    const reached = internet(port)
    const { asked, lookup } = names(['8.8.8.8', '2606:4700::1111'], ['127.0.0.1'])
    const outbound = createOutbound({ ...limits, lookup })
    const answer = await outbound.request(get('http://rebind.example/'))
    expect(answer.status).toBe(200)
    expect(asked).toEqual(['rebind.example'])
    expect(reached).toEqual([['8.8.8.8', '2606:4700::1111']])
    expect(requests[0]?.headers.host).toBe('rebind.example')
    // The next call is checked anew, on no connection of the last one.
    expect(await caught(outbound.request(get('http://rebind.example/')))).toBeInstanceOf(OutboundRefused)
    expect([asked.length, reached.length, requests.length]).toEqual([2, 1, 1])
  })

  test('really connects where it was pinned', async () => {
    const pinned = await serve(ok, '127.0.0.2')
    const later = await serve(ok, '127.0.0.3', pinned.port)
    const { asked, lookup } = names(['127.0.0.2'], ['127.0.0.3'])
    const origin = `http://rebind.example:${pinned.port}`
    const outbound = createOutbound({ ...limits, lookup, allowPrivate: [origin] })
    expect((await outbound.request(get(origin))).status).toBe(200)
    expect([asked.length, pinned.requests.length, later.requests.length]).toEqual([1, 1, 0])
  })
})

test('https asks the pinned address for the name, and believes no certificate that it cannot check', async () => {
  const asked: string[] = []
  let requests = 0
  const SNICallback: https.ServerOptions['SNICallback'] = (name, done) => {
    asked.push(name)
    done(null)
  }
  const server = https.createServer({ key, cert, SNICallback }, (_request, response) => {
    requests++
    response.end()
  })
  const port = await listen(server)
  const reached = internet(port)
  const { lookup } = names(['8.8.8.8'])
  const error = await caught(createOutbound({ ...limits, lookup }).request(get('https://public.example/')))
  expect(error).toMatchObject({ name: 'OutboundFailed', kind: 'connection' })
  expect((error as Error).message).toMatch(/^https:\/\/public\.example could not be reached: \w*CERT\w*$/)
  expect(reached).toEqual([['8.8.8.8']])
  expect(asked).toEqual(['public.example'])
  expect(requests).toBe(0)
})

describe('an answer', () => {
  const allowing = (origin: string, more = {}) =>
    createOutbound({ ...limits, allowPrivate: [origin], ...more })

  test('that redirects is returned as it is', async () => {
    const target = await serve(ok)
    const { origin, requests } = await serve((_request, response) => {
      response.writeHead(307, { location: target.origin }).end()
    })
    const outbound = createOutbound({ ...limits, allowPrivate: [origin, target.origin] })
    const answer = await outbound.request(get(origin))
    expect([answer.status, answer.headers.location]).toEqual([307, target.origin])
    expect([requests.length, target.requests.length]).toEqual([1, 0])
  })

  test.each([
    ['whose body drips', (response: http.ServerResponse) => response.write('.')],
    ['that never begins', () => undefined],
  ])('%s ends at the deadline', async (_title, drip) => {
    let gone: Promise<unknown> | undefined
    const { origin } = await serve((request, response) => {
      const timer = setInterval(() => drip(response), 10)
      gone = new Promise((resolve) => request.socket.once('close', resolve))
      void gone.then(() => clearInterval(timer))
    })
    const error = await caught(allowing(origin).request(get(origin, { timeoutMs: 150 })))
    expect(error).toBeInstanceOf(OutboundFailed)
    expect(error).toMatchObject({
      kind: 'timeout',
      message: `${origin} did not answer in full within 150 ms`,
    })
    await gone
  })

  test('of a resolver that hangs ends at the deadline', async () => {
    const outbound = createOutbound({ ...limits, lookup: () => new Promise(() => undefined) })
    const error = await caught(outbound.request(get('http://a.example', { timeoutMs: 50 })))
    expect(error).toMatchObject({ name: 'OutboundFailed', kind: 'timeout' })
  })

  test('without an end is read up to the limit', async () => {
    let written = 0
    let gone: Promise<unknown> | undefined
    const { origin } = await serve((request, response) => {
      gone = new Promise((resolve) => request.socket.once('close', resolve))
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384
      }
      response.on('drain', more)
      more()
    })
    const error = await caught(allowing(origin).request(get(origin, { maxBytes: 100_000 })))
    expect(error).toMatchObject({ name: 'OutboundFailed', kind: 'too_large' })
    await gone
    // What the sockets' buffers of this machine hold comes on top.
    expect(written).toBeLessThan(20_000_000)
  })

  test('that announces too much is not read at all', async () => {
    const { origin } = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '1000001' })
      response.flushHeaders()
    })
    const error = await caught(allowing(origin).request(get(origin)))
    expect(error).toMatchObject({ name: 'OutboundFailed', kind: 'too_large' })
  })

  // Each keeps sending until the connection is closed, and never sends a final response in full.
  test.each([
    ['endless informational responses', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    [
      'informational responses with headers',
      '',
      `HTTP/1.1 103 Early Hints\r\nx: ${'x'.repeat(9000)}\r\n\r\n`,
    ],
    [
      'endless chunk extensions',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
      `1;${'x'.repeat(9000)}\r\nx\r\n`,
    ],
  ])('of %s counts as too large', async (_title, first, more) => {
    let gone: Promise<unknown> | undefined
    const server = createServer((socket) => {
      gone = new Promise((resolve) => socket.once('close', resolve))
      socket.on('error', () => undefined)
      socket.once('data', () => {
        const send = () => {
          while (!socket.destroyed && socket.write(more));
        }
        socket.on('drain', send)
        socket.write(first)
        send()
      })
    })
    const origin = `http://127.0.0.1:${await listen(server)}`
    const error = await caught(allowing(origin).request(get(origin, { maxBytes: 100_000 })))
    expect(error).toMatchObject({ name: 'OutboundFailed', kind: 'too_large', sent: true })
    await gone
  })

  test('may begin with a few informational responses', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n'
    const bytes = `${hint.repeat(3)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`
    const port = await listen(createServer((socket) => socket.once('data', () => socket.end(bytes))))
    const origin = `http://127.0.0.1:${port}`
    const answer = await allowing(origin).request(get(origin))
    expect(answer).toMatchObject({ status: 200, body: Buffer.from('ok') })
  })

  test('too large in one packet is refused, or taken without its body where only the status matters', async () => {
    const bytes = `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(2000)}`
    const port = await listen(createServer((socket) => socket.once('data', () => socket.end(bytes))))
    const origin = `http://127.0.0.1:${port}`
    const request = get(origin, { maxBytes: 1000 })
    expect(await caught(allowing(origin).request(request))).toMatchObject({ kind: 'too_large' })
    const answer = await allowing(origin).request({ ...request, cutsBody: true })
    expect(answer).toMatchObject({ status: 200, body: Buffer.alloc(0) })
  })

  test.each([
    ['cut in the middle', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'],
    ['in another language', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['empty', ''],
  ])('%s is no answer', async (_title, bytes) => {
    const port = await listen(createServer((socket) => socket.once('data', () => socket.end(bytes))))
    const origin = `http://127.0.0.1:${port}`
    const error = await caught(allowing(origin).request(get(origin, { headers: { 'x-key': 'secret' } })))
    expect(error).toMatchObject({ name: 'OutboundFailed', kind: 'connection' })
    expect((error as Error).message).toMatch(/^http:\/\/127\.0\.0\.1:\d+ could not be reached: [A-Z_]+$/)
  })

  test('of nobody, and a header that cannot be sent, show no header value', async () => {
    const { origin, server } = await serve(ok)
    const outbound = allowing(origin)
    const bad = await caught(outbound.request(get(origin, { headers: { 'x-key': 'sec\nret' } })))
    await new Promise((resolve) => server.close(resolve))
    const down = await caught(outbound.request(get(origin, { headers: { 'x-key': 'secret' } })))
    for (const error of [bad, down]) {
      expect(error).toMatchObject({ name: 'OutboundFailed', kind: 'connection' })
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(/sec\S*ret/)
    }
    expect((down as Error).message).toContain('ECONNREFUSED')
  })
})

describe('an upload', () => {
  const part = Buffer.alloc(65_536, 'x')
  async function* parts(count: number) {
    yield '--edge\r\ncontent-disposition: form-data; name="image"\r\n\r\n'
    for (let index = 0; index < count; index++) yield part
    yield '\r\n--edge--\r\n'
  }
  const digest = () => createHash('sha256')

  test('of 4 MB streams through whole', async () => {
    const { origin, requests } = await serve(async (request, response) => {
      const hash = digest()
      for await (const chunk of request) hash.update(chunk)
      response.end(hash.digest('hex'))
    })
    const expected = digest()
    for await (const chunk of parts(64)) expected.update(chunk)
    const headers = { 'content-type': 'multipart/form-data; boundary=edge' }
    const outbound = createOutbound({ ...limits, allowPrivate: [origin] })
    const answer = await outbound.request({ url: origin, method: 'POST', headers, body: parts(64) })
    expect(answer.body.toString()).toBe(expected.digest('hex'))
    expect(requests[0]?.headers['transfer-encoding']).toBe('chunked')
  })

  test('in one piece says how long it is', async () => {
    const { origin, requests } = await serve((request, response) => request.pipe(response))
    const outbound = createOutbound({ ...limits, allowPrivate: [origin] })
    for (const body of ['größe', Buffer.from('größe')]) {
      const answer = await outbound.request({ url: origin, method: 'POST', headers: {}, body })
      expect(answer.body.toString()).toBe('größe')
      expect(requests.at(-1)?.headers['content-length']).toBe('7')
    }
  })

  test('that is refused on the way gives the answer, and its source is closed', async () => {
    let closed = false
    async function* endless() {
      try {
        for (;;) yield part
      } finally {
        closed = true
      }
    }
    const { origin } = await serve((_request, response) => response.writeHead(413).end('too large'))
    const outbound = createOutbound({ ...limits, allowPrivate: [origin] })
    const answer = await outbound.request({ url: origin, method: 'POST', headers: {}, body: endless() })
    expect([answer.status, answer.body.toString()]).toEqual([413, 'too large'])
    await expect.poll(() => closed).toBe(true)
  })

  test('whose source fails throws what the source threw', async () => {
    async function* broken() {
      yield part
      throw new RangeError('the file went away')
    }
    const { origin } = await serve((request) => void request.resume())
    const outbound = createOutbound({ ...limits, allowPrivate: [origin] })
    const error = await caught(outbound.request({ url: origin, method: 'POST', headers: {}, body: broken() }))
    expect(error).toEqual(new RangeError('the file went away'))
  })

  test('that nobody reads ends at the deadline', async () => {
    const { origin } = await serve(() => undefined)
    const outbound = createOutbound({ ...limits, allowPrivate: [origin] })
    const body = parts(1000)
    const call = outbound.request({ url: origin, method: 'POST', headers: {}, body, timeoutMs: 150 })
    expect(await caught(call)).toMatchObject({ name: 'OutboundFailed', kind: 'timeout' })
  })
})

test('a dead name server is given up in time, and names of this machine are never asked for', async () => {
  const { createSocket } = await import('node:dgram')
  const { boundedLookUp } = await import('../../src/daemon/outbound/look-up.ts')
  const silent = createSocket('udp4')
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve))
  const servers = [`127.0.0.1:${silent.address().port}`]
  const lookUp = boundedLookUp({ asksSystem: false, servers, timeoutMs: 50 })
  await expect(lookUp('hooks.example.com')).rejects.toMatchObject({ code: 'ETIMEOUT' })
  expect((await lookUp('api.localhost')).map(({ address }) => address)).toEqual(['127.0.0.1', '::1'])
  silent.close()
})
