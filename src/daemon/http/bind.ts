import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { batchHeader } from '../../values/batch.ts'
import { dryRunPrefix } from '../../values/repeating.ts'
import type { Answer, Auth, EndpointSpec, Input } from '../contract/endpoint.ts'
import { type EndpointKey, type Endpoints, endpoints } from '../contract/index.ts'
import { batchOfRequest } from '../domain/audit/audit.ts'
import type { Idempotency, Json } from '../domain/chain/transactions.ts'
import { dryRun } from '../domain/dry-run/dry-run.ts'
import { DomainError } from '../domain/errors/errors.ts'
import { type AuthDeps, authenticate, type Caller, teamOf } from './auth.ts'
import { openToPages } from './cors.ts'
import { inputParser } from './parse-input.ts'
import { answerOnce, type Recording } from './repeatable.ts'

const dryRuns = new WeakSet<IncomingMessage>()

/** `/dry-run/…` runs the rest of the path without changing anything. A daemon without this feature answers 404. */
export function takeDryRunPrefix(request: IncomingMessage): string {
  const { url = '/' } = request
  if (!url.startsWith(`${dryRunPrefix}/`)) return url
  dryRuns.add(request)
  return url.slice(dryRunPrefix.length)
}

const isDryRun = ({ raw }: FastifyRequest): boolean => dryRuns.has(raw)

/**
 * Must come after the rate limits, so that refusals count. Pages and their forms are excluded, because they would
 * really act.
 */
export function refuseOtherDryRuns(app: FastifyInstance): void {
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (isDryRun(request) && !request.is404 && request.routeOptions.config.hasDryRun !== true)
      reply.callNotFound()
    else done()
  })
}

/** @throws what the endpoint would throw */
async function answerDryRun(
  { dryRun: depth, answerType }: EndpointSpec,
  { method }: FastifyRequest,
  reply: FastifyReply,
  serve: () => Promise<unknown>,
): Promise<FastifyReply> {
  if (method === 'GET' || method === 'HEAD')
    throw new DomainError('invalid_input', `A GET has no dry run: leave out ${dryRunPrefix}.`)
  // Streamed answers write between their lines, so they cannot be rolled back.
  const checked = depth ?? (answerType === undefined ? 'all' : 'input')
  if (checked === 'all') await dryRun(serve)
  return reply.send({ dryRun: true, checked })
}

type BindDeps = AuthDeps & { idempotency: Idempotency } & Parameters<typeof batchOfRequest>[0]

export type Call<S extends EndpointSpec> = Input<S> &
  Caller<S['auth']> & {
    request: FastifyRequest<{
      Body: S extends { stream: object } ? AsyncIterable<Uint8Array> | undefined : unknown
    }>
    reply: FastifyReply
  } & (S extends { isRepeatable: true }
    ? { once(recording: Recording<Answer<S> & Json>): Promise<Answer<S>> }
    : unknown)

type Handler<S extends EndpointSpec> = (call: Call<S>) => Promise<Answer<S> | FastifyReply>

type Handlers<K extends EndpointKey> = { [Key in K]: Handler<Endpoints[Key]> }

declare module 'fastify' {
  interface FastifyContextConfig {
    isLimited?: boolean
    /** Shown on tap pages, so that a hall of people behind one address requests it at once: see `pictureFactor`. */
    isPicture?: boolean
    hasDryRun?: boolean
    /** Has a streamed body or answer: only a few are served at once per API key. */
    isLong?: boolean
  }
  interface FastifyRequest {
    /** Set once the endpoint's authentication has passed. */
    caller: Caller<Auth> | null
    /** For streams: throws once the caller's credential has ended. */
    reauthenticate: (() => void) | null
  }
}

/** Route configuration: strangers can call it, so it counts toward the rate limit. */
export const limited = { isLimited: true }

/**
 * Serves an endpoint of the table: authentication, validation, handler, and translation of the configurable
 * words.
 */
export function bind<K extends EndpointKey>(
  app: FastifyInstance,
  deps: BindDeps,
  key: K,
  handler: Handler<Endpoints[K]>,
): void {
  const spec: EndpointSpec = endpoints[key]
  const { method, path } = splitKey(key)
  const url = path
    .split('/')
    .map((part) => (part.startsWith(':') ? part : deps.wire.word(part)))
    .join('/')
  const isForPages = spec.part === 'interface' || spec.part === 'public'
  const parse = inputParser(spec)
  const serve = (request: FastifyRequest, reply: FastifyReply, input: Input<EndpointSpec>) => {
    const { params, query, body } = input
    const { caller } = request
    // Copying a caller's members adds 15 % to a used ref or a replayed tap, and without a key most have only
    // this one.
    const call =
      spec.auth === 'none'
        ? { keyTeam: caller?.keyTeam, params, query, body, request, reply }
        : { ...caller, params, query, body, request, reply }
    const once = (recording: Recording<Json>) => answerOnce(deps, { spec, request, key, input }, recording)
    // `endpoints[key]` gave both the schemas and the handler's type, but TypeScript cannot follow this
    // through the union.
    const answer = handler((spec.isRepeatable ? { ...call, once } : call) as unknown as Call<Endpoints[K]>)
    return deps.wire.isNeutral ? answer : answer.then((one) => deps.wire.answer(one))
  }
  app.route({
    method,
    url,
    ...(spec.bodyLimit === undefined ? {} : { bodyLimit: spec.bodyLimit }),
    config: {
      hasDryRun: true,
      ...(isForPages ? openToPages : {}),
      ...(spec.auth === 'none' || spec.auth === 'code' ? limited : {}),
      ...(spec.takesTap ? { takesTap: true } : {}),
      ...(spec.isLong || spec.stream ? { isLong: true } : {}),
    },
    // Before the body, so that unauthorized callers are refused without a byte of it being read.
    onRequest: (request, _reply, done) => {
      try {
        request.caller = authenticate(deps, spec, request)
        if (spec.answerType) request.reauthenticate = () => void authenticate(deps, spec, request)
        done()
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)))
      }
    },
    handler: async (request, reply) => {
      if (spec.noStore) reply.header('cache-control', 'no-store')
      const { params, query, body } = request
      const input = await parse({ method, params, query, body })
      if (request.headers[batchHeader] !== undefined) await checkBatch(deps, request)
      if (isDryRun(request)) return answerDryRun(spec, request, reply, () => serve(request, reply, input))
      return serve(request, reply, input)
    },
  })
}

async function checkBatch({ db }: BindDeps, { caller }: FastifyRequest): Promise<void> {
  if (!caller || !('actor' in caller) || caller.actor.batch === undefined) return
  const batch = await batchOfRequest({ db }, teamOf(caller), caller.actor.batch)
  caller.actor = { ...caller.actor, batch }
}

export function bindAll<K extends EndpointKey>(
  app: FastifyInstance,
  deps: BindDeps,
  handlers: Handlers<K>,
): void {
  for (const key of Object.keys(handlers) as K[]) bind(app, deps, key, handlers[key])
}

export function splitKey(key: string): { method: HTTPMethods; path: string } {
  const space = key.indexOf(' ')
  return { method: key.slice(0, space) as HTTPMethods, path: key.slice(space + 1) }
}
