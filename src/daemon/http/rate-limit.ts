import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Semaphore } from '../../values/semaphore.ts'
import type { Config } from '../config/config.ts'
import { credentialId } from '../domain/access/credentials.ts'
import { DomainError } from '../domain/errors/errors.ts'
import { tapState } from '../domain/taps/verify-tap.ts'
import type { Clock } from '../domain/time/time.ts'
import { type AuthDeps, network, validCredential } from './auth.ts'
import { TokenBucket } from './token-bucket.ts'

interface RateDeps extends AuthDeps, TapRateDeps {
  clock: Clock
  log: Logger
  config: Pick<Config, 'rateLimit' | 'keyRateLimit' | 'guessLimit'>
}

/** Per API key. A long request may hold several megabytes, and takes a slice of time in every turn. */
const maxConcurrent = 64
const maxConcurrentLong = 4
const maxWaiting = 256
const shortBody = 1024 * 1024
/** Keys of a guessing client that are checked at a time; others are refused unchecked. */
const maxPendingGuesses = 8
const maxKnown = 10_000
/** Pictures have a budget of their own: this many times the limit of strangers. */
const pictureFactor = 10

/**
 * Limits the calls of a client. A stranger has one budget for keyless endpoints, unknown paths, and invalid
 * keys, and a smaller one for guesses; an API key has its own budget and a limit on concurrent requests.
 * @param queueMs how long a request waits for another one with its key to end
 * @param guessMs the delay of answers to keys from a client that sent too many invalid ones
 * @returns a function that maps an error to the one to send: once the budget is spent, guesses get a 429
 */
export function limitRates(
  app: FastifyInstance,
  deps: RateDeps,
  { queueMs, guessMs }: { queueMs: number; guessMs: number },
): (request: FastifyRequest, error: unknown) => unknown {
  const { clock, config, log } = deps
  const budget = (limit: number | undefined) =>
    limit === undefined ? undefined : new TokenBucket(clock, limit)
  const strangers = budget(config.rateLimit)
  const pictures = budget(config.rateLimit === undefined ? undefined : config.rateLimit * pictureFactor)
  const guesses = budget(config.guessLimit)
  const keys = budget(config.keyRateLimit)
  const warnings = new TokenBucket(clock, 1)
  const short = new Semaphore({
    concurrencyPerKey: maxConcurrent,
    waitingPerKey: maxWaiting,
    waitMs: queueMs,
  })
  const long = new Semaphore({
    concurrencyPerKey: maxConcurrentLong,
    waitingPerKey: maxWaiting,
    waitMs: queueMs,
  })

  const spendOfStranger = (request: FastifyRequest): DomainError | undefined =>
    tooMany(
      (request.routeOptions.config.isPicture ? pictures : strangers)?.spend(network(request.ip)),
      `the limit without a valid key is ${config.rateLimit} per minute. Wait, or send a key.`,
    )
  const charge = chargeTaps(app, deps, strangers)
  const spendOfGuesser = (request: FastifyRequest): DomainError | undefined => {
    const refusal = tooMany(
      guesses?.spend(network(request.ip)),
      `the limit for invalid keys and codes is ${config.guessLimit} per minute. Check the key, the token, or the code, and wait.`,
    )
    if (refusal && warnings.spend('') === undefined)
      log.warn(
        { client: network(request.ip) },
        'refused for now: this client keeps sending invalid keys or codes',
      )
    return refusal
  }
  const spendOfKey = (key: number): DomainError | undefined =>
    tooMany(
      keys?.spend(String(key)),
      `the limit per API key is ${config.keyRateLimit} per minute. Wait, then continue.`,
    )

  const queue = (key: number, request: FastifyRequest, reply: FastifyReply, done: (e?: Error) => void) => {
    const release = (isLong(request) ? long : short).acquire(String(key), (mayGo) => {
      if (mayGo) done()
      else done(tooMany(1, 'other requests with the same API key are still being answered. Try again soon.'))
    })
    if (reply.raw.closed) release()
    else reply.raw.once('close', release)
  }

  // Runs before a key is checked: a correct guess looks like the others during the delay. Clients that used a
  // valid key from the same address are not delayed.
  const checking = new Map<string, number>()
  const known = new Set<string>()
  app.addHook('onRequest', (request, _reply, done) => {
    const client = bringsKey(deps, request) ? network(request.ip) : undefined
    if (client === undefined || !guesses?.isSpent(client) || known.has(ownerOf(deps, request) ?? '')) {
      done()
      return
    }
    const waiting = checking.get(client) ?? 0
    if (waiting >= maxPendingGuesses) {
      done(tooMany(1, 'too many keys from your address were invalid. Wait a moment, then try again.'))
      return
    }
    checking.set(client, waiting + 1)
    setTimeout(() => {
      const remaining = (checking.get(client) ?? 1) - 1
      if (remaining === 0) checking.delete(client)
      else checking.set(client, remaining)
      done()
    }, guessMs)
  })

  // After every onRequest hook, so that browsers can read the refusal thanks to CORS; before the body is read.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const holder = request.caller !== null && 'holder' in request.caller ? request.caller.holder : undefined
    // Fastify creates new options on each access.
    const { config: route } = request.routeOptions
    const isAnonymous = request.is404 || route.isLimited === true
    const key =
      isAnonymous || holder?.kind === 'apiKeys' ? validCredential(deps, request, 'apiKeys')?.id : undefined
    if (key !== undefined || holder) remember(known, ownerOf(deps, request))
    if (key === undefined && route.takesTap) {
      const charged = charge(request, spendOfStranger)
      if (charged instanceof Promise) charged.then(done, done)
      else done(charged)
      return
    }
    const refusal = key !== undefined ? spendOfKey(key) : isAnonymous ? spendOfStranger(request) : undefined
    if (refusal || key === undefined) done(refusal)
    else queue(key, request, reply, done)
  })

  return (request, error) => {
    if (!(error instanceof DomainError)) return error
    const isKey = /^(api_key|admin_token)_/.test(error.code)
    // Open endpoints were already counted on arrival.
    const asStranger = isKey && !isOpen(request) ? spendOfStranger(request) : undefined
    const asGuesser = isGuess(deps, request, error) ? spendOfGuesser(request) : undefined
    return asGuesser ?? asStranger ?? error
  }
}

