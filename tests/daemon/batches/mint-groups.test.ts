import { type Address, concat, encodeAbiParameters, getAddress, parseAbiParameters, toHex } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { earlierPhygitals } from '../../../src/daemon/chain/artifacts/phygital.ts'
import { groupSize } from '../../../src/daemon/domain/phygitals/group-size.ts'
import { openAdminApp } from '../../support/admin.ts'
import { batchesBy } from '../../support/batches.ts'
import { allSettled } from '../../support/daemon.ts'
import { clientOf } from '../../support/dev-chain.ts'
import { mintedAt, mintRows, mintSeed, recipientOf } from '../../support/mint-sheets.ts'
import { minedReceipt } from '../../support/receipt.ts'

const rows = 60
const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
/** Takes tokens in trial runs, which pay no gas price, and refuses them in blocks. */
const liar = '0x3a60125763150b7a0260e01b5f5260205ff35b5f5ffd'
const refusing = '0x5f5ffd'

async function openMints() {
  const t = await openAdminApp({ seed: mintSeed(rows), chain: true })
  onTestFinished(() => t.close())
  const [contract] = await t.ctx.db.read.selectFrom('contracts').selectAll().execute()
  const address = getAddress(contract?.address ?? '')
  if (!t.ctx.chains.embedded) throw new Error('there is a chain')
  const client = clientOf(t.ctx.chains.embedded)
  const transactions = () => t.ctx.db.read.selectFrom('transactions').selectAll().orderBy('id').execute()
  const ask = (method: string, params: unknown[]): Promise<unknown> =>
    client.request({ method, params } as never)
  return {
    ...t,
    client,
    ask,
    batches: batchesBy(t),
    setCode: (of: Address, code: string) => ask('anvil_setCode', [of, code]),
    ofKind: async (kind: string) => (await transactions()).filter((one) => one.kind === kind),
    minted: async () => {
      await allSettled(t.ctx)
      return mintedAt(client, address)
    },
  }
}
type Mints = Awaited<ReturnType<typeof openMints>>

const run = async (t: Mints, sheet = mintRows(rows)) => {
  const id = await t.batches.uploaded('phygitals transfer', sheet)
  const totals = (await t.batches.plan(id)).at(-1)
  return { id, totals, batch: await t.batches.run(id) }
}

