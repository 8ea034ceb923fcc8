import type { FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { EndpointSpec } from '../contract/endpoint.ts'
import {
  type Idempotency,
  IdempotencyConflict,
  type Json,
  type KeepAnswer,
  type KeyedRequest,
  keepAnswer,
} from '../domain/chain/transactions.ts'
import { hashCode } from '../domain/codes/otps.ts'
import { endDryRun } from '../domain/dry-run/dry-run.ts'
import { DomainError, effectsOf, type Progress } from '../domain/errors/errors.ts'

const lifetimeMs = 24 * 3_600_000

export type Scope = { teamId: number } | { code: string }

/** How a request works: it records an intent whose outcome is the answer, or does everything in one write. */
export type Recording<T extends Json> = { scope: Scope } & (Recorded<T> | Completed<T>)

interface Recorded<T extends Json> {
  /**
   * Records the intent together with the key. Calls `recorded` in between if it may fail after that.
   * @returns the transaction, or null if it is not one of ours
   */
  record(claim: KeyedRequest | undefined, recorded: () => void): Promise<number | null>
  answer(transactionId: number | null): Promise<T>
}

interface Completed<T extends Json> {
  /** Calls `keep` in its write. */
  complete(keep: KeepAnswer<T>): Promise<T>
}

/**
 * Answers a repeatable request: repeated with the same Idempotency-Key, it takes effect once and gets the same
 * answer.
 * @throws DomainError idempotency_conflict, invalid_input, and what recording throws
 */
export async function answerOnce<T extends Json>(
  { idempotency }: { idempotency: Idempotency },
  { spec, request, key, input }: { spec: EndpointSpec; request: FastifyRequest; key: string; input: unknown },
  { scope, ...does }: Recording<T>,
): Promise<T> {
  const claim = claimOf(idempotency, request, scope, [key, input])
  if (claim) keyed.add(request)
  const { caller } = request
  const written = () => {
    if (caller && 'actor' in caller) effectsOf(caller.actor).isWritten = true
  }
  try {
    return await idempotency.run<T>({
      claim,
      ...stepsOf(does, claim, written),
      // The stored answer came from this endpoint, so it has its shape.
      answer: { parse: (kept) => (spec.response() as z.ZodType<T>).parse(kept) },
    })
  } catch (error) {
    if (error instanceof IdempotencyConflict) throw new DomainError('idempotency_conflict', error.message)
    throw error
  }
}

const keyed = new WeakSet<FastifyRequest>()

/** Used in error messages. */
export function progressOf(request: FastifyRequest): Progress {
  const { caller } = request
  const isOneUse = caller === null || !('actor' in caller) || 'code' in caller
  const effects = caller && 'actor' in caller ? effectsOf(caller.actor) : {}
  return { ...effects, isKeyed: keyed.has(request), isOneUse }
}

function stepsOf<T extends Json>(
  does: Recorded<T> | Completed<T>,
  claim: KeyedRequest | undefined,
  written: () => void,
) {
  if ('record' in does) {
    const answer = (id: number | null) => {
      // The work that it waits for is shared with other requests, and continues after the dry run.
      endDryRun()
      return does.answer(id)
    }
    const run = async (recorded: () => void) => {
      const both = () => {
        written()
        recorded()
      }
      const id = await does.record(claim, both)
      both()
      return answer(id)
    }
    const resume = (id: number | null) => {
      written()
      return answer(id)
    }
    return { run, resume }
  }
  // A key without an answer is impossible: one write stores both.
  return { run: () => does.complete(keepAnswer(claim)), resume: () => does.complete(keepAnswer(claim)) }
}

function claimOf(
  idempotency: Idempotency,
  { headers }: FastifyRequest,
  scope: Scope,
  request: unknown,
): KeyedRequest | undefined {
  const key = headers['idempotency-key']
  if (key === undefined || key === '') return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new DomainError('invalid_input', 'Idempotency-Key must be 1 to 255 visible ASCII characters.')
  return idempotency.claim({
    scope: 'teamId' in scope ? `team:${scope.teamId}` : `code:${hashCode(scope.code)}`,
    key,
    request,
    lifetimeMs,
  })
}
