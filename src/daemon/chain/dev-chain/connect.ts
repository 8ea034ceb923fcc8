import { connect, type Socket } from 'node:net'
import type { Address } from 'viem'
import { OutboundFailed } from '../../outbound/errors.ts'
import { ChainUnavailable, RpcConnection, type RpcLimits, type RpcWire } from '../rpc-connection.ts'
import { rpcOverHttp } from '../rpc-transport.ts'

// A hundred catch-up blocks on a large state take seconds; a chain that hangs is restarted.
const patienceMs = 20_000
/** A large state, as one text. */
const mostBytes = 256 * 1024 * 1024

const unix = 'unix:'

/** The way to an anvil of ours, by `http://…` or `unix:/path`. It throws ChainUnavailable where nothing answers. */
export const connectTo = (url: string): RpcConnection =>
  new RpcConnection(url, url.startsWith(unix) ? rpcOverSocket(url.slice(unix.length)) : rpcOverHttp(url), {
    timeoutMs: patienceMs,
    maxBytes: mostBytes,
    failure: (cause) => new ChainUnavailable('The embedded dev chain does not answer. Try again.', { cause }),
  })

/** A dump of a large state takes longest. */
export const dumpTimeoutMs = 120_000

const mostSockets = 64
const newline = 0x0a

/**
 * JSON-RPC over a Unix socket, as anvil has it: a line there, a line back. Each connection has one call under way,
 * and one that stalls is closed.
 */
export function rpcOverSocket(path: string): RpcWire {
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
    if (busy < mostSockets) busy += 1
    // Whoever is done hands its place over.
    else await new Promise<void>((resolve) => waiting.push(resolve))
    const socket = idle.pop() ?? open()
    socket.ref()
    try {
      const answer = await ask(socket, path, body, limits)
      // An idle connection keeps no process alive.
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
      clearTimeout(impatient)
      socket.off('data', onData).off('close', onClose).off('error', onError)
      settle()
    }
    const fail = (kind: OutboundFailed['kind'], what: string, cause?: unknown) =>
      end(() => reject(new OutboundFailed(kind, `${path} ${what}`, true, cause)))
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > maxBytes) fail('too_large', `answers with more than ${maxBytes} bytes`)
      // JSON itself has no line breaks here.
      else if (chunk.at(-1) === newline) end(() => resolve(Buffer.concat(chunks)))
    }
    const onError = (error: NodeJS.ErrnoException) =>
      fail('connection', `could not be asked: ${error.code ?? 'connection failed'}`, error)
    const onClose = () => fail('connection', 'closed the connection')
    const impatient = setTimeout(
      () => fail('timeout', `did not answer in full within ${timeoutMs} ms`),
      timeoutMs,
    )
    socket.on('data', onData).once('close', onClose).once('error', onError)
    socket.write(`${body}\n`)
  })
}

/** "tapchip", in an address that nobody has the key of. */
const place: Address = '0x7461706368697000000000000000000000000001'

/** Writes whose chain this is into the chain itself: a port says nothing, others may have it by now. */
export const mark = (connection: RpcConnection, marker: string): Promise<unknown> =>
  connection.call('anvil_setCode', [place, marker])

/** @returns what {@link mark} wrote, or undefined where nothing answers, or something else */
export async function markerOf(connection: RpcConnection): Promise<string | undefined> {
  try {
    return String(await connection.call('eth_getCode', [place, 'latest'], { timeoutMs: 2000 }))
  } catch {
    return undefined
  }
}
