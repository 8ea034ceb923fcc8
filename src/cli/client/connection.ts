import { once } from 'node:events'
import http from 'node:http'
import type https from 'node:https'
import net from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { linesOf as linesOfText } from '../../values/line-splitter.ts'
import { socketPath } from '../../values/local-daemon.ts'
import { type Listener, listenerAt } from './address.ts'
import { DaemonUnreachable, isLoopback } from './errors.ts'
import type { Upload } from './types.ts'

export interface SendOptions {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Upload | undefined
  readonly idleTimeoutMs: number
  readonly signal?: AbortSignal | undefined
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: '',
  ENOENT: '',
  EACCES: 'it belongs to another user',
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'its name does not resolve',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'no answer in time',
}

export const unreachable = (listener: Listener, error: unknown): DaemonUnreachable => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const why = reasons[code] ?? (error instanceof Error ? error.message : String(error))
  return new DaemonUnreachable(listener, why, error, error instanceof Timeout)
}

class Timeout extends Error {
  readonly code = 'ETIMEDOUT'
}

export type Connection = ReturnType<typeof connect>

/** One keep-alive agent per listener. `send` resolves with the response headers; redirects are not followed. */
export const connect = (listener: Listener) => {
  const { url } = listener
  let secure: typeof https | undefined
  let agent: http.Agent | undefined
  const base = url.pathname.replace(/\/+$/, '')
  let socket: ReturnType<typeof socketPath> | undefined

  const send = async (sending: SendOptions): Promise<http.IncomingMessage> => {
    if (url.protocol === 'https:') secure ??= (await import('node:https')).default
    const transport = secure ?? http
    agent ??= new transport.Agent({ keepAlive: true, maxSockets: 20 })
    if (listener.socket !== undefined) socket ??= socketPath(listener.socket)
    const { body } = sending
    const length = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {}
    const request = transport.request({
      agent,
      protocol: url.protocol,
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      ...(socket ? { socketPath: socket.path } : {}),
      method: sending.method,
      path: base + sending.path,
      headers: { ...sending.headers, ...length },
      ...(sending.signal ? { signal: sending.signal } : {}),
    })
    if (sending.idleTimeoutMs > 0) {
      request.setTimeout(sending.idleTimeoutMs, () => request.destroy(new Timeout('no answer in time')))
    }
    let uploadError: unknown
    const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
      request.once('response', resolve)
      request.on('error', (error) => reject(uploadError ?? unreachable(listener, error)))
    })
    if (body === undefined || typeof body === 'string') request.end(body)
    else {
      // A daemon may refuse before it has read everything; the unsent rest is no error.
      pipeline(Readable.from(guarded(body.content, (error) => (uploadError = error))), request).catch(
        () => undefined,
      )
    }
    return answered
  }

  const close = () => {
    agent?.destroy()
    socket?.release()
    socket = undefined
  }
  return { listener, send, close }
}

/** Distinguishes errors of our input from network errors. */
async function* guarded(content: Upload['content'], onError: (error: unknown) => void) {
  try {
    yield* content
  } catch (error) {
    onError(error)
    throw error
  }
}

export const textOf = async (answer: http.IncomingMessage): Promise<string> => {
  answer.setEncoding('utf8')
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  return text
}

/** Lines of a response without the empty ones, which only keep the connection open. */
export const linesOf = (answer: http.IncomingMessage): AsyncGenerator<string> =>
  linesOfText(answer.setEncoding('utf8'))

const connectTimeoutMs = 2000

/**
 * Checks that something listens at an address of this machine, without sending anything. Other machines are not
 * checked.
 * @throws DaemonUnreachable
 */
export const assertListening = async (address: string): Promise<void> => {
  const listener = listenerAt(address)
  const { url, socket: path } = listener
  if (path === undefined && !isLoopback(url.hostname)) return
  const socketFile = path === undefined ? undefined : socketPath(path)
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const socket = net.connect(
    socketFile ? { path: socketFile.path } : { host: url.hostname.replace(/^\[|\]$/g, ''), port },
  )
  try {
    // A listener with a full queue is a listener too.
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectTimeoutMs) })
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw unreachable(listener, error)
  } finally {
    socket.destroy()
    socketFile?.release()
  }
}
