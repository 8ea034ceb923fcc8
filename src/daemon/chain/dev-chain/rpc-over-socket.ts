import { connect, type Socket } from 'node:net'
import { OutboundFailed } from '../../outbound/errors.ts'
import type { RpcLimits, RpcWire } from '../rpc-connection.ts'

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
