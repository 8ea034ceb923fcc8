import type * as z from 'zod'
import { retryAfterMs } from '../outbound/foreign-text.ts'
import type { OutboundAnswer, OutboundRequest } from '../outbound/outbound.ts'
import { failureOf, type PoapConfig, type PoapDeps } from './poap-deps.ts'
import { PoapToken, type TokenResult } from './poap-token.ts'
import { errorMessage, isOwnError, readJson, tokenAnswer } from './poap-wire.ts'
import type { RefusedClaim, Unavailable, UnknownOutcome } from './provider.ts'

interface PoapCall<T> {
  method: 'GET' | 'POST'
  path: string
  auth: 'bearer' | 'api-key'
  json?: unknown
  form?: { headers: Readonly<Record<string, string>>; body: AsyncIterable<Uint8Array> }
  shape: z.ZodType<T>
  /** Secrets that an error message must not repeat. */
  hide?: readonly string[]
  maxBytes?: number
}

interface Trouble {
  kind: 'trouble'
  /** The call may have taken effect all the same. */
  maybeDone: boolean
  reason: string
  /** Known only if POAP or the cause says so. */
  waitMs?: number | undefined
  isQuiet?: true
}

type Answer<T> = { kind: 'ok'; value: T } | RefusedClaim | Trouble

const attempts = 3
/** In milliseconds. */
const retryBounds = { min: 1_000, max: 3_600_000 }
const firstPauseMs = 200
const defaultWaitMs = 10_000
const settingsWaitMs = 60_000
const defaultLifetimeMs = 3_600_000
/** Timers fire slightly early. */
const earlyMs = 20
/** Such an answer may mean that the call is still in progress. */
const maybeDone: ReadonlySet<number> = new Set([408, 425, 499])
const maybeWritten: ReadonlySet<number> = new Set([409, 423])

export class PoapCalls {
  readonly #config: PoapConfig
  readonly #deps: PoapDeps
  readonly #token: PoapToken
  /** By host: no call is made before this time, because the host asked for a pause. */
  readonly #quietUntil = { api: 0, auth: 0 }

