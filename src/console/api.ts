import type { Answer, Request } from '../daemon/contract/endpoint.ts'
import type { Endpoints } from '../daemon/contract/index.ts'
import { type ActKey, apiPath, confirmHeader, type ReadKey } from './requests.ts'
import { sessionHeaders } from './session.ts'

type Key = ReadKey | ActKey
export type AnswerOf<K extends Key> = Answer<Endpoints[K]>
export type ElementOf<K extends Key> = AnswerOf<K> extends readonly (infer E)[] ? E : never
export type RequestOf<K extends Key> = Request<Endpoints[K]> & Untyped

/** Why a request was not answered. `message` is the daemon's own, and says what to do. */
export class RequestProblem extends Error {
  readonly status: number
  readonly code: string
  readonly advice: string | undefined

  constructor(answer: { status: number; code: string; message: string; advice?: string | undefined }) {
    super(answer.message)
    this.status = answer.status
    this.code = answer.code
    this.advice = answer.advice
  }
}

/** The console's own program has ended, or the browser is offline. */
export const consoleGone = 'console_gone'

interface Untyped {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
}

function addressOf(pattern: string, { params = {}, query = {} }: Untyped): string {
  const path = pattern.replace(/:([A-Za-z]+)/g, (_, name: string) =>
    encodeURIComponent(String(params[name] ?? '')),
  )
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null && one !== '') search.append(name, String(one))
  return `${apiPath}${path}${search.size === 0 ? '' : `?${search}`}`
}

/** Sends to the console's server. @throws RequestProblem */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(path, { ...init, headers: { ...sessionHeaders(), ...init.headers } })
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new RequestProblem({ status: 0, code: consoleGone, message: String(error) })
  }
  if (response.ok) return response
  const body: unknown = await response.json().catch(() => undefined)
  throw new RequestProblem({ status: response.status, ...problemIn(body, response.status) })
}

const problemIn = (body: unknown, status: number) => {
  const text = (name: string): string | undefined => {
    const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
    return typeof value === 'string' ? value : undefined
  }
  return {
    code: text('code') ?? 'unknown',
    message: text('message') ?? `HTTP ${status}`,
    advice: text('advice'),
  }
}

async function exchange(key: Key, request: Untyped, more: RequestInit): Promise<unknown> {
  const [method = 'GET', pattern = '/'] = key.split(' ')
  const { body } = request
  const headers = { ...more.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const response = await send(addressOf(pattern, request), {
    ...more,
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const isLines = response.headers.get('content-type')?.startsWith('application/x-ndjson') ?? false
  return isLines
    ? text.split('\n').flatMap((line) => (line.trim() === '' ? [] : JSON.parse(line)))
    : JSON.parse(text)
}

/** Reads from the daemon; lines as an array. @throws RequestProblem */
export function read<K extends ReadKey>(key: K, request: RequestOf<K>, signal?: AbortSignal) {
  // Both ends are built from one endpoint table.
  return exchange(key, request, signal ? { signal } : {}) as Promise<AnswerOf<K>>
}

/** @param confirmed the name of the protected context, as `ask` gives it @throws RequestProblem */
export function act<K extends ActKey>(key: K, request: RequestOf<K>, confirmed: string | undefined) {
  const headers: Record<string, string> =
    confirmed === undefined ? {} : { [confirmHeader]: encodeURIComponent(confirmed) }
  return exchange(key, request, { headers }) as Promise<AnswerOf<K>>
}
