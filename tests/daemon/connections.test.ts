import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, BlockList, connect } from 'node:net'
import { join } from 'node:path'
import pino from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isIn, limitConnections, sharedAddresses } from '../../src/daemon/http/connections.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { dial, head, listening, openForTest, withKey } from '../support/raw-http.ts'
import { acmeKey } from '../support/seeds.ts'

describe('connections', () => {
  /** A server where nobody's address is shared, whose answers wait for `answer`. */
  const serve = async (limits: { maxConnections: number; clientConnections: number }) => {
    const waiting: (() => void)[] = []
    const server = createServer((_request, response) => waiting.push(() => response.end('ok')))
    limitConnections(server, limits, new BlockList(), pino({ level: 'silent' }))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
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
    onTestFinished(() => daemon.stop())
    for (const at of [
      { host: '127.0.0.1', port: Number(new URL(daemon.url).port) },
      { path: join(daemon.dataDir, 'admin.sock') },
    ]) {
      const [first] = Array.from({ length: 3 }, () => {
        const socket = connect(at)
        onTestFinished(() => void socket.destroy())
        return socket
      })
      await new Promise((closed) => first?.on('error', () => undefined).on('close', closed))
    }
    expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200)
  })

  test('that go away with pipelined requests leave no place of their key taken', async () => {
    const t = await openForTest({ patience: { requestMs: 30_000, queueMs: 300 } })
    const port = await listening(t)
    const ask = head('GET /chip-groups', withKey(acmeKey))
    for (let n = 0; n < 4; n += 1) {
      const arrived = once(t.app.server, 'request')
      const { socket, heard } = await dial(port, ask.repeat(50))
      await arrived
      socket.resetAndDestroy()
      await heard
    }
    await expect
      .poll(() => new Promise((done) => t.app.server.getConnections((_, count) => done(count))))
      .toBe(0)
    // In turn, and with its key.
    const { heard } = await dial(
      port,
      ask + head('GET /chip-groups', { ...withKey(acmeKey), connection: 'close' }),
    )
    expect((await heard).match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
  })
})
