import { invalid } from './error.ts'

/** One line of the endpoint table, as the build puts it into the client. */
export interface Operation {
  readonly method: string
  /** `/refs/:id` */
  readonly path: string
  /** Names of what belongs into the query; the rest is the body. */
  readonly query?: readonly string[]
  /** Authorized by a code. */
  readonly code?: true
  /** An Idempotency-Key makes it safe to repeat. */
  readonly repeatable?: true
  /** A GET that may be sent again whatever became of it. */
  readonly harmless?: true
  /** The body is a form with a file, or lines of JSON. */
  readonly sends?: 'form' | 'lines'
  /** The answer is lines of JSON. */
  readonly yields?: true
}

export type Input = Readonly<Record<string, unknown>>

export interface Message {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body?: string | FormData
}

/** Without a slash at the end. @throws TapchipError */
export function baseOf(baseUrl: unknown): string {
  const place = (globalThis as { location?: { href?: string } }).location?.href
  const text = String(baseUrl)
  let url: URL
  try {
    url = new URL(text, place)
  } catch {
    throw invalid('baseUrl must be an http(s) URL, such as https://taps.example.')
  }
  if (!/^https?:$/.test(url.protocol)) throw invalid('baseUrl must begin with https:// or http://.')
  if (url.username || url.password) throw invalid('baseUrl must not contain a user or a password.')
  if (url.search || url.hash) throw invalid('baseUrl must end before ? and #.')
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/** The value is left out of the message: it is a secret. @throws TapchipError */
export function headerValue(name: string, value: unknown): string {
  const text = typeof value === 'string' ? value.trim() : ''
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw invalid(`${name} must be text without spaces or line breaks, of ASCII characters.`)
}

/** @throws TapchipError */
export function messageOf(operation: Operation, base: string, input: Input): Message {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const take = (name: string): unknown => {
    const value = rest.get(name)
    rest.delete(name)
    return value
  }
  const headers: Record<string, string> = {
    accept: operation.yields ? 'application/x-ndjson' : 'application/json',
  }
  if (operation.code) headers['x-svc-code'] = headerValue('code', take('code'))
  const path = operation.path.replace(/:([A-Za-z]+)/g, (_all, name: string) => segment(name, take(name)))
  const names = operation.method === 'GET' ? [...rest.keys()] : (operation.query ?? [])
  const pairs = names.flatMap((name) => {
    const value = take(name)
    return value === undefined || value === null
      ? []
      : [`${encoded(name, name)}=${encoded(name, String(value))}`]
  })
  const url = base + path + (pairs.length > 0 ? `?${pairs.join('&')}` : '')
  if (operation.sends === 'form') return { url, headers, body: formOf(rest) }
  if (operation.sends === 'lines') {
    headers['content-type'] = 'application/x-ndjson'
    const lines = take('lines')
    if (!Array.isArray(lines)) throw invalid('lines must be an array, one element per line.')
    return { url, headers, body: lines.map((line) => `${jsonOf(line)}\n`).join('') }
  }
  if (operation.method === 'GET' || (operation.method === 'DELETE' && rest.size === 0))
    return { url, headers }
  headers['content-type'] = 'application/json'
  return { url, headers, body: jsonOf(Object.fromEntries(rest)) }
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    throw invalid('The input cannot be written as JSON: it contains itself, or a BigInt, which must be text.')
  }
}

/** Encodes a path segment. `.`, `..`, and an empty segment would lead to another operation. */
function segment(name: string, value: unknown): string {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  if (/^\.{0,2}$/.test(text)) throw invalid(`${name} must be text that is not empty.`)
  return encoded(name, text)
}

function encoded(name: string, text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    throw invalid(`${name} contains half of a surrogate pair, which a URL cannot contain.`)
  }
}

function formOf(fields: ReadonlyMap<string, unknown>): FormData {
  const form = new FormData()
  for (const [name, value] of fields) {
    if (value instanceof Blob) form.append(name, value)
    else form.append(name, String(value))
  }
  return form
}