  constructor(config: PoapConfig, deps: PoapDeps) {
    this.#config = config
    this.#deps = deps
    this.#token = new PoapToken(
      () => this.#fetchToken(),
      () => deps.clock.monotonic(),
    )
  }

  /** For calls without side effects: retried within the time limit of one call. */
  read<T>(call: PoapCall<T>): Promise<{ kind: 'ok'; value: T } | RefusedClaim | Unavailable> {
    return this.#repeated((deadline) => this.#call(call, deadline))
  }

  /** For calls that must not happen twice: sent again only if POAP rejected the token of the first attempt. */
  async write<T>(
    call: PoapCall<T>,
  ): Promise<{ kind: 'ok'; value: T } | RefusedClaim | Unavailable | UnknownOutcome> {
    const answer = await this.#call(
      { ...call, isWrite: true },
      this.#deps.clock.monotonic() + this.#config.timeoutMs,
    )
    if (answer.kind !== 'trouble') return answer
    return { ...unavailable(answer), kind: answer.maybeDone ? 'unknown' : 'unavailable' }
  }

  async #repeated<T>(
    once: (deadline: number) => Promise<Answer<T>>,
  ): Promise<{ kind: 'ok'; value: T } | RefusedClaim | Unavailable> {
    const { clock, sleep, random } = this.#deps
    const deadline = clock.monotonic() + this.#config.timeoutMs
    for (let attempt = 1; ; attempt += 1) {
      const answer = await once(deadline)
      if (answer.kind !== 'trouble') return answer
      if (answer.isQuiet) return unavailable(answer)
      const pauseMs = answer.waitMs ?? firstPauseMs * 2 ** (attempt - 1) * (1 + random())
      if (attempt === attempts || clock.monotonic() + pauseMs >= deadline) return unavailable(answer)
      await sleep(pauseMs)
    }
  }

  async #call<T>(call: PoapCall<T> & { isWrite?: true }, deadline: number): Promise<Answer<T>> {
    if (call.auth === 'api-key') return this.#judged(call, await this.#send(call, deadline))
    const first = await this.#token.get()
    if (first.kind !== 'ok') return trouble(first)
    const answer = await this.#send(call, deadline, first.value.token)
    if (!('status' in answer) || answer.status !== 401) return this.#judged(call, answer, first.value.token)
    this.#token.drop(first.value.token)
    const second = await this.#token.get()
    if (second.kind !== 'ok') return trouble(second)
    return this.#judged(call, await this.#send(call, deadline, second.value.token), second.value.token)
  }

  #send(call: PoapCall<unknown>, deadline: number, token?: string): Promise<OutboundAnswer | Trouble> {
    const { json, form } = call
    const headers = {
      accept: 'application/json',
      'x-api-key': this.#config.apiKey,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...form?.headers,
    }
    const body = json === undefined ? form?.body : JSON.stringify(json)
    const maxBytes = call.maxBytes ?? 1024 * 1024
    return this.#ask(
      'api',
      { url: `${this.#config.url}${call.path}`, method: call.method, headers, body, maxBytes },
      deadline,
    )
  }

  async #ask(
    host: 'api' | 'auth',
    request: Omit<OutboundRequest, 'timeoutMs'>,
    deadline: number,
  ): Promise<OutboundAnswer | Trouble> {
    const now = this.#deps.clock.monotonic()
    const timeoutMs = deadline - now
    const waitMs = this.#quietUntil[host] - now
    if (waitMs > earlyMs)
      return {
        kind: 'trouble',
        maybeDone: false,
        reason: 'POAP asked for a pause',
        waitMs,
        isQuiet: true,
      }
    if (timeoutMs <= 0)
      return { kind: 'trouble', maybeDone: false, reason: 'POAP is too slow for another call' }
    try {
      const answer = await this.#deps.send({ ...request, timeoutMs })
      this.#noteQuiet(host, answer)
      return answer
    } catch (error) {
      const failure = failureOf(error)
      if (!failure) throw error
      return { kind: 'trouble', maybeDone: failure.sent, reason: failure.reason }
    }
  }

  #noteQuiet(host: 'api' | 'auth', { status, headers }: OutboundAnswer): void {
    if (status !== 429 && status !== 503) return
    const { clock } = this.#deps
    const ms = retryAfterMs(headers['retry-after'], clock.now(), retryBounds)
    if (ms !== undefined) this.#quietUntil[host] = Math.max(this.#quietUntil[host], clock.monotonic() + ms)
  }

  #judged<T>(call: Judged<T>, answer: OutboundAnswer | Trouble, token = ''): Answer<T> {
    if (!('status' in answer)) return answer
    const { status, headers, body } = answer
    const reason = `POAP answered ${status} to ${call.method} ${call.path.replace(/[?].*/, '')}`
    const waitMs = retryAfterMs(headers['retry-after'], this.#deps.clock.now(), retryBounds)
    if (status >= 200 && status < 300) {
      const parsed = call.shape.safeParse(readJson(body))
      if (parsed.success) return { kind: 'ok', value: parsed.data }
      return { kind: 'trouble', maybeDone: true, reason: `${reason} with an unexpected body` }
    }
    // A gateway may have passed the call on before it failed.
    if (status >= 500) return { kind: 'trouble', maybeDone: true, reason, waitMs }
    if (maybeDone.has(status) || (call.isWrite && maybeWritten.has(status)))
      return { kind: 'trouble', maybeDone: true, reason, waitMs }
    if (status === 429) return { kind: 'trouble', maybeDone: false, reason, waitMs }
    if (status < 400) return misconfigured(`${reason}: check TAPCHIP_POAP_URL`)
    if (status === 401 || status === 403)
      return misconfigured(`${reason}: POAP rejected the API key or the token. Check TAPCHIP_POAP_…`)
    const { apiKey, clientId, clientSecret } = this.#config
    const message = errorMessage(body, [...(call.hide ?? []), token, apiKey, clientId, clientSecret])
    // A gateway without a route also answers 404, even for things that exist.
    if (message === undefined || (status === 404 && !isOwnError(body, status)))
      return misconfigured(`${reason} with an unexpected body: is TAPCHIP_POAP_URL correct?`)
    return { kind: 'refused', status, message }
  }

  /** Sends no API key, which is not meant for this host. */
  async #fetchToken(): Promise<TokenResult> {
    const { authUrl, audience, clientId, clientSecret } = this.#config
    const request = {
      url: authUrl,
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({
        audience,
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      }),
      maxBytes: 64 * 1024,
    } as const
    const call = { method: 'POST', path: 'TAPCHIP_POAP_AUTH_URL', shape: tokenAnswer }
    const answer = await this.#repeated(async (deadline) =>
      this.#judged(call, await this.#ask('auth', request, deadline)),
    )
    if (answer.kind === 'refused')
      return unavailable(misconfigured(`POAP issued no token: ${answer.message} (TAPCHIP_POAP_CLIENT_ID, …)`))
    if (answer.kind !== 'ok') return answer
    const { access_token, expires_in } = answer.value
    const lifeMs = expires_in === undefined ? defaultLifetimeMs : expires_in * 1_000
    return { kind: 'ok', value: { token: access_token, expiresAt: this.#deps.clock.monotonic() + lifeMs } }
  }
}

type Judged<T> = Pick<PoapCall<T>, 'path' | 'shape' | 'hide'> & { method: string; isWrite?: true }

const misconfigured = (reason: string): Trouble => ({
  kind: 'trouble',
  maybeDone: false,
  reason,
  waitMs: settingsWaitMs,
})

/** Without a token, nothing was sent. */
const trouble = ({ reason, retryAfterMs }: Unavailable): Trouble => ({
  kind: 'trouble',
  maybeDone: false,
  reason,
  waitMs: retryAfterMs,
})

const unavailable = ({ reason, waitMs = defaultWaitMs }: Trouble): Unavailable => ({
  kind: 'unavailable',
  retryAfterMs: waitMs,
  reason,
})
