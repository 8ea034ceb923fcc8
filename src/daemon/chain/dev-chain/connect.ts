import { connect, type Socket } from 'node:net'
import type { Address } from 'viem'
import { OutboundFailed } from '../../outbound/errors.ts'
import { ChainUnavailable, RpcConnection, type RpcLimits, type RpcWire } from '../rpc-connection.ts'
import { rpcOverHttp } from '../rpc-http.ts'

// A hundred catch-up blocks on a large state take seconds; a chain that hangs is restarted.
const callTimeoutMs = 20_000
/** A large state as a single JSON text. */
const maxResponseBytes = 256 * 1024 * 1024

const unix = 'unix:'

/**
 * Connects to one of our anvils at `http://…` or `unix:/path`. Calls throw ChainUnavailable without an answer.
 */
export const connectTo = (url: string): RpcConnection =>
  new RpcConnection(url, url.startsWith(unix) ? rpcOverSocket(url.slice(unix.length)) : rpcOverHttp(url), {
    timeoutMs: callTimeoutMs,
    maxBytes: maxResponseBytes,
    failure: (cause) => new ChainUnavailable('The embedded dev chain does not answer. Try again.', { cause }),
  })

const maxSockets = 64
const newline = 0x0a

/**
 * anvil's JSON-RPC over a Unix socket: one line per request and per answer. Each connection has one call in
 * flight, and is closed if it stalls.
 */
function rpcOverSocket(path: string): RpcWire {
  const idle: Socket[] = []
  const waiting: (() => void)[] = []
  let busy = 0
  let isClosed = false

  const open = (): Socket => {
    const socket = connect(path)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      const at = idle.indexOf(socket)
      if (at >= 0) idle.splice(at, 1)
    })
    return socket
  }

  const post = async (body: string, limits: Pick<RpcLimits, 'timeoutMs' | 'maxBytes'>): Promise<Buffer> => {
    if (busy < maxSockets) busy += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    const socket = idle.pop() ?? open()
    socket.ref()
    try {
      const answer = await ask(socket, path, body, limits)
      // An idle connection does not keep the process alive.
      socket.unref()
      if (isClosed) socket.destroy()
      else idle.push(socket)
      return answer
    } catch (error) {
      socket.destroy()
      throw error
    } finally {
      const next = waiting.shift()
      if (next) next()
      else busy -= 1
    }
  }

  return {
    post: async (body, limits) => ({ status: 200, body: await post(body, limits) }),
    close: () => {
      isClosed = true
      for (const socket of idle.splice(0)) socket.destroy()
    },
  }
}

function ask(
  socket: Socket,
  path: string,
  body: string,
  { timeoutMs, maxBytes }: Pick<RpcLimits, 'timeoutMs' | 'maxBytes'>,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const end = (settle: () => void) => {
      clearTimeout(timer)
      socket.off('data', onData).off('close', onClose).off('error', onError)
      settle()
    }
    const fail = (kind: OutboundFailed['kind'], what: string, cause?: unknown) =>
      end(() => reject(new OutboundFailed(kind, `${path} ${what}`, true, cause)))
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > maxBytes) fail('too_large', `answers with more than ${maxBytes} bytes`)
      // anvil's JSON contains no line breaks.
      else if (chunk.at(-1) === newline) end(() => resolve(Buffer.concat(chunks)))
    }
    const onError = (error: NodeJS.ErrnoException) =>
      fail('connection', `could not be asked: ${error.code ?? 'connection failed'}`, error)
    const onClose = () => fail('connection', 'closed the connection')
    const timer = setTimeout(
      () => fail('timeout', `did not answer in full within ${timeoutMs} ms`),
      timeoutMs,
    )
    socket.on('data', onData).once('close', onClose).once('error', onError)
    socket.write(`${body}\n`)
  })
}

/** "tapchip" in an address without a known key. */
const markerAddress: Address = '0x7461706368697000000000000000000000000001'

/** Writes the owner's marker into the chain itself: by now, another process may use its port. */
export const mark = (connection: RpcConnection, marker: string): Promise<unknown> =>
  connection.call('anvil_setCode', [markerAddress, marker])

/** @returns the value written by {@link mark}; undefined without an answer */
export async function markerOf(connection: RpcConnection): Promise<string | undefined> {
  try {
    return String(await connection.call('eth_getCode', [markerAddress, 'latest'], { timeoutMs: 2000 }))
  } catch {
    return undefined
  }
}
