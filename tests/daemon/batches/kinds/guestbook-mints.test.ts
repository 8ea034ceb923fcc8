import { getAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { guestbookMints as kind } from '../../../../src/daemon/domain/batches/kinds/guestbook-mints.ts'
import { openAdminApp } from '../../../support/admin.ts'
import { problemOf } from '../../../support/batch-kinds.ts'
import { batchesBy } from '../../../support/batches.ts'
import { type Guestbooks, guestbookSeed, handsOf } from '../../../support/guestbook.ts'
import { bob, carol } from '../../../support/phygitals.ts'
import { acmeKey, otherKey } from '../../../support/seeds.ts'

const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
let g: Guestbooks
let batches: ReturnType<typeof batchesBy>
let others: ReturnType<typeof batchesBy>
beforeAll(async () => {
  const t = await openAdminApp({ seed: guestbookSeed, chain: true })
  g = handsOf(t)
  batches = batchesBy(t, { 'x-svc-api-key': acmeKey }, '/batches')
  others = batchesBy(t, { 'x-svc-api-key': otherKey }, '/batches')
})
afterAll(() => g.close())

const rowsOf = async () => {
  const { address: contractAddress, id: contractId } = await g.contract('GB')
  return [
    { row: 1, eventId: 1, recipient: bob },
    { row: 2, tokenId: '2', contractId, recipient: 'bob.eth' },
    { row: 3, tokenId: '1', contractAddress, chainId: 31337, recipient: carol },
    { row: 4, eventId: 999, recipient: bob },
    { row: 5, eventId: 1, recipient: 'nobody.eth' },
  ]
}

test('a row names its event and its guest', () => {
  expect(problemOf(kind, { row: 1, recipient: bob })).toMatch(/^must name its event: eventId, or/)
  expect(problemOf(kind, { row: 1, tokenId: 'x', recipient: bob })).toMatch(/^tokenId must be/)
  expect(problemOf(kind, { row: 1, tokenId: '1', recipient: bob })).toMatch(/^contractAddress must be/)
  expect(problemOf(kind, { row: 1, eventId: 1 })).toBe('recipient is missing')
  expect(problemOf(kind, { row: 1, eventId: 1, recipient: bob, guest: 'x' })).toMatch(
    /^guest is not a known field/,
  )
})

test('is planned with its costs, and mints each row once', async () => {
  const id = await batches.uploaded('guestbook mint', await rowsOf())
  const contractAddress = (await g.contract('GB')).address
  const plan = await batches.plan(id)
  expect(plan).toMatchObject([
    { row: 1, status: 'minted', contractAddress, tokenId: '1', recipient: getAddress(bob) },
    { row: 2, status: 'minted', tokenId: '2', recipient: getAddress(bob) },
    { row: 3, status: 'minted', recipient: getAddress(carol) },
    { row: 4, status: 'failed', error: expect.stringContaining('No such guestbook event') },
    { row: 5, status: 'failed', error: expect.stringContaining('nobody.eth') },
    {
      totals: { minted: 3, failed: 2, mints: 3 },
      costs: { totals: [{ chainId: 31337, transactions: 1, gas: '208000', canPay: true }] },
    },
  ])
  const before = await g.transactions()
  expect(await batches.run(id)).toMatchObject({ state: 'done', changed: 3, failed: 2, done: 5 })
  expect(await batches.report(id)).toMatchObject([
    { row: 1, status: 'minted', txnHash: hash, recipient: getAddress(bob) },
    { row: 2, status: 'minted', txnHash: hash },
    { row: 3, status: 'minted', txnHash: hash },
    { row: 4, status: 'failed' },
    { row: 5, status: 'failed' },
  ])
  // Three mints, and what sends them together.
  expect((await g.transactions()).length).toBe(before.length + 4)
  expect(await g.balance('GB', 1, bob)).toBe(1)
  expect(await g.balance('GB', 1, carol)).toBe(1)
  expect(await g.balance('GB', 2, bob)).toBe(1)
  // Rows that failed are tried again, and only those.
  expect(await batches.run(id, 'resume', { retryFailed: true })).toMatchObject({ changed: 3, failed: 2 })
  expect((await g.transactions()).length).toBe(before.length + 4)
  const undo = await batches.call('POST', `/${id}/undo`, {})
  expect(undo).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('Mints cannot be undone') },
  })
})

test('rows that a client gave one number are rows of their own', async () => {
  const before = await g.transactions()
  const rows = [bob, carol].map((recipient) => ({ row: 1, eventId: 1, recipient }))
  const id = await batches.uploaded('guestbook mint', rows)
  expect(await batches.run(id)).toMatchObject({ state: 'done', changed: 2 })
  expect((await g.transactions()).length).toBe(before.length + 3)
})

test("mints no other team's events", async () => {
  const id = await others.uploaded('guestbook mint', [{ row: 1, eventId: 1, recipient: bob }])
  expect(await others.plan(id)).toMatchObject([{ row: 1, status: 'failed' }, {}])
  expect(await others.run(id)).toMatchObject({ failed: 1 })
})
