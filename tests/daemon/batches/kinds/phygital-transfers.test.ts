import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NameUnavailable } from '../../../../src/daemon/chain/names/resolver.ts'
import { phygitalTransfers as kind } from '../../../../src/daemon/domain/batches/kinds/phygital-transfers.ts'
import { DatabaseUnavailable, type Db } from '../../../../src/daemon/store/database/database.ts'
import { batchDeps, each, planned, readLines, runOf, sendAll } from '../../../support/kind-steps.ts'
import { bob, carol, chips, openPhygitals, type Phygitals } from '../../../support/phygitals.ts'
import { acmeKey, alice } from '../../../support/seeds.ts'

const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
const decimal = (hex: string) => String(BigInt(`0x${hex}`))
let p: Phygitals
beforeAll(async () => {
  p = await openPhygitals()
})
afterAll(() => p.close())

const run = (more: Parameters<typeof runOf>[1] = {}) => runOf('phygitals transfer', more)
const plan = (lines: object[], seen = new Map<string, number>()) =>
  kind.plan(batchDeps(p.ctx), run(), readLines(kind, lines), seen)
const transfer = (n: number, recipient: string) =>
  p.ask('/phygitals/transfer', { ...p.token('JKT', n), recipient }, { key: acmeKey })

describe('a row', () => {
  const problem = (line: object) => {
    const read = kind.readRow({ row: 1, ...line }, run())
    return 'problem' in read ? read.problem : undefined
  }

  test('names its token by itself or by its chip, and a recipient', () => {
    expect(readLines(kind, [{ ...p.token('JKT', '0007'), recipient: bob }])).toEqual([
      { row: 1, ...p.token('JKT', 7), recipient: bob },
    ])
    expect(readLines(kind, [{ uid: chips.jacket(1), recipient: 'bob.eth' }])).toEqual([
      { row: 1, uid: decimal(chips.jacket(1)), recipient: 'bob.eth' },
    ])
    const which = 'must name its token: either uid, or contractAddress, chainId and tokenId'
    expect(problem({ recipient: bob })).toBe(which)
    expect(problem({ uid: chips.jacket(1), tokenId: '1', recipient: bob })).toBe(which)
    expect(problem({ ...p.token('JKT', 1), contractAddress: '0x1', recipient: bob })).toMatch(
      /^contractAddress must/,
    )
    expect(problem({ uid: 'x', recipient: bob })).toMatch(/^uid must be a UID/)
    expect(problem({ uid: chips.jacket(1) })).toBe('recipient is missing')
  })

  test('reads as it was read', () => {
    const rows = readLines(kind, [
      { uid: chips.jacket(1), recipient: bob },
      { ...p.token('JKT', 1), recipient: bob },
    ])
    expect(readLines(kind, rows)).toEqual(rows)
  })
})

describe('a plan', () => {
  test('says who has each token, who gets it, and what all of it costs', async () => {
    const results = await plan([
      { ...p.token('JKT', 1), recipient: bob },
      { ...p.token('JKT', 21), recipient: 'bob.eth' },
      { uid: chips.jacket(2), recipient: 'alice.eth' },
      { uid: chips.unminted(1), recipient: carol },
      { ...p.token('JKT', 999), recipient: bob },
      { ...p.token('JKT', 3), recipient: '0xde709F2102306220921060314715629080e2fb77' },
    ])
    expect(results).toMatchObject([
      { row: 1, status: 'transferred', owner: alice, recipient: getAddress(bob) },
      { row: 2, status: 'minted', owner: null, recipient: getAddress(bob), name: 'bob.eth' },
      { row: 3, status: 'unchanged', uid: decimal(chips.jacket(2)), owner: alice, recipient: alice },
      { row: 4, status: 'minted', token: { tokenId: null } },
      // A report has no sheet that would tell what the row was about.
      { row: 5, ...p.token('JKT', 999), recipient: bob, error: expect.stringContaining('No such token') },
      { row: 6, status: 'failed', isInvalid: true, error: expect.stringContaining('checksum') },
    ])
    expect(results[4]).not.toHaveProperty('isInvalid')
    expect(kind.totals?.([], results)).toEqual({ transfers: 3 })
    // The two mints share one.
    expect(await kind.costs?.(batchDeps(p.ctx), run(), each([results]))).toMatchObject({
      totals: [{ chainId: 31337, transactions: 2, gas: expect.stringMatching(/^\d{6}$/), canPay: true }],
    })
  })

  test('finds rows that move the same token, by its chip or in another piece', async () => {
    const seen = new Map<string, number>()
    await plan([{ ...p.token('JKT', 1), recipient: bob }], seen)
    const again = await plan([{ row: 501, uid: chips.jacket(1), recipient: carol }], seen)
    expect(again).toMatchObject([
      { row: 501, status: 'failed', isInvalid: true, error: 'moves the same token as row 1' },
    ])
  })
})

