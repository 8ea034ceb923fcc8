import { createHash } from 'node:crypto'
import { findIdempotencyKey, keepAnswer } from '../../store/chain/idempotency-keys.ts'
import type { Db } from '../../store/database/database.ts'
import type { IdempotencyKeyRow } from '../../store/schema/schema.ts'
import { IdempotencyConflict } from './errors.ts'
import type { Json, KeyedRequest } from './record-intent.ts'

interface Repeatable<T extends Json> {
  /** undefined if the request has no Idempotency-Key. */
  claim: KeyedRequest | undefined
  /**
   * Passes `claim` to `recordIntent`, so that key and intent are recorded together, and calls `recorded` before
   * whatever may fail after that.
   */
  run(recorded: () => void): Promise<T>
  /** Answers for a request that recorded its intent but was interrupted before its answer. */
  resume(transactionId: number | null): Promise<T>
  /** Parses a stored answer; a zod schema fits. */
  answer: { parse(kept: unknown): T }
}

/**
 * Runs repeatable requests: with the same key, a repeat gets the first answer, a concurrent one waits for it,
 * and a different request is refused. Only requests that recorded an intent are remembered, so one that failed
 * earlier may be retried with its key.
 */
export class Idempotency {
  readonly #db: Db
  readonly #lived: () => number
  /** Running requests of this process, by scope and key. Others meet in the store. */
  readonly #running = new Map<string, { requestHash: string; answer: Promise<unknown> }>()

  /**
   * @param lived milliseconds that never go back and never run faster than real time, so that a wrong clock
   * cannot expire a key and let a repeat be sent as another transaction
   */
  constructor({ db, lived: uptime }: { db: Db; lived: () => number }) {
    this.#db = db
    this.#lived = uptime
  }

  claim(of: { scope: string; key: string; request: unknown; lifetimeMs: number }): KeyedRequest {
    const { request, ...rest } = of
    const requestHash = createHash('sha256').update(JSON.stringify(request)).digest('hex')
    return { ...rest, requestHash, madeAt: this.#lived() }
  }

  /** An earlier request with this key was recorded. */
  async isKnown(claim: KeyedRequest): Promise<boolean> {
    return (await this.#find(claim)) !== undefined
  }

  /** @throws IdempotencyConflict, and whatever `run` or `resume` throws */
  async run<T extends Json>(request: Repeatable<T>): Promise<T> {
    const { claim } = request
    if (!claim) return request.run(() => undefined)
    const name = JSON.stringify([claim.scope, claim.key])
    for (;;) {
      const running = this.#running.get(name)
      if (!running) break
      if (running.requestHash !== claim.requestHash) throw new IdempotencyConflict()
      // The first request stored its answer, or failed without a trace: the next round shows which.
      await running.answer.catch(() => undefined)
    }
    const answer = this.#answer(request, claim)
    this.#running.set(name, { requestHash: claim.requestHash, answer })
    try {
      return await answer
    } finally {
      this.#running.delete(name)
    }
  }

  async #answer<T extends Json>(request: Repeatable<T>, claim: KeyedRequest): Promise<T> {
    const kept = await this.#find(claim)
    if (kept) return this.#repeat(request, claim, kept)
    let isRecorded = false
    const recorded = () => {
      isRecorded = true
    }
    try {
      return await this.#keep(claim, await request.run(recorded))
    } catch (error) {
      if (isRecorded) throw error
      // Another process may have taken the key in the meantime, and consumed the same authorization. If that
      // cannot be found out either, the first failure is more useful.
      const other = await this.#find(claim).catch(() => undefined)
      if (!other) throw error
      return this.#repeat(request, claim, other)
    }
  }

  async #repeat<T extends Json>(
    request: Repeatable<T>,
    claim: KeyedRequest,
    kept: IdempotencyKeyRow,
  ): Promise<T> {
    if (kept.requestHash !== claim.requestHash) throw new IdempotencyConflict()
    if (kept.answer !== null) return request.answer.parse(JSON.parse(kept.answer))
    return this.#keep(claim, await request.resume(kept.transactionId))
  }

  async #keep<T extends Json>({ scope, key }: KeyedRequest, answer: T): Promise<T> {
    await this.#db.write((trx) => keepAnswer(trx, { scope, key, answer: JSON.stringify(answer) }))
    return answer
  }

  #find({ scope, key }: KeyedRequest): Promise<IdempotencyKeyRow | undefined> {
    const now = new Date(this.#lived()).toISOString()
    return findIdempotencyKey(this.#db.read, { scope, key, now })
  }
}
