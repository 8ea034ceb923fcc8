import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PoapConfig } from '../../../src/daemon/badges/poap-deps.ts'
import { type Fault, spoil } from './faults.ts'
import { Ledger, type LedgerCode, type LedgerEvent } from './ledger.ts'
import { error, type Reply, routes } from './routes.ts'
import type { WireStyle } from './wire.ts'

export interface Seen {
  /** As `POST /event/{id}/qr-codes`. */
  endpoint: string
  url: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: string
}

const credentials = {
  apiKey: 'poap-key-0123456789abcdef',
  clientId: 'client-0123456789abcdef',
  clientSecret: 'hush-0123456789abcdef0123456789abcdef',
  audience: 'https://api.poap.tech',
  email: 'badges@tapchip.example',
}

/** POAP on loopback: its endpoints for events and claim links, its token endpoint, its errors, and its bad days. */
export class PoapStandIn {
  readonly ledger: Ledger
  readonly seen: Seen[] = []
  readonly style: WireStyle = { dates: 'DD-Mon-YYYY', events: 'live', secrets: 'own', names: 'shown' }
  readonly now: () => number
  tokenLifeSeconds = 86_400
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #tokens = new Map<string, number>()
  readonly #faults: { endpoint: string; fault: Fault }[] = []

  constructor(now: () => number) {
    this.now = now
    this.ledger = new Ledger(now)
  }

  static async open(now: () => number = () => Date.now()): Promise<PoapStandIn> {
    const poap = new PoapStandIn(now)
    poap.#server.listen(0, '127.0.0.1')
    await once(poap.#server, 'listening')
    return poap
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get config(): PoapConfig {
    return {
      ...credentials,
      url: this.url,
      authUrl: `${this.url}/oauth/token`,
      timeoutMs: 10_000,
      pollSeconds: 60,
    }
  }

  /** How often an endpoint was called. */
  count = (endpoint: string): number => this.seen.filter((call) => call.endpoint === endpoint).length

  /** The next calls of an endpoint go wrong, one fault each, in this order. */
  fail(endpoint: string, ...next: Fault[]): void {
    this.#faults.push(...next.map((fault) => ({ endpoint, fault })))
  }

  /** One of the next calls gets no answer, and its connection stays open. */
  get isHolding(): boolean {
    return this.#faults.some(({ fault }) => 'silence' in fault && fault.silence === 'hold')
  }

  event(id: number): LedgerEvent {
    const event = this.ledger.events.get(id)
    if (!event) throw new Error(`The stand-in has no event ${id}`)
    return event
  }

  code(qrHash: string): LedgerCode {
    const code = this.ledger.code(qrHash)
    if (!code) throw new Error('The stand-in has no such code')
    return code
  }

  /** @param codes how many are given; by default all that were asked for */
  approve(id: number, codes?: number): string[] {
    const event = this.event(id)
    this.ledger.giveCodes(event, codes ?? event.requestedCodes)
    event.isOpen = false
    return event.codes.map(({ qrHash }) => qrHash)
  }

  reject(id: number): void {
    this.event(id).isOpen = false
  }

  /** One step on the chain for every claim: waiting, pending, passed. */
  mine(): void {
    for (const event of this.ledger.events.values()) {
      for (const code of event.codes) {
        const last = code.transactions.at(-1)
        if (last?.status === 'waiting_tx') {
          last.tx_hash = `0x${randomBytes(32).toString('hex')}`
          last.status = 'pending'
        } else if (last?.status === 'pending') {
          last.status = 'passed'
          code.token = this.ledger.nextId()
        }
      }
    }
  }

  /** No token that was given out is good any more. */
  revokeTokens(): void {
    this.#tokens.clear()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    } catch {
      // The caller went away in the middle: nothing arrived.
      return
    }
    const body = Buffer.concat(chunks)
    const url = new URL(request.url ?? '/', this.url)
    const { endpoint, route, parts } = find(request.method ?? '', url.pathname)
    this.seen.push({ endpoint, url: url.href, headers: request.headers, body: body.toString('latin1') })

    const index = this.#faults.findIndex((one) => one.endpoint === endpoint)
    const fault = index === -1 ? undefined : this.#faults.splice(index, 1)[0]?.fault
    if (fault?.when === 'before') return spoil(fault, response, { status: 0, body: '' })

    const contentType = request.headers['content-type'] ?? ''
    const call = {
      path: url.pathname,
      query: url.searchParams,
      contentType,
      body,
      json: readJson(body),
      parts,
    }
    const reply =
      endpoint === tokenEndpoint
        ? this.#giveToken(contentType, call.json)
        : (this.#refusal(request, route) ?? (await route?.handle(call, this.ledger, this.style)))
    const { status, body: answer } = reply ?? { status: 404, body: { message: 'Not Found' } }
    const right = { status, body: JSON.stringify(answer) }
    if (fault) return spoil(fault, response, right)
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(right.body)
  }

  #refusal(request: IncomingMessage, route: (typeof routes)[number] | undefined): Reply | undefined {
    const { headers } = request
    if (headers['x-api-key'] !== credentials.apiKey) return { status: 403, body: { message: 'Forbidden' } }
    if (route?.isProtected) {
      const endsAt = this.#tokens.get(/^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '')
      if (endsAt === undefined || endsAt <= this.now())
        return { status: 401, body: { message: 'Unauthorized' } }
    }
    if (
      request.method === 'POST' &&
      !route?.isForm &&
      !/^application\/json/.test(headers['content-type'] ?? '')
    )
      return error(415, `Unsupported Media Type: ${headers['content-type']}`)
    return undefined
  }

  #giveToken(contentType: string, asked: Record<string, unknown>): Reply {
    const isRight =
      contentType.startsWith('application/json') &&
      asked.grant_type === 'client_credentials' &&
      asked.client_id === credentials.clientId &&
      asked.client_secret === credentials.clientSecret &&
      asked.audience === credentials.audience
    if (!isRight) return { status: 401, body: { error: 'access_denied', error_description: 'Unauthorized' } }
    const token = `eyJ.${randomBytes(24).toString('base64url')}.sig`
    this.#tokens.set(token, this.now() + this.tokenLifeSeconds * 1000)
    return {
      status: 200,
      body: { access_token: token, expires_in: this.tokenLifeSeconds, token_type: 'Bearer' },
    }
  }
}

const tokenEndpoint = 'POST /oauth/token'

function find(method: string, path: string) {
  const here = `${method} ${path}`
  for (const route of routes) {
    const match = new RegExp(`^${route.endpoint.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(here)
    if (match) return { endpoint: route.endpoint, route, parts: match.slice(1).map(decodeURIComponent) }
  }
  return { endpoint: here, route: undefined, parts: [] }
}

function readJson(body: Buffer): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'))
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    return {}
  }
}
