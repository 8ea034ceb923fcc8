import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcp } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createOutbound, type OutboundFailed } from '../../src/daemon/outbound/outbound.ts'

/** How a call fails, from whoever was asked first. */
async function failure(
  url: string,
  timeoutMs = 300,
  lookup?: () => Promise<{ address: string; family: number }[]>,
) {
  const outbound = createOutbound({
    allowPrivate: [url],
    timeoutMs,
    maxBytes: 100,
    ...(lookup ? { lookup } : {}),
  })
  const request = { url, method: 'POST', headers: {}, body: 'x' }
  return outbound.request(request).then(
    () => undefined,
    ({ kind, sent }: OutboundFailed) => ({ kind, sent }),
  )
}

async function listening(server: ReturnType<typeof createTcp>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test('a name without an address, and a port where nobody listens: nothing was sent', async () => {
  const nobody = async () => []
  expect(await failure('http://nobody.invalid', 20_000, nobody)).toEqual({ kind: 'connection', sent: false })
  const never = () => new Promise<never>(() => undefined)
  expect(await failure('http://slow.invalid', 100, never)).toEqual({ kind: 'timeout', sent: false })
  const server = createTcp()
  const port = await listening(server)
  server.close()
  await once(server, 'close')
  expect(await failure(`http://127.0.0.1:${port}`, 20_000)).toEqual({ kind: 'connection', sent: false })
})

test('whoever took the connection may have taken the request', async () => {
  const silent = await listening(createTcp((socket) => socket.on('error', () => undefined)))
  expect(await failure(`http://127.0.0.1:${silent}`)).toEqual({ kind: 'timeout', sent: true })
  const rude = await listening(createTcp((socket) => socket.once('data', () => socket.destroy())))
  expect(await failure(`http://127.0.0.1:${rude}`, 20_000)).toEqual({ kind: 'connection', sent: true })
  const long = await listening(createServer((_request, response) => response.end('x'.repeat(200))))
  expect(await failure(`http://127.0.0.1:${long}`, 20_000)).toEqual({ kind: 'too_large', sent: true })
})

test('over TLS nothing goes out before the other side has shown who it is', async () => {
  const plain = await listening(createTcp((socket) => socket.once('data', () => socket.end('no TLS here'))))
  expect(await failure(`https://127.0.0.1:${plain}`, 20_000)).toEqual({ kind: 'connection', sent: false })
  const mute = await listening(createTcp((socket) => socket.on('error', () => undefined)))
  expect(await failure(`https://127.0.0.1:${mute}`)).toEqual({ kind: 'timeout', sent: false })
})
