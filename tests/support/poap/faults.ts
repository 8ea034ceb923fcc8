import type { ServerResponse } from 'node:http'

/** What goes wrong. `before`: with the call, which is not carried out. `after`: with the answer alone. */
export type Fault =
  /** This answer in the place of the right one. */
  | { when: 'before'; answer: { status: number; body: string; headers?: Record<string, string> } }
  /** No answer: the connection ends, or stays open until the stand-in is closed. */
  | { when: 'before' | 'after'; silence: 'drop' | 'hold' }
  /** Half of the right answer: in a whole HTTP answer, or in one that breaks off. */
  | { when: 'after'; half: 'json' | 'connection' }

const html = '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>cloudfront</body></html>'

export const faults = {
  status: (
    status: number,
    body: unknown = { statusCode: status, error: 'Internal Server Error', message: 'ERROR' },
  ) => answer(status, JSON.stringify(body), { 'content-type': 'application/json; charset=utf-8' }),
  html: (status: number) => answer(status, html, { 'content-type': 'text/html' }),
  rateLimit: (retryAfter?: string) =>
    answer(429, '{"message":"Too Many Requests"}', {
      'content-type': 'application/json',
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
    }),
  retryLater: (status: number, retryAfter: string) => answer(status, '{}', { 'retry-after': retryAfter }),
  redirect: (location: string) => answer(302, '', { location }),
  dropBefore: { when: 'before', silence: 'drop' },
  dropAfter: { when: 'after', silence: 'drop' },
  holdBefore: { when: 'before', silence: 'hold' },
  holdAfter: { when: 'after', silence: 'hold' },
  halfJson: { when: 'after', half: 'json' },
  halfConnection: { when: 'after', half: 'connection' },
} as const satisfies Record<string, Fault | ((...args: never[]) => Fault)>

function answer(status: number, body: string, headers: Record<string, string>): Fault {
  return { when: 'before', answer: { status, body, headers } }
}

/** Answers as a fault wants it. @param right the answer that is spoilt */
export function spoil(fault: Fault, response: ServerResponse, right: { status: number; body: string }): void {
  if ('answer' in fault) {
    response.writeHead(fault.answer.status, fault.answer.headers).end(fault.answer.body)
  } else if ('silence' in fault) {
    if (fault.silence === 'drop') response.socket?.destroy()
  } else {
    const half = right.body.slice(0, Math.ceil(right.body.length / 2))
    const length = fault.half === 'json' ? half.length : right.body.length
    response.writeHead(right.status, { 'content-type': 'application/json', 'content-length': length })
    if (fault.half === 'json') response.end(half)
    else response.write(half, () => response.socket?.destroy())
  }
}
