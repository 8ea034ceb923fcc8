import { connect, createServer, type Server, type Socket } from 'node:net'

/** `cut` ends the connection without passing the bytes on; `last` passes them on, and then nothing more. */
export type Verdict = 'pass' | 'cut' | 'last' | Buffer

export interface TcpProxy {
  readonly port: number
  /** Judges what clients send; bytes are replaced by those that it returns. */
  judge: (bytes: Buffer) => Verdict
  /** While true, bytes are swallowed in both directions, and new connections are accepted and left alone. */
  isSilent: boolean
  /** While true, what the server says is swallowed, and what clients say is not. */
  isDeaf: boolean
  /** Milliseconds by which bytes are late, in both directions. */
  delayMs: number
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
    /** In their order, also where those before are still late. */
    const late = { count: 0, ms: 0 }
    const write = (to: Socket, bytes: Buffer) => {
      if (proxy.delayMs > 0) late.ms = proxy.delayMs
      if (proxy.delayMs === 0 && late.count === 0) return to.write(bytes)
      late.count += 1
      return setTimeout(() => {
        late.count -= 1
        if (!to.destroyed) to.write(bytes)
      }, late.ms)
    }
    client.on('data', (bytes) => {
      if (proxy.isSilent) return
      const verdict = proxy.judge(bytes)
      if (verdict === 'cut') client.destroy()
      else write(upstream, verdict instanceof Buffer ? verdict : bytes)
      if (verdict === 'last') isLast = true
    })
    upstream.on('data', (bytes) => {
      if (proxy.isSilent || proxy.isDeaf) return
      // The server has done it, and its answer is lost.
      if (isLast) client.destroy()
      else write(client, bytes)
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
    isDeaf: false,
    delayMs: 0,
    accepted: 0,
    cut,
    close: () => {
      cut()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return proxy
}
