import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { LiveLines } from '../../src/daemon/http/live-lines.ts'

let app: FastifyInstance
afterEach(() => app.close())

/** An application with one stream, and what feeds it. */
async function serve(keepAliveMs?: number) {
  app = Fastify({ forceCloseConnections: 'idle' })
  const listeners = new Set<(line: { text: string }) => void>()
  const lines = new LiveLines(app, keepAliveMs)
  app.get('/', async (_request, reply) =>
    lines.send<{ text: string }>(reply, {
      follow: (tell) => {
        listeners.add(tell)
        return () => listeners.delete(tell)
      },
      toLine: (line) => line,
      mayGoOn: () => true,
    }),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { listeners, port }
}

test('an empty line comes at once, and again while nothing happens', async () => {
  const { port } = await serve(20)
  const answer = await fetch(`http://127.0.0.1:${port}/`)
  const reader = answer.body?.getReader()
  let read = ''
  while (read.length < 4) read += Buffer.from((await reader?.read())?.value ?? []).toString()
  expect(read).toBe('\n\n\n\n')
  await reader?.cancel()
})

test('a reader that does not read is dropped after a bounded number of bytes, and does not hold up a stop', async () => {
  const { listeners, port } = await serve()
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(() => listeners.size).toBe(1)
  const big = { text: 'x'.repeat(100_000) }
  for (let n = 0; n < 1000 && listeners.size > 0; n++) {
    for (const tell of listeners) tell(big)
    await new Promise(setImmediate)
  }
  expect(listeners.size).toBe(0)
  const started = performance.now()
  await app.close()
  expect(performance.now() - started).toBeLessThan(4000)
  socket.destroy()
})
