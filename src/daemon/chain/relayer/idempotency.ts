import { createHash } from 'node:crypto'
import type { Db } from '../../store/database.ts'
import type { IdempotencyKeyRow } from '../../store/schema.ts'
import { findIdempotencyKey, keepAnswer } from '../../store/transactions.ts'
import { IdempotencyConflict, IdempotencyKeyTaken } from './errors.ts'
import type { Json, KeyedRequest } from './record-intent.ts'

/** What a request that may be repeated does. */
export interface Repeatable<T extends Json> {
  /** Of the request; undefined where it has no Idempotency-Key. */
  claim: KeyedRequest | undefined
  /** The request itself. It hands `claim` to `recordIntent`, so that key and intent are recorded together. */
  run(): Promise<T>
  /** The answer of a request that recorded its intent and was cut off before it answered. */
  resume(transactionId: number | null): Promise<T>
  /** Reads a kept answer; a zod schema fits. */
  answer: { parse(kept: unknown): T }
}

/**
 * Runs requests that may be repeated: with the same key a repeat gets the first answer, a concurrent one waits for
 * it, and another request is refused. Only what recorded an intent is remembered, so a request that failed before may
 * be tried again with its key.
 */
export class Idempotency {
  readonly #db: Db
  readonly #lived: () => number
  /** Requests that run in this process, by scope and key. One process has the data directory. */
  readonly #running = new Map<string, { requestHash: string; answer: Promise<unknown> }>()

  /**
   * @param lived milliseconds, never back, and never faster than time really passes: keys live by it, so that no clock
   * that is wrong ends one and has a repeat sent as another transaction
   */
  constructor({ db, lived }: { db: Db; lived: () => number }) {
    this.#db = db
    this.#lived = lived
  }

  /** @param request all that makes the request what it is */
  claim(of: { scope: string; key: string; request: unknown; lifetimeMs: number }): KeyedRequest {
    const { request, ...rest } = of
    const requestHash = createHash('sha256').update(JSON.stringify(request)).digest('hex')
    return { ...rest, requestHash, madeAt: this.#lived() }
  }

  /** @throws IdempotencyConflict, and whatever `run` or `resume` throw */
  async once<T extends Json>(request: Repeatable<T>): Promise<T> {
    const { claim } = request
    if (!claim) return request.run()
    const name = JSON.stringify([claim.scope, claim.key])
    for (;;) {
      const running = this.#running.get(name)
      if (!running) break
      if (running.requestHash !== claim.requestHash) throw new IdempotencyConflict()
      // The first one's answer is kept, or it failed and left nothing: either way the next round tells.
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
    try {
      return await this.#keep(claim, await request.run())
    } catch (error) {
      if (!(error instanceof IdempotencyKeyTaken)) throw error
      // Another process took it in the meantime. Its row is there, or has expired this very moment.
      const other = await this.#find(claim)
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
