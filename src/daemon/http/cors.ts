import type { FastifyInstance, FastifyReply } from 'fastify'
import type { WireWords } from './parse-input.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    isOpenToPages?: boolean
  }
}

/** Route configuration: pages of any origin may call it and read its answers. */
export const openToPages = { isOpenToPages: true }

const methods = 'GET, HEAD, POST, PATCH, DELETE'
/** In seconds; browsers keep the answer to a preflight for two hours at most. */
const maxAge = '86400'
const headerNames = /^[\w!#$%&'*+.^`|~, -]{1,4000}$/
/** Every path below these is closed, known or not. */
const closedBelow = /^\/(admin|metrics|t|p)(\/|$)/

/**
 * Lets pages of any origin read the answers of routes that say so, and the error of an unknown path, so that a page
 * learns the reason. Everything else is closed. Cookies are never allowed.
 */
export class PageAccess {
  readonly #closed: RegExp[] = []
  readonly #documented: string

  constructor(wire: WireWords) {
    this.#documented = ['content-type', wire.apiKeyHeader, wire.codeHeader, 'idempotency-key'].join(', ')
  }

  /** Must come before every other hook and route, so that refusals can be read too. */
  watch(app: FastifyInstance): void {
    app.addHook('onRoute', ({ url, config }) => {
      if (config?.isOpenToPages) return
      const pattern = url.replaceAll('.', '\\.').replace(/:[^/]+/g, '[^/]+')
      this.#closed.push(new RegExp(`^${pattern}$`, 'i'))
    })
    app.addHook('onRequest', (request, reply, done) => {
      const { is404, method, raw, routeOptions } = request
      if (is404 ? !this.isUnknown(raw.url ?? '/') : routeOptions.config.isOpenToPages !== true) return done()
      allowAnyOrigin(reply)
      if (method !== 'OPTIONS') return done()
      const requestedHeaders = request.headers['access-control-request-headers']
      reply
        .header('access-control-allow-methods', methods)
        // Apps add their own headers, for tracing or languages; a header that is not allowed would lock the app out.
        .header(
          'access-control-allow-headers',
          requestedHeaders && headerNames.test(requestedHeaders) ? requestedHeaders : this.#documented,
        )
        .header('access-control-max-age', maxAge)
        .header('vary', 'access-control-request-headers')
        .code(204)
        .send()
    })
  }

  /** False if the path is a closed one in any spelling: a router elsewhere may read it differently. */
  isUnknown(url: string): boolean {
    const path = plainPath(url)
    return !closedBelow.test(path) && !this.#closed.some((pattern) => pattern.test(path))
  }
}

/** Makes an answer readable by pages. */
export const allowAnyOrigin = (reply: FastifyReply): FastifyReply =>
  reply
    .header('access-control-allow-origin', '*')
    .header('access-control-expose-headers', 'retry-after, x-request-id')

/** A path decoded, in lower case, without repeated or final slashes, and with `..` resolved. */
export function plainPath(url: string): string {
  const [path = ''] = url.split(/[?#;]/, 1)
  const decoded = path.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  const parts: string[] = []
  for (const part of decoded.toLowerCase().split(/[/\\]+/)) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}
