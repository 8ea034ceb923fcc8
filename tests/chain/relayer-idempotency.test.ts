import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { IdempotencyConflict } from '../../src/daemon/chain/relayer/errors.ts'
import { Idempotency } from '../../src/daemon/chain/relayer/idempotency.ts'
import type { KeyedRequest } from '../../src/daemon/chain/relayer/record-intent.ts'
import { pruneIdempotencyKeys } from '../../src/daemon/store/chain/idempotency-keys.ts'
import { listTransactions } from '../../src/daemon/store/chain/listing.ts'
import { type Bench, openBench } from '../support/relayer.ts'

let bench: Bench
let idempotency: Idempotency
beforeEach(async () => {
  bench = await openBench()
  idempotency = new Idempotency({ db: bench.db, lived: bench.clock.now })
})
afterEach(() => bench.close())

const answer = z.object({ initialTxHash: z.string() })
const claim = (more: Partial<KeyedRequest> = {}): KeyedRequest => ({
  scope: 'team:1',
  key: 'k1',
  requestHash: 'a',
  madeAt: bench.clock.now(),
  lifetimeMs: 86_400_000,
  ...more,
})

/** A request as a route makes it. */
const request = (of: KeyedRequest | undefined, before = async () => {}) =>
  idempotency.run({
    claim: of,
    answer,
    run: async () => {
      await before()
      const id = await bench.intend(1, { idempotency: of })
      const hash = bench.relayer.broadcasted(id)
      await bench.relayer.tick()
      return { initialTxHash: await hash }
    },
    resume: async (id) => ({ initialTxHash: await bench.relayer.broadcasted(id ?? 0) }),
  })
const recorded = async () => (await listTransactions(bench.db.read, { limit: 50 })).length

describe('an Idempotency-Key', () => {
  test('gives ten concurrent requests one intent and one answer', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => request(claim())))
    expect(new Set(answers.map(({ initialTxHash }) => initialTxHash)).size).toBe(1)
    expect(await recorded()).toBe(1)
    await bench.finish()
    expect(await bench.tallied(1)).toBe(1)
  })

  test('gives a repeat the first answer, also after a restart', async () => {
    const first = await request(claim())
    await bench.restart()
    idempotency = new Idempotency({ db: bench.db, lived: bench.clock.now })
    expect(await request(claim())).toEqual(first)
    expect(await recorded()).toBe(1)
  })

  test('with another request is refused, while the first runs and afterwards', async () => {
    const first = request(claim())
    await expect(request(claim({ requestHash: 'b' }))).rejects.toThrow(IdempotencyConflict)
    await first
    await expect(request(claim({ requestHash: 'b' }))).rejects.toThrow(IdempotencyConflict)
  })

  test('counts in its own scope', async () => {
    await request(claim())
    await request(claim({ scope: 'team:2', requestHash: 'b' }))
    expect(await recorded()).toBe(2)
  })

  test('of a request that failed before it recorded anything is free again', async () => {
    const fails = request(claim(), () => Promise.reject(new Error('invalid recipient')))
    await expect(fails).rejects.toThrow('invalid recipient')
    await expect(request(claim({ requestHash: 'corrected' }))).resolves.toHaveProperty('initialTxHash')
  })

  test('of a request that was killed after recording leads to its intent, not to a second one', async () => {
    const id = await bench.intend(1, { idempotency: claim() })
    await bench.restart()
    idempotency = new Idempotency({ db: bench.db, lived: bench.clock.now })
    const again = request(claim())
    await bench.relayer.tick()
    expect(await again).toEqual({ initialTxHash: (await bench.show(id)).firstHash })
    expect(await recorded()).toBe(1)
  })

  test('that another process took in between leaves no second intent', async () => {
    let other = 0
    const late = request(claim(), async () => {
      other = await bench.intend(1, { idempotency: claim() })
    })
    await new Promise((resolve) => setImmediate(resolve))
    await bench.relayer.tick()
    await bench.relayer.tick()
    expect(await late).toEqual({ initialTxHash: (await bench.show(other)).firstHash })
    expect(await recorded()).toBe(1)
  })

  test('is forgotten after a day', async () => {
    await request(claim())
    bench.clock.advance('25h')
    await request(claim({ requestHash: 'b' }))
    expect(await recorded()).toBe(2)
    bench.clock.advance('25h')
    const now = new Date(bench.clock.now()).toISOString()
    expect(await bench.db.write((trx) => pruneIdempotencyKeys(trx, now, 10))).toBe(1)
  })
})
