import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import {
  type ActKey,
  acts,
  apiPath,
  bodyFields,
  confirmHeader,
  type ReadKey,
  reads,
} from '../../console/requests.ts'
import { parseObject } from '../../values/json.ts'
import { parseScopes, permits } from '../../values/scopes.ts'
import { ApiError } from '../client/errors.ts'
import type { Client } from '../client/types.ts'
import type { Config } from '../config.ts'
import { describeError } from '../errors.ts'

const maxBodyBytes = 256 * 1024

type Key = ReadKey | ActKey

interface Route {
  readonly key: Key
  readonly method: string
  readonly path: RegExp
  readonly isAct: boolean
}

const isKey = (key: string): key is Key => key in reads || key in acts

const routes: readonly Route[] = [...Object.keys(reads), ...Object.keys(acts)].filter(isKey).map((key) => {
  const [method = '', pattern = ''] = key.split(' ')
  const source = pattern.replace(/:([A-Za-z]+)/g, '(?<$1>[^/]+)')
  return { key, method, path: new RegExp(`^${source}$`), isAct: key in acts }
})

/** The requests that a credential allows. @param scopes as `GET /admin/whoami` answers */
export const permitted = (scopes: readonly string[]): string[] => {
  const held = parseScopes(JSON.stringify(scopes))
  return [...Object.entries(reads), ...Object.entries(acts)].flatMap(([key, scope]) =>
    permits(held, scope) ? [key] : [],
  )
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

export const refuse = (response: ServerResponse, statusCode: number, code: string, message: string): void =>
  answerJson(response, statusCode, { statusCode, code, message })

/** Answers that a request never got to the daemon, or that it answered nothing useful. */
export function refuseFailed(response: ServerResponse, error: unknown): void {
  const [message = '', ...advice] = describeError(error).lines
  // Something else than a daemon may have answered 200.
  const statusCode = error instanceof ApiError && error.statusCode >= 400 ? error.statusCode : 502
  const code = error instanceof ApiError ? error.code : 'daemon_away'
  answerJson(response, statusCode, { statusCode, code, message, advice: advice.join(' ') || null })
}

interface Daemon {
  readonly client: Client
  readonly config: Pick<Config, 'contextName' | 'isProtected'>
}

/** Passes a request of the page on with our credential, if the table has it; nothing else. */
export async function proxy(
  { client, config }: Daemon,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const path = url.pathname.slice(apiPath.length)
  const route = routes.find((one) => one.method === request.method && one.path.test(path))
  if (!route) return refuse(response, 403, 'not_allowed', 'The console does not send such requests.')
  const { contextName, isProtected } = config
  if (route.isAct && isProtected && decoded(request.headers[confirmHeader]) !== contextName)
    return refuse(
      response,
      403,
      'context_unconfirmed',
      `The context "${contextName}" is protected. Type its name to confirm.`,
    )
  const params = paramsOf(route.path, path)
  if (params === undefined) return refuse(response, 400, 'invalid_input', 'The address is not valid.')
  const ended = new AbortController()
  response.once('close', () => ended.abort())
  try {
    const body = route.method === 'GET' ? undefined : await bodyOf(request)
    if (body === null)
      return refuse(response, 413, 'too_large', `A request may have ${maxBodyBytes / 1024} KiB.`)
    const allowed = bodyFields[route.key]
    if (allowed && !hasOnly(body, allowed))
      return refuse(response, 403, 'not_allowed', `The console sends only ${allowed.join(', ')} here.`)
    const answer = await client.forward(route.key, {
      params,
      query: queryOf(url.searchParams),
      body,
      signal: ended.signal,
    })
    response.writeHead(answer.statusCode ?? 502, {
      'content-type': answer.headers['content-type'] ?? 'application/json',
    })
    await pipeline(answer, response)
  } catch (error) {
    if (response.headersSent || ended.signal.aborted) response.destroy()
    else refuseFailed(response, error)
  }
}

const hasOnly = (body: string | undefined, fields: readonly string[]): boolean =>
  Object.keys(parseObject(body ?? '') ?? { '': '' }).every((name) => fields.includes(name))

const decoded = (value: string | string[] | undefined): string | undefined => {
  try {
    return typeof value === 'string' ? decodeURIComponent(value) : undefined
  } catch {
    return undefined
  }
}

function paramsOf(pattern: RegExp, path: string): Record<string, string> | undefined {
  const found = Object.entries(pattern.exec(path)?.groups ?? {})
  const params: Record<string, string> = {}
  for (const [name, value] of found) {
    const text = decoded(value)
    if (text === undefined) return undefined
    params[name] = text
  }
  return params
}

export function queryOf(search: URLSearchParams): Record<string, string[]> {
  const query: Record<string, string[]> = {}
  for (const name of new Set(search.keys())) query[name] = search.getAll(name)
  return query
}

/** Null: it is too large. Undefined: there is none. */
async function bodyOf(request: IncomingMessage): Promise<string | null | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    const piece = Buffer.from(chunk)
    bytes += piece.length
    if (bytes > maxBodyBytes) return null
    chunks.push(piece)
  }
  return bytes === 0 ? undefined : Buffer.concat(chunks).toString('utf8')
}
