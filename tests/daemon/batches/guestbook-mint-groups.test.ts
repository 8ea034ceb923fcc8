import { getAddress } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openAdminApp } from '../../support/admin.ts'
import { batchesBy } from '../../support/batches.ts'
import { clientOf } from '../../support/dev-chain.ts'
import { guestRows, guestSeed, mintedByGuestbook } from '../../support/guest-sheets.ts'
import { handsOf } from '../../support/guestbook.ts'
import { recipientOf } from '../../support/mint-sheets.ts'
import { minedReceipt } from '../../support/receipt.ts'

const rows = 60
const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
/** Takes tokens in trial runs, which pay no gas price, and refuses them in blocks. */
const liar = '0x3a60125763f23a6e6160e01b5f5260205ff35b5f5ffd'
const refusing = '0x5f5ffd'

async function openGuests() {
  const admin = await openAdminApp({ seed: guestSeed, chain: true })
  const t = { ...admin, ...handsOf(admin) }
  onTestFinished(() => t.close())
  await t.settled()
  if (!t.ctx.chains.embedded) throw new Error('there is a chain')
  const client = clientOf(t.ctx.chains.embedded)
  const address = getAddress((await t.contract('GB')).address)
  return {
    ...t,
    client,
    batches: batchesBy(t),
    setCode: (of: string, code: string) =>
      client.request({ method: 'anvil_setCode', params: [of, code] } as never),
    ofKind: async (kind: string) => (await t.transactions()).filter((one) => one.kind === kind),
    minted: async () => {
      await t.settled()
      return mintedByGuestbook(client, address)
    },
  }
}
type Guests = Awaited<ReturnType<typeof openGuests>>

const run = async (t: Guests, sheet = guestRows(rows)) => {
  const id = await t.batches.uploaded('guestbook mint', sheet)
  const totals = (await t.batches.plan(id)).at(-1)
  return { id, totals, batch: await t.batches.run(id) }
}

describe('the mints of a sheet of guests', () => {
  test('share transactions, as its plan says, and each row has its token, its report, and its messages', async () => {
    const t = await openGuests()
    const events = ['guestbook.minted', 'transaction.settled']
    const url = 'https://hooks.acme.example/in'
    expect((await t.call('POST /admin/webhooks', { url, events })).status).toBe(200)
    const { id, totals, batch } = await run(t)
    const [priced] = totals.costs.totals
    expect(totals).toMatchObject({ totals: { minted: rows } })
    expect(priced.transactions).toBeLessThanOrEqual(2)
    expect(batch).toMatchObject({ state: 'done', done: rows, changed: rows, failed: 0 })
    const { holders, ...counts } = await t.minted()
    expect(counts).toEqual({ events: rows, transactions: priced.transactions })
    expect(holders).toEqual(new Map(guestRows(rows).map(({ recipient }) => [recipient, 1])))

    const report = await t.batches.report(id)
    expect(report.map(({ status, txnHash }) => [status, txnHash])).toEqual(report.map(() => ['minted', hash]))
    const receipts = await Promise.all(
      [...new Set(report.map((row) => row.txnHash as `0x${string}`))].map((one) =>
        minedReceipt(t.client, one),
      ),
    )
    expect(receipts).toHaveLength(priced.transactions)
    const gas = receipts.reduce((sum, { gasUsed }) => sum + gasUsed, 0n)
    expect(gas).toBeLessThan(BigInt(priced.gas))
    expect(gas).toBeGreaterThan((BigInt(priced.gas) * 8n) / 10n)

    const groups = (await t.ofKind('guestbook-mints')).map((group) => group.id)
    const mints = await t.ofKind('guestbook-mint')
    expect(mints).toHaveLength(rows)
    for (const { state, groupId, minedHash } of mints) {
      expect(state).toBe('confirmed')
      expect(groups).toContain(groupId)
      expect(report.map((row) => row.txnHash)).toContain(minedHash)
    }
    const messages = await t.ctx.db.read.selectFrom('webhookDeliveries').select('type').execute()
    for (const event of events) expect(messages.filter(({ type }) => type === event)).toHaveLength(rows)
  })

  test('do not fail for a neighbour that is refused, at first or in its block', async () => {
    const t = await openGuests()
    await t.setCode(recipientOf(7), refusing)
    await t.setCode(recipientOf(8), liar)
    const { batch } = await run(t)
    expect(batch).toMatchObject({ state: 'done', changed: rows - 1, failed: 1 })
    const { holders, events, transactions } = await t.minted()
    expect(events).toBe(rows - 2)
    expect(transactions).toBeLessThanOrEqual(2)
    expect([holders.has(recipientOf(7)), holders.has(recipientOf(8))]).toEqual([false, false])
    const failed = (await t.ofKind('guestbook-mint')).filter(({ state }) => state !== 'confirmed')
    expect(failed.map(({ state, groupId }) => [state, groupId])).toEqual([['reverted', null]])
    expect(JSON.parse(failed[0]?.subject ?? '')).toMatchObject({ recipient: recipientOf(8) })
  })

  test('are one transaction of the budget with the gas of all, and alone where that is too much', async () => {
    const t = await openGuests()
    await t.call('PATCH /admin/teams/1', { transactionsPerDay: 1 })
    expect((await run(t, guestRows(rows).slice(0, 30))).batch).toMatchObject({ changed: 30, failed: 0 })
    const [{ budget }] = (await t.call('GET /admin/teams')).body
    expect(budget).toMatchObject({ transactionsToday: 1, gasToday: 40_000 + 30 * 56_000 })
    await t.call('PATCH /admin/teams/1', { transactionsPerDay: null, gasPerDay: budget.gasToday + 300_000 })
    expect((await run(t, guestRows(rows).slice(30))).batch).toMatchObject({ changed: 2, failed: 28 })
    expect((await t.minted()).transactions).toBe(3)
  })

  test('on a guestbook that was deployed elsewhere are sent alone', async () => {
    const t = await openGuests()
    const source = (await t.contract('GB')).id
    await t.ctx.db.write((trx) =>
      trx.updateTable('contracts').set({ transactionId: null }).where('id', '=', source).execute(),
    )
    const { totals, batch } = await run(t, guestRows(5))
    expect(totals.costs.totals).toMatchObject([{ transactions: 5, gas: String(5 * 82_000) }])
    expect(batch).toMatchObject({ changed: 5 })
    expect((await t.minted()).transactions).toBe(5)
  })
})
