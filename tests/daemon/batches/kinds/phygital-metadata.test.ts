import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  phygitalMetadata as kind,
  type MetadataLine,
  type MetadataResult,
} from '../../../../src/daemon/domain/batches/kinds/phygital-metadata.ts'
import { parseExact } from '../../../../src/values/json.ts'
import { emptyMetadata } from '../../../../src/values/token.ts'
import { batchDeps, each, planned, readLines, runOf } from '../../../support/kind-steps.ts'
import { chips, openPhygitals, type Phygitals } from '../../../support/phygitals.ts'

let p: Phygitals
beforeAll(async () => {
  p = await openPhygitals()
})
afterAll(() => p.close())

const metadata = (name: string, more: object = {}) => ({ ...emptyMetadata, name, ...more })
const run = () => runOf('phygitals metadata')
const read = (lines: object[]) => readLines(kind, lines)
const plan = (rows: MetadataLine[], seen = new Map<string, number>()) =>
  kind.plan(batchDeps(p.ctx), run(), rows, seen)
const write = (rows: MetadataLine[], seen?: MetadataResult[]) =>
  p.ctx.db.write((trx) => kind.write(trx, batchDeps(p.ctx), run(), planned(rows, seen)))
const served = async (symbol: string, n: number) =>
  (await p.ask(`/metadata/31337/${p.addressOf(symbol)}/${n}`)).body
const undoRows = (rows: MetadataLine[], results: MetadataResult[]) =>
  read(
    rows.flatMap((row, at) => {
      const result = results[at]
      return 'row' in kind.undo && result ? (kind.undo.row(row, result) ?? []) : []
    }),
  )

test('a row is read as it was read, with numbers that no double holds', () => {
  const exact = parseExact(
    `{"metadata":${JSON.stringify(metadata('One', { edition: 0 })).replace(':0', ':18446744073709551615')}}`,
  )
  const rows = read([
    { ...p.token('JKT', 1), ...Object(exact) },
    { uid: chips.jacket(2), metadata: null, expected: metadata('x') },
  ])
  expect(readLines(kind, rows)).toEqual(rows)
  const problem = (line: object) => {
    const read = kind.readRow({ row: 1, ...p.token('JKT', 1), ...line }, run())
    return 'problem' in read ? read.problem : undefined
  }
  expect(problem({})).toBe('metadata must be an object')
  expect(problem({ metadata: null })).toBe('metadata must be an object; null only together with `expected`')
  expect(problem({ metadata: { name: 'x' } })).toBe('metadata.collection: Required')
  const coloured = metadata('x', { background_color: '#ff8800' })
  expect(problem({ metadata: coloured })).toMatch(/^metadata\.background_color: must be six/)
  expect(problem({ metadata: coloured, expected: null })).toBeUndefined()
})

test('a plan says what was there, finds rows that meet, and what the announcements cost', async () => {
  const seen = new Map<string, number>()
  const results = await plan(
    read([
      { ...p.token('JKT', 3), metadata: metadata('Three') },
      { uid: chips.jacket(4), metadata: metadata('Four') },
      { uid: chips.unminted(9), metadata: metadata('x') },
      { ...p.token('JKT', 999), metadata: metadata('x') },
    ]),
    seen,
  )
  expect(results).toMatchObject([
    {
      ...{ row: 1, status: 'changed', token: p.token('JKT', 3), previous: { name: 'Jacket #3' } },
      metadata: { name: 'Three' },
    },
    { row: 2, status: 'changed', uid: String(BigInt(`0x${chips.jacket(4)}`)), token: p.token('JKT', 4) },
    { row: 3, status: 'failed', error: expect.stringContaining('no token yet') },
    { row: 4, ...p.token('JKT', 999), status: 'failed', error: expect.stringContaining('No such token') },
  ])
  expect(await plan(read([{ row: 501, ...p.token('JKT', 4), metadata: metadata('5') }]), seen)).toMatchObject(
    [{ row: 501, status: 'failed', isInvalid: true, error: 'is about the same token as row 2' }],
  )
  expect(await kind.costs?.(batchDeps(p.ctx), run(), each([results]))).toMatchObject({
    totals: [{ chainId: 31337, transactions: 1, gas: '26700', canPay: true }],
  })
})

describe('writing', () => {
  test('announces rows of one contract together', async () => {
    const rows = read([5, 6, 7].map((n) => ({ ...p.token('JKT', n), metadata: metadata(`${n}`) })))
    const before = (await p.transactions()).length
    const results = await write(rows, await plan(rows))
    expect(results.map(({ status }) => status)).toEqual(Array(3).fill('changed'))
    // The row has it, and a plan; it is not kept a third time.
    expect(results[0]).not.toHaveProperty('metadata')
    expect(await served('JKT', 6)).toEqual(metadata('6'))
    expect((await p.transactions()).slice(before).map(({ kind }) => kind)).toEqual(['phygital-refresh'])
    expect((await write(rows)).map(({ status }) => status)).toEqual(Array(3).fill('unchanged'))
  })

  test('leaves alone what changed since the plan', async () => {
    const now = await served('JKT', 9)
    const rows = read([
      { ...p.token('JKT', 8), metadata: metadata('Eight') },
      { ...p.token('JKT', 9), metadata: now },
      { ...p.token('JKT', 10), metadata: metadata('Ten') },
      { ...p.token('JKT', 999), metadata: metadata('x') },
    ])
    const seen = await plan(rows)
    expect(seen.map(({ status }) => status)).toEqual(['changed', 'unchanged', 'changed', 'failed'])
    await write(read([8, 9].map((n) => ({ ...p.token('JKT', n), metadata: metadata('Else') }))))
    expect(await write(rows, seen)).toMatchObject([
      { row: 1, status: 'conflict', error: expect.stringContaining('in the meantime') },
      { row: 2, status: 'conflict' },
      { row: 3, status: 'changed' },
      { row: 4, status: 'failed' },
    ])
    expect((await served('JKT', 8)).name).toBe('Else')
    // A retry has no plan.
    expect((await write(rows.slice(0, 2))).map(({ status }) => status)).toEqual(['changed', 'changed'])
  })

  test('is taken back where nobody changed it since, also where there was none', async () => {
    const before = await served('JKT', 11)
    const rows = read([
      { uid: chips.jacket(11), metadata: metadata('Eleven') },
      { ...p.token('ART', 1), metadata: metadata('Art') },
      { ...p.token('JKT', 12), metadata: metadata('Twelve') },
      { ...p.token('JKT', 13), metadata: await served('JKT', 13) },
    ])
    const results = await write(rows, await plan(rows))
    expect(results.map(({ status }) => status)).toEqual(['changed', 'changed', 'changed', 'unchanged'])
    await write(read([{ ...p.token('JKT', 12), metadata: metadata('Else') }]))
    const undo = undoRows(rows, results)
    expect(undo.map(({ row }) => row)).toEqual([1, 2, 3])
    const seen = await plan(undo)
    expect(seen.map(({ status }) => status)).toEqual(['changed', 'changed', 'conflict'])
    expect((await write(undo, seen)).map(({ status }) => status)).toEqual(['changed', 'changed', 'conflict'])
    expect(await served('JKT', 11)).toEqual(before)
    expect(await served('ART', 1)).toEqual(emptyMetadata)
    expect((await served('JKT', 12)).name).toBe('Else')
  })
})
