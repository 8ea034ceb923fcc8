import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** A way to a daemon on which each answer takes so many milliseconds more, whatever its size. @returns its URL, `requests`, and `close` */
export async function distant(daemon, roundTripMs) {
  const sockets = new Set()
  const lines = []
  const server = createServer((near) => {
    near.on('data', (bytes) => lines.push(bytes.toString('latin1', 0, 60)))
    const far = connect(daemon.port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      sockets.add(from)
      from.setNoDelay(true)
      const later = (act) => setTimeout(() => to.destroyed || act(), roundTripMs / 2)
      from.on('data', (bytes) => later(() => to.write(bytes)))
      from.on('end', () => later(() => to.end()))
      from.on('error', () => to.destroy())
      from.on('close', () => sockets.delete(from))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** How many requests began with a line that fits. */
    requests: (pattern) => lines.filter((line) => pattern.test(line)).length,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