const bringsKey = ({ wire }: AuthDeps, { headers }: FastifyRequest): boolean =>
  headers[wire.apiKeyHeader] !== undefined || headers.authorization !== undefined

function ownerOf(deps: AuthDeps, request: FastifyRequest): string | undefined {
  const found = validCredential(deps, request, 'apiKeys') ?? validCredential(deps, request, 'adminTokens')
  return found && `${request.ip} ${credentialId(found)}`
}

function remember(known: Set<string>, owner: string | undefined): void {
  if (owner === undefined || known.has(owner)) return
  known.add(owner)
  for (const oldest of known) {
    if (known.size > maxKnown) known.delete(oldest)
    break
  }
}

const isOpen = ({ is404, routeOptions }: FastifyRequest): boolean =>
  is404 || routeOptions.config.isLimited === true

const tooMany = (retryAfterSeconds: number | undefined, why: string): DomainError | undefined =>
  retryAfterSeconds === undefined
    ? undefined
    : new DomainError('rate_limited', `Too many requests: ${why}`, { retryAfterSeconds })

/** An invalid key or token; without a valid key, also an unknown code or ref. */
function isGuess(deps: AuthDeps, request: FastifyRequest, { code }: DomainError): boolean {
  if (/^(api_key|admin_token)_(?!missing)/.test(code)) return true
  const isUnknown = code === 'not_found' && /^\/(refs|otps|t)\//.test(request.routeOptions.url ?? '')
  return (isUnknown || code === 'otp_unknown') && validCredential(deps, request, 'apiKeys') === undefined
}

function isLong({ headers, routeOptions }: FastifyRequest): boolean {
  if (routeOptions.config.isLong || headers['transfer-encoding'] !== undefined) return true
  return Number(headers['content-length'] ?? 0) > shortBody
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The request's query carries a tap. Valid taps do not count against the caller's address. */
    takesTap?: boolean
    /** Other proof that the request comes from a tap, such as a reloaded page. */
    provesTap?: (request: FastifyRequest) => Promise<boolean>
  }
  interface FastifyRequest {
    /** Set by the handler once it is known that a chip has just made the tap. */
    isProven: boolean
  }
}

export type TapRateDeps = Parameters<typeof tapState>[0] & {
  clock: Clock
  config: Pick<Config, 'rateLimit'>
}

/** Once an address has spent its limit of taps, this many times the limit are still verified. */
const verificationFactor = 10

/**
 * The limit of strangers for routes that take taps. A hall of people behind one address must not share it, so only
 * failures count: each request pays on arrival, and gets it back once its tap has proven real. An address that has spent
 * its limit on failures is answered only after its tap was verified, which is cheap and writes nothing. These
 * verifications have a limit of their own, which real taps do not use up either.
 * @param strangers undefined: there is no limit
 * @returns a function that returns the refusal, or nothing: a promise of it where the tap must be verified
 */
export function chargeTaps(app: FastifyInstance, deps: TapRateDeps, strangers: TokenBucket | undefined) {
  const { clock, config } = deps
  const verifications =
    config.rateLimit === undefined ? undefined : new TokenBucket(clock, config.rateLimit * verificationFactor)
  const paid = new WeakMap<FastifyRequest, TokenBucket>()

  app.decorateRequest('isProven', false)
  if (!strangers || !verifications) return () => undefined
  app.addHook('onResponse', (request, _reply, done) => {
    if (request.isProven) paid.get(request)?.refund(network(request.ip))
    done()
  })

  return (
    request: FastifyRequest,
    spend: (request: FastifyRequest) => DomainError | undefined,
  ): DomainError | undefined | Promise<DomainError | undefined> => {
    const refusal = spend(request)
    if (!refusal) {
      paid.set(request, strangers)
      return undefined
    }
    const wait = verifications.spend(network(request.ip))
    if (wait !== undefined) return new DomainError(refusal.code, refusal.message, { retryAfterSeconds: wait })
    paid.set(request, verifications)
    return isReal(deps, request).then((real) => (real ? undefined : refusal))
  }
}

async function isReal(deps: TapRateDeps, request: FastifyRequest): Promise<boolean> {
  const state = await tapState(deps, request.query as Record<string, unknown>)
  if (state === 'fresh' || state === 'caught-up') return true
  return (await request.routeOptions.config.provesTap?.(request)) ?? false
}
