import { connect, createServer, type Server, type Socket } from 'node:net'

/** `cut` ends the connection without passing the bytes on; `last` passes them on, and then nothing more. */
export type Verdict = 'pass' | 'cut' | 'last' | Buffer

export interface TcpProxy {
  readonly port: number
  /** Judges what clients send; bytes are replaced by those that it returns. */
  judge: (bytes: Buffer) => Verdict
  /** While true, bytes are swallowed in both directions, and new connections are accepted and left alone. */
  isSilent: boolean
  /** Connections so far. */
  accepted: number
  /** Breaks all connections. */
  cut(): void
  close(): Promise<void>
}

/** Stands between a client and a server on loopback, and breaks their connections at a point. */
export async function startTcpProxy(target: number, port = 0): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((client) => {
    proxy.accepted += 1
    const upstream = connect(target, '127.0.0.1')
    let isLast = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (proxy.isSilent) return
      const verdict = proxy.judge(bytes)
      if (verdict === 'cut') client.destroy()
      else upstream.write(verdict instanceof Buffer ? verdict : bytes)
      if (verdict === 'last') isLast = true
    })
    upstream.on('data', (bytes) => {
      if (proxy.isSilent) return
      // The server has done it, and its answer is lost.
      if (isLast) client.destroy()
      else client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.address()
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const proxy: TcpProxy = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    judge: () => 'pass',
    isSilent: false,
    accepted: 0,
    cut,
    close: () => {
      cut()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return proxy
}
