import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Preview, previewPath } from '../../console/requests.ts'
import { textOf } from '../client/connection.ts'
import type { Client } from '../client/types.ts'
import { answerJson, queryOf, refuse, refuseFailed } from './proxy.ts'

/** About 20 kB each. A page of the console shows two at a time. */
const maxKept = 100

/**
 * The tap page in a frame of the console: its HTML is the daemon's, with texts of teams. It gets an origin of its own, runs
 * no script, and only its style and the team's media are loaded.
 */
const policyOf = (html: string): string => {
  const nonce = /'nonce-([\w-]+)'/.exec(html)?.[1]
  return [
    'sandbox',
    "default-src 'none'",
    `style-src ${nonce === undefined ? "'none'" : `'nonce-${nonce}'`}`,
    'img-src https: data:',
    'media-src https:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ')
}

/** A frame cannot send the secret of a session, so that each page has a path that cannot be guessed. */
export class Previews {
  readonly #kept = new Map<string, string>()

  /** Has the daemon render the state that is asked for. */
  async render(client: Client, response: ServerResponse, search: URLSearchParams): Promise<void> {
    try {
      const answer = await client.forward('GET /admin/pages/preview', { query: queryOf(search) })
      const text = await textOf(answer)
      const status = answer.statusCode ?? 502
      if (status !== 200) {
        response.writeHead(status, { 'content-type': 'application/json' }).end(text)
        return
      }
      const pages = pagesIn(JSON.parse(text))
      const [page] = pages
      if (page === undefined || pages.length > 1)
        return refuse(response, 400, 'invalid_input', 'Name one state of the page.')
      const id = randomBytes(24).toString('base64url')
      this.#kept.set(id, page.html)
      const [oldest] = this.#kept.keys()
      if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest)
      const preview: Preview = { path: `${previewPath}/${id}`, state: page.state, status: page.status }
      answerJson(response, 200, preview)
    } catch (error) {
      refuseFailed(response, error)
    }
  }

  /** Only into a frame of the console. */
  answer(request: IncomingMessage, response: ServerResponse, id: string): void {
    const html = this.#kept.get(id)
    const isFrame = (request.headers['sec-fetch-dest'] ?? 'iframe') === 'iframe'
    if (html === undefined || !isFrame || request.method !== 'GET') {
      refuse(response, 404, 'not_found', 'This preview is no longer here. Open the screen again.')
      return
    }
    response.setHeader('content-security-policy', policyOf(html))
    response.setHeader('x-frame-options', 'SAMEORIGIN')
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html)
  }
}

interface Rendered {
  readonly state: string
  readonly status: number
  readonly html: string
}

const isRendered = (value: unknown): value is Rendered =>
  typeof value === 'object' &&
  value !== null &&
  'state' in value &&
  typeof value.state === 'string' &&
  'status' in value &&
  typeof value.status === 'number' &&
  'html' in value &&
  typeof value.html === 'string'

const pagesIn = (value: unknown): Rendered[] => (Array.isArray(value) ? value.filter(isRendered) : [])