describe('sending', () => {
  test('sends what was planned, once under its key', async () => {
    const rows = readLines(kind, [
      { ...p.token('JKT', 3), recipient: 'bob.eth' },
      { uid: chips.jacket(4), recipient: bob },
      { uid: chips.unminted(1), recipient: carol },
      { ...p.token('JKT', 5), recipient: alice },
      { ...p.token('JKT', 999), recipient: bob },
    ])
    const deps = batchDeps(p.ctx)
    const seen = await kind.plan(deps, run(), rows, new Map())
    const before = (await p.transactions()).length
    const results = await sendAll(kind, deps, run(), planned(rows, seen))
    expect(results).toMatchObject([
      {
        row: 1,
        ...p.token('JKT', 3),
        status: 'transferred',
        initialTxHash: hash,
        owner: alice,
        recipient: getAddress(bob),
      },
      { row: 2, uid: decimal(chips.jacket(4)), status: 'transferred', initialTxHash: hash },
      { row: 3, status: 'transferred', initialTxHash: hash },
      { row: 4, status: 'unchanged' },
      { row: 5, status: 'failed' },
    ])
    // As after a kill between the transactions and the results.
    expect(await sendAll(kind, deps, run(), planned(rows, seen))).toEqual(results)
    expect((await p.transactions()).length).toBe(before + 3)
    expect(await p.owner('JKT', 3)).toBe(getAddress(bob))
    expect(await sendAll(kind, deps, run(), planned(rows, seen))).toEqual(results)
  })

  test('leaves alone what has another owner than the plan showed', async () => {
    const rows = readLines(kind, [
      { ...p.token('JKT', 6), recipient: bob },
      { ...p.token('JKT', 7), recipient: alice },
      { uid: chips.unminted(2), recipient: bob },
      { ...p.token('JKT', 8), recipient: bob },
    ])
    const deps = batchDeps(p.ctx)
    const seen = await kind.plan(deps, run(), rows, new Map())
    expect(seen.map(({ status }) => status)).toEqual(['transferred', 'unchanged', 'minted', 'transferred'])
    await transfer(6, carol)
    await transfer(7, carol)
    const self = { tagUID: chips.unminted(2), recipient: carol }
    await p.ask('/phygitals/transfer/self-service', self, { key: acmeKey })
    const before = (await p.transactions()).length
    const results = await sendAll(kind, deps, run({ id: 'b_2' }), planned(rows, seen))
    expect(results.map((result) => 'status' in result && result.status)).toEqual([
      ...['conflict', 'conflict', 'conflict', 'transferred'],
    ])
    expect((await p.transactions()).length).toBe(before + 1)
    // A retry has no plan: it moves what is yet to be moved.
    const retried = await sendAll(kind, deps, run({ id: 'b_2', pass: 2 }), planned(rows.slice(0, 3)))
    expect(retried).toMatchObject([
      { status: 'transferred' },
      { status: 'transferred' },
      { status: 'transferred' },
    ])
    const third = await sendAll(kind, deps, run({ id: 'b_2', pass: 3 }), planned(rows.slice(0, 3)))
    expect(third.map((result) => 'status' in result && result.status)).toEqual(Array(3).fill('unchanged'))
  })
})

test('a row is sent again where a name cannot be looked up right now', async () => {
  const rows = readLines(kind, [{ ...p.token('JKT', 9), recipient: 'bob.eth' }])
  const deps = batchDeps(p.ctx)
  const resolve = () => Promise.reject(new NameUnavailable('bob.eth cannot be looked up'))
  const [result] = await sendAll(
    kind,
    { ...deps, names: { ...deps.names, resolve } },
    run({ id: 'b_3' }),
    planned(rows),
  )
  expect(result).toEqual({ row: 1, retryReason: 'recipient: bob.eth cannot be looked up.' })
  const [later] = await sendAll(kind, deps, run({ id: 'b_3' }), planned(rows))
  expect(later).toMatchObject({ row: 1, status: 'transferred' })
})

test('a row whose write was refused waits, and one whose write nobody answered is found by its key: one transfer', async () => {
  const rows = readLines(kind, [{ ...p.token('JKT', 10), recipient: bob }])
  const deps = batchDeps(p.ctx)
  const before = (await p.transactions()).length
  const { db } = deps
  const failing = (error: DatabaseUnavailable, isDone: boolean): Db => ({
    ...{ read: db.read, slow: db.slow, maintenance: db.maintenance },
    takeTap: (tap) => db.takeTap(tap),
    close: () => db.close(),
    write: async (job) => {
      if (isDone) await db.write(job)
      throw error
    },
  })
  const refused = failing(new DatabaseUnavailable(new Error('gone')), false)
  const lost = failing(new DatabaseUnavailable(new Error('lost'), { isOutcomeUnknown: true }), true)
  const send = (by: Db) => sendAll(kind, { ...deps, db: by }, run({ id: 'b_4' }), planned(rows))
  expect(await send(refused)).toEqual([{ row: 1, retryReason: expect.any(String) }])
  expect((await p.transactions()).length).toBe(before)
  const sent = await send(lost)
  expect(sent).toMatchObject([{ row: 1, status: 'transferred', initialTxHash: hash }])
  expect(await send(db)).toMatchObject([{ row: 1, initialTxHash: Object(sent[0]).initialTxHash }])
  expect((await p.transactions()).length).toBe(before + 1)
})
