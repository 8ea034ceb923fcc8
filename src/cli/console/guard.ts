import type { IncomingMessage, ServerResponse } from 'node:http'

export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Pictures of items and tokens are wherever their owners put them.
  "img-src 'self' https:",
  "connect-src 'self'",
  // Previews of the tap page, which have an origin and a policy of their own.
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** On every answer. */
export function setSafetyHeaders(response: ServerResponse): void {
  response.setHeader('content-security-policy', policy)
  response.setHeader('x-content-type-options', 'nosniff')
  response.setHeader('x-frame-options', 'DENY')
  response.setHeader('referrer-policy', 'no-referrer')
  response.setHeader('cross-origin-opener-policy', 'same-origin')
  response.setHeader('cross-origin-resource-policy', 'same-origin')
  response.setHeader('cache-control', 'no-store')
}

const header = ({ headers }: IncomingMessage, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

/** Somebody opens a page of ours in a tab, from wherever they come. */
export const isNavigation = (request: IncomingMessage): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') &&
  (header(request, 'sec-fetch-mode') ?? 'navigate') === 'navigate' &&
  (header(request, 'sec-fetch-dest') ?? 'document') === 'document'

/** A browser that loads ahead must not use a link up. */
export const isPrefetch = (request: IncomingMessage): boolean =>
  ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|prerender|preview/i.test(header(request, name) ?? ''),
  )

/** A browser does not send our cookie where another site's page leads here, and sends it to the next request. */
export const comesFromElsewhere = (request: IncomingMessage): boolean =>
  ['cross-site', 'same-site'].includes(header(request, 'sec-fetch-site') ?? '')

/**
 * Undefined: a request is for us, and by our own page. A name that leads to this machine (DNS rebinding) has another Host;
 * pages at other ports are `same-site`, so they are told by their origin.
 */
export function whyRefused(request: IncomingMessage, origin: string): Refusal | undefined {
  const host = header(request, 'host')
  if (host === undefined || `http://${host}` !== origin)
    return {
      status: 421,
      code: 'wrong_host',
      message: `The console is at ${origin} alone. Open that address.`,
    }
  const from = header(request, 'origin')
  const isForeign = from !== undefined && from !== origin
  if (isForeign || (comesFromElsewhere(request) && !isNavigation(request)))
    return {
      status: 403,
      code: 'foreign_origin',
      message: 'Only the page of the console itself may send requests.',
    }
  return undefined
}

export function cookieOf(request: IncomingMessage, name: string): string | undefined {
  for (const pair of (header(request, 'cookie') ?? '').split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return undefined
}
