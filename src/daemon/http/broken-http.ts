import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorPages } from './error-pages.ts'
import { rawAnswer, rawHttp } from './errors.ts'

const problems: Readonly<Record<string, { statusCode: number; message: string }>> = {
  HPE_HEADER_OVERFLOW: { statusCode: 431, message: 'The request has more headers than this daemon reads.' },
  ERR_HTTP_REQUEST_TIMEOUT: { statusCode: 408, message: 'The request did not arrive in time.' },
}
const readAtMost = 20_000

/** For input that never became a request, so no route and no log line knows about it. */
export const answerBrokenHttp =
  (pages: ErrorPages) =>
  (error: Error, socket: Socket): void => {
    if (!socket.writable || ('code' in error && error.code === 'ECONNRESET')) {
      socket.destroy()
      return
    }
    const problem = problems['code' in error ? String(error.code) : ''] ?? {
      statusCode: 400,
      message: 'This is not valid HTTP.',
    }
    const { statusCode: status } = problem
    const reason = STATUS_CODES[status] ?? ''
    const code = 'malformed_request'
    const packet = 'rawPacket' in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : undefined
    const start = packet?.subarray(0, readAtMost).toString('latin1') ?? ''
    const page = pages.raw(start, { status, code, retryAfterSeconds: undefined })
    socket.end(page ? rawHttp(status, page) : rawAnswer({ ...problem, error: reason, code, requestId: '' }))
  }
