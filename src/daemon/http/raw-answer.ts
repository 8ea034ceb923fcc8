import type { ErrorBody } from './errors.ts'

/** An error as bytes of HTTP/1.1, for a connection that is past an ordinary answer, and that ends with it. */
export function rawAnswer(error: ErrorBody): string {
  const body = JSON.stringify(error)
  return [
    `HTTP/1.1 ${error.statusCode} ${error.error}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