describe('the mints of a sheet', () => {
  test('share a transaction, as its plan says, and each row has its token, its report, and its messages', async () => {
    const t = await openMints()
    const events = ['token.transferred', 'transaction.settled']
    const url = 'https://hooks.acme.example/in'
    expect((await t.call('POST /admin/webhooks', { url, events })).status).toBe(200)
    const { id, totals, batch } = await run(t)
    expect(totals).toMatchObject({ totals: { minted: rows }, costs: { totals: [{ transactions: 1 }] } })
    expect(batch).toMatchObject({ state: 'done', done: rows, changed: rows, failed: 0 })
    const { holders, ...counts } = await t.minted()
    expect(counts).toEqual({ events: rows, tokens: rows, transactions: 1 })
    expect([...holders]).toEqual(mintRows(rows).map(({ recipient }) => [recipient, 1]))

    const report = await t.batches.report(id)
    const initialTxHash = report[0]?.initialTxHash
    expect(initialTxHash).toEqual(hash)
    expect(report.map((row) => [row.status, row.initialTxHash])).toEqual(
      report.map(() => ['transferred', initialTxHash]),
    )
    const receipt = await minedReceipt(t.client, initialTxHash as `0x${string}`)
    const [priced] = totals.costs.totals
    expect(receipt.gasUsed).toBeLessThan(BigInt(priced.gas))
    expect(receipt.gasUsed).toBeGreaterThan((BigInt(priced.gas) * 8n) / 10n)

    const [group] = await t.ofKind('phygital-mints')
    const mints = await t.ofKind('phygital-mint')
    expect(mints.map(({ state, groupId, minedHash }) => ({ state, groupId, minedHash }))).toEqual(
      mints.map(() => ({ state: 'confirmed', groupId: group?.id, minedHash: initialTxHash })),
    )
    expect(mints).toHaveLength(rows)
    const shown = (await t.call(`GET /admin/transactions/${group?.id}`)).body
    expect(shown).toMatchObject({ state: 'confirmed', subject: { tokens: rows }, groupId: null })
    expect((await t.call(`GET /transactions/${initialTxHash}`)).body).toMatchObject({ state: 'confirmed' })
    const messages = await t.ctx.db.read.selectFrom('webhookDeliveries').select('type').execute()
    for (const event of events) expect(messages.filter(({ type }) => type === event)).toHaveLength(rows)
  })

  test('do not fail for a neighbour that is refused, at first or in its block', async () => {
    const t = await openMints()
    await t.setCode(recipientOf(7), refusing)
    await t.setCode(recipientOf(8), liar)
    const { batch } = await run(t)
    expect(batch).toMatchObject({ state: 'done', changed: rows - 1, failed: 1 })
    const { holders, ...counts } = await t.minted()
    expect(counts).toEqual({ events: rows - 2, tokens: rows - 2, transactions: 1 })
    expect([holders.has(recipientOf(7)), holders.has(recipientOf(8))]).toEqual([false, false])
    const failed = (await t.ofKind('phygital-mint')).filter(({ state }) => state !== 'confirmed')
    expect(failed.map(({ state, groupId }) => [state, groupId])).toEqual([['reverted', null]])
    expect(JSON.parse(failed[0]?.subject ?? '')).toMatchObject({ recipient: recipientOf(8) })
  })

  test('are one transaction of the budget with the gas of all, and alone where that is too much', async () => {
    const t = await openMints()
    await t.call('PATCH /admin/teams/1', { transactionsPerDay: 1 })
    const half = mintRows(rows).slice(0, rows / 2)
    expect((await run(t, half)).batch).toMatchObject({ changed: 30, failed: 0 })
    const [{ budget }] = (await t.call('GET /admin/teams')).body
    expect(budget).toMatchObject({ transactionsToday: 1, gasToday: 50_000 + 30 * 52_000 })

    await t.call('PATCH /admin/teams/1', { transactionsPerDay: null, gasPerDay: budget.gasToday + 400_000 })
    const { totals, batch } = await run(t, mintRows(rows).slice(rows / 2))
    expect(totals.costs.budget).toMatchObject({ gasLeft: 400_000 })
    expect(batch).toMatchObject({ changed: 2, failed: 28 })
    expect((await t.minted()).transactions).toBe(3)
  })

  test('of a chip that comes twice are a mint and then a transfer', async () => {
    const t = await openMints()
    const sheet = [...mintRows(10), { ...mintRows(1)[0], row: 11, recipient: recipientOf(99) }]
    const id = await t.batches.uploaded('phygitals transfer', sheet)
    expect((await t.batches.plan(id)).find(({ row }) => row === 11)).toMatchObject({ status: 'failed' })
    expect(await t.batches.run(id)).toMatchObject({ changed: 10, failed: 1 })
    expect(await t.minted()).toMatchObject({ events: 10, transactions: 1 })
    // Tried again, the row is no longer bound to the plan.
    expect(await t.batches.run(id, 'resume', { retryFailed: true })).toMatchObject({ changed: 11, failed: 0 })
    expect((await t.minted()).events).toBe(11)
  })

  test('on a contract deployed elsewhere are planned and sent one by one', async () => {
    const t = await openMints()
    await t.ctx.db.write((trx) => trx.updateTable('contracts').set({ transactionId: null }).execute())
    const { totals, batch } = await run(t, mintRows(3))
    expect(totals).toMatchObject({ costs: { totals: [{ transactions: 3 }] } })
    expect(batch).toMatchObject({ changed: 3, failed: 0 })
    expect((await t.minted()).transactions).toBe(3)
  })

  test('on a contract of before, which has no groups, are sent alone', async () => {
    const t = await openMints()
    const chain = t.ctx.chains.get(31337)
    const [earlier] = earlierPhygitals
    const args = parseAbiParameters('string, string, string, address, address, address')
    const from = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    const data = concat([
      earlier.bytecode,
      encodeAbiParameters(args, ['Jackets', 'JKT', 'https://a.example', from, from, from]),
    ])
    await t.ask('anvil_impersonateAccount', [from])
    const sent = await t.ask('eth_sendTransaction', [{ from, data, gas: toHex(5_000_000) }])
    const { contractAddress } = await minedReceipt(t.client, sent as `0x${string}`)
    expect(await groupSize(chain, contractAddress ?? '0x')).toBe(1)
  })
})
