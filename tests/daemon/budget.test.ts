import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { announceDeferred } from '../../src/daemon/domain/chain/announcements.ts'
import { defaultLimits } from '../../src/daemon/domain/chain/budget.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { metadata as eventMetadata, guestbookSeed } from '../support/guestbook.ts'
import { bob, carol, chips, openPhygitals, type Phygitals, phygitalSeed } from '../support/phygitals.ts'
import { openRemoteChain } from '../support/remote-chain.ts'
import { acmeKey } from '../support/seeds.ts'

// Each team may have so much sent a day: it is the relayer's money.

let p: Phygitals
let clock: TestClock
beforeEach(async () => {
  // Noon: the day has 43,200 seconds left.
  clock = testClock('2026-06-01T12:00:00.000Z')
  const [acme, other] = phygitalSeed.teams
  const guests = guestbookSeed.teams[0]?.guestbookContracts?.slice(0, 1)
  p = await openPhygitals({
    clock,
    seed: {
      ...phygitalSeed,
      teams: [{ ...acme, guestbookContracts: guests?.map((one) => ({ ...one, events: [event] })) }, other],
    },
  })
})
afterEach(() => p.close())
const event = { name: 'Opening', tokenId: '1', metadata: {}, chips: [chips.jacket(20)] }

const limit = (limits: { transactionsPerDay?: number | null; gasPerDay?: number | null }, of = p) =>
  of.ask('/admin/teams/1', limits, { method: 'PATCH', headers: of.admin })
const budget = async (of = p) =>
  (await of.ask('/admin/teams', undefined, { headers: of.admin })).body[0].budget
const move = (n: number, more: { idempotencyKey?: string } = {}, of = p) =>
  of.ask(
    '/phygitals/transfer',
    { ...of.token('JKT', n), recipient: bob },
    { key: acmeKey, headers: more.idempotencyKey ? { 'idempotency-key': more.idempotencyKey } : {} },
  )
const byCode = (code: string) => p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
const describeToken = (n: number, name: string) =>
  p.ask(
    '/phygitals/metadata',
    {
      ...p.token('JKT', n),
      metadata: JSON.stringify({
        name,
        collection: '',
        description: '',
        image: '',
        attributes: [],
        media_gallery: [],
      }),
    },
    { key: acmeKey, method: 'PATCH' },
  )
const kinds = async () => (await p.transactions()).map(({ kind }) => kind)
const spent = { status: 429, body: { code: 'transaction_budget_spent' }, headers: { 'retry-after': '43200' } }

describe('the budget of a day', () => {
  test('counts nothing of a seed, and each request by what it has sent', async () => {
    expect(await budget()).toEqual({
      transactionsPerDay: null,
      gasPerDay: null,
      transactionsToday: 0,
      gasToday: 0,
      waiting: 0,
    })
    expect((await move(1)).status).toBe(200)
    expect(await budget()).toMatchObject({ transactionsToday: 1, gasToday: 200_000 })
  })

  test('spent, the next transaction is a 429 that says when to try again, and its code stays good', async () => {
    expect((await move(1)).status).toBe(200)
    expect((await limit({ transactionsPerDay: 1 })).body.budget).toMatchObject({ transactionsPerDay: 1 })
    const code = await p.code(chips.jacket(2))
    const before = (await p.transactions()).length
    const refused = await byCode(code)
    expect(refused).toMatchObject(spent)
    // Whoever holds a chip can raise nothing.
    expect(refused.body.message).toMatch(/today.*Nothing was used up.*00:00 UTC/)
    expect(refused.body.message).not.toMatch(/Acme|teams edit/)
    expect((await p.ask(`/otps/${code}`)).body.isExpired).toBe(false)
    const byKey = await move(3)
    expect(byKey).toMatchObject(spent)
    expect(byKey.body.message).toMatch(/"Acme".* 1 transactions .*teams edit 1 --transactions-per-day/)
    expect((await p.transactions()).length).toBe(before)

    await limit({ transactionsPerDay: 2 })
    expect((await byCode(code)).status).toBe(200)
    expect(await move(3)).toMatchObject({ status: 429 })
    clock.advance('12h')
    expect((await move(3)).status).toBe(200)
    expect(await budget()).toMatchObject({ transactionsPerDay: 2, transactionsToday: 1 })
    await limit({ transactionsPerDay: null })
    expect((await move(4)).status).toBe(200)
  })

  test('of ten transactions at once exactly as many are recorded as there is room for', async () => {
    await limit({ transactionsPerDay: 3 })
    const before = (await p.transactions()).length
    const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => move(at + 1)))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(3).fill(200), ...Array(7).fill(429)])
    expect((await p.transactions()).length).toBe(before + 3)
    expect(await budget()).toMatchObject({ transactionsToday: 3 })
  })

  test('in gas counts the limits of transactions', async () => {
    await limit({ gasPerDay: 450_000 })
    expect((await move(1)).status).toBe(200)
    expect((await move(2)).status).toBe(200)
    const refused = await move(3)
    expect(refused).toMatchObject(spent)
    expect(refused.body.message).toMatch(/450000 gas .*--gas-per-day/)
  })

  test('counts a repetition with the same Idempotency-Key once, and answers it when it is spent', async () => {
    await limit({ transactionsPerDay: 1 })
    const first = await move(1, { idempotencyKey: 'k' })
    expect(first.status).toBe(200)
    expect(await move(1, { idempotencyKey: 'k' })).toMatchObject({ status: 200, body: first.body })
    expect(await budget()).toMatchObject({ transactionsToday: 1 })
    // What was refused is not kept: with room, the same key goes through.
    expect((await move(2, { idempotencyKey: 'l' })).status).toBe(429)
    await limit({ transactionsPerDay: 2 })
    expect((await move(2, { idempotencyKey: 'l' })).status).toBe(200)
  })

  test('holds for all that sends, and leaves nothing of what it refused', async () => {
    await limit({ transactionsPerDay: 0 })
    const { body: contracts } = await p.ask('/events/contracts', undefined, { key: acmeKey })
    const contractId = contracts[0].id
    const before = (await p.transactions()).length
    const event = { name: 'Second', tokenId: '2', contractId, metadata: eventMetadata('Second') }
    const place = { name: 'X', symbol: 'X', chainId: 31337 }
    const answers = [
      await p.ask('/events/contracts', place, { key: acmeKey }),
      await p.ask('/events', event, { key: acmeKey }),
      await p.ask('/events/mint', { eventId: 1, recipient: bob }, { key: acmeKey }),
      await p.ask('/events/toggle-pause-state', { contractId, pauseState: true }, { key: acmeKey }),
      await p.ask('/admin/contracts/deploy', { ...place, team: 'Acme' }, { headers: p.admin }),
      await p.ask('/admin/contracts/1/service-url', { force: true }, { headers: p.admin }),
    ]
    for (const answer of answers) expect(answer).toMatchObject(spent)
    const code = (await p.tapped(chips.jacket(20))).guestbookEvents[0].otp
    expect(await p.ask('/events/mint/self', { recipient: bob }, { code })).toMatchObject(spent)
    expect((await p.ask(`/otps/${code}`)).body.isExpired).toBe(false)
    expect((await p.transactions()).length).toBe(before)
    expect((await p.ask('/events/contracts', undefined, { key: acmeKey })).body).toEqual(contracts)
    // An unminted chip got no token by being refused.
    const unminted = await p.code(chips.unminted(1))
    expect(await byCode(unminted)).toMatchObject(spent)
    const { body: kept } = await p.ask(`/otps/${unminted}`)
    expect({ isExpired: kept.isExpired, token: kept.linkedToken?.tokenId }).toEqual({ isExpired: false })
  })

  test('is changed with the scope all, and the audit log says from what to what', async () => {
    await limit({ transactionsPerDay: 7 })
    await limit({ transactionsPerDay: 7 })
    await limit({ transactionsPerDay: null, gasPerDay: 9 })
    expect(await limit({})).toMatchObject({ status: 400 })
    expect((await limit({ transactionsPerDay: -1 })).status).toBe(400)
    const { body } = await p.ask('/admin/audit?action=teams.edit', undefined, { headers: p.admin })
    expect(body).toMatchObject([
      {
        target: 'Acme',
        detail: { transactionsPerDay: { from: 7, to: null }, gasPerDay: { from: null, to: 9 } },
      },
      { target: 'Acme', detail: { transactionsPerDay: { from: null, to: 7 } } },
    ])
  })

  test('is shown by the status of the daemon, once something was sent', async () => {
    const status = async () => (await p.ask('/admin/status', undefined, { headers: p.admin })).body.budgets
    expect(await status()).toEqual([])
    await move(1)
    expect(await status()).toMatchObject([{ team: 'Acme', transactionsToday: 1, gasToday: 200_000 }])
  })

  test('lets the rows of a batch beyond it fail alone, and their check says so before', async () => {
    await limit({ transactionsPerDay: 2 })
    const rows = [1, 2, 3].map((n) => JSON.stringify({ ...p.token('JKT', n), recipient: bob })).join('\n')
    const send = async (path: string) => {
      const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' }
      const answer = await p.app.inject({ method: 'POST', url: path, headers, payload: rows })
      return answer.body
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    }
    expect((await send('/phygitals/transfer/check')).at(-1)).toMatchObject({
      totals: [{ transactions: 3 }],
      budget: { transactionsLeft: 2, gasLeft: null },
    })
    const moved = await send('/phygitals/transfer/batch')
    expect(moved.map(({ status }) => status).sort()).toEqual(['failed', 'transferred', 'transferred'])
    expect(moved.find(({ status }) => status === 'failed')).toMatchObject({
      code: 'transaction_budget_spent',
      error: expect.stringMatching(/2 transactions/),
    })
    await limit({ transactionsPerDay: 5 })
    expect((await send('/phygitals/transfer/check')).at(-1)).not.toHaveProperty('budget')
  })
})

describe('announcements of changed metadata', () => {
  const announced = async () => (await kinds()).filter((kind) => kind.endsWith('-refresh'))
  const served = async (n: number) => {
    const { contractAddress, chainId, tokenId } = p.token('JKT', n)
    return (await p.ask(`/metadata/${chainId}/${contractAddress}/${tokenId}`)).body.name
  }

  test('wait where the day is spent, while the metadata is changed; and go out together', async () => {
    await limit({ transactionsPerDay: 0 })
    for (const n of [1, 2, 2]) expect((await describeToken(n, `New ${n}`)).status).toBe(200)
    const change = { eventId: 1, metadata: eventMetadata('New') }
    const changed = await p.ask('/events/metadata', change, { key: acmeKey, method: 'PATCH' })
    expect(changed.status).toBe(200)
    expect(await served(2)).toBe('New 2')
    expect(await announced()).toEqual([])
    expect(await budget()).toMatchObject({ waiting: 3 })
    await announceDeferred(p.ctx)
    expect(await announced()).toEqual([])

    const raised = await limit({ transactionsPerDay: 10 })
    expect(raised.body.budget).toMatchObject({ waiting: 0, transactionsToday: 2 })
    expect((await announced()).sort()).toEqual(['guestbook-refresh', 'phygital-refresh'])
    await p.settled()
    expect((await p.transactions()).slice(-2).map(({ state }) => state)).toEqual(['confirmed', 'confirmed'])
    await announceDeferred(p.ctx)
    expect(await announced()).toHaveLength(2)
  })

  test('go out the next day by themselves', async () => {
    await limit({ transactionsPerDay: 1 })
    await move(1)
    await describeToken(2, 'New')
    expect(await budget()).toMatchObject({ waiting: 1 })
    clock.advance('12h')
    await announceDeferred(p.ctx)
    expect(await announced()).toEqual(['phygital-refresh'])
    expect(await budget()).toMatchObject({ waiting: 0, transactionsToday: 1 })
  })

  test('leave half of the day to what moves tokens', async () => {
    await limit({ transactionsPerDay: 4 })
    for (const n of [1, 2, 3, 4]) await describeToken(n, `New ${n}`)
    expect(await announced()).toHaveLength(2)
    expect(await budget()).toMatchObject({ transactionsToday: 2, waiting: 2 })
    expect((await move(5)).status).toBe(200)
    expect((await move(6)).status).toBe(200)
    expect((await move(7)).status).toBe(429)
  })
})

describe('a pause', () => {
  let id: number
  beforeEach(async () => {
    id = (await p.ask('/events/contracts', undefined, { key: acmeKey })).body[0].id
  })
  const pause = (pauseState: boolean, key?: string) =>
    p.ask(
      '/events/toggle-pause-state',
      { contractId: id, pauseState },
      { key: acmeKey, headers: key ? { 'idempotency-key': key } : {} },
    )
  const pauses = async () => (await kinds()).filter((kind) => kind === 'guestbook-pause').length

  test('of what is so already, or on its way to be, is no transaction, and has the hash of the one that was', async () => {
    const first = await pause(true)
    expect(first).toMatchObject({ status: 200, body: { success: true, txnHash: expect.any(String) } })
    expect((await pause(true)).body).toEqual(first.body)
    await p.settled()
    expect((await pause(true)).body).toEqual(first.body)
    const ended = await pause(false)
    expect(ended.body.txnHash).not.toBe(first.body.txnHash)
    expect((await pause(false)).body).toEqual(ended.body)
    expect(await pauses()).toBe(2)
    const again = await pause(true)
    expect([first.body.txnHash, ended.body.txnHash]).not.toContain(again.body.txnHash)
    expect(await budget()).toMatchObject({ transactionsToday: 3 })
    const { body } = await p.ask('/admin/audit?action=guestbook', undefined, { headers: p.admin })
    expect(body).toHaveLength(3)
  })

  test('ten times at once is one transaction', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => pause(true)))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.txnHash}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(await pauses()).toBe(1)
  })

  test('is answered when the day is spent, if it is so already', async () => {
    const first = await pause(true)
    await limit({ transactionsPerDay: 1 })
    expect((await pause(true)).body).toEqual(first.body)
    expect(await pause(false)).toMatchObject(spent)
  })

  test('of a guestbook that never was is none: the deployment made it so', async () => {
    const [deployment] = (await p.transactions()).filter(({ kind }) => kind === 'guestbook-deploy')
    expect(await pause(false)).toMatchObject({ status: 200, body: { txnHash: deployment?.firstHash } })
    expect(await pauses()).toBe(0)
  })

  test('that was cancelled, or is being cancelled, is sent again', async () => {
    await pause(true)
    await p.settled()
    const mark = (change: object) =>
      p.ctx.db.write((trx) =>
        trx.updateTable('transactions').set(change).where('kind', '=', 'guestbook-pause').execute(),
      )
    await mark({ state: 'cancelled' })
    await pause(true)
    expect(await pauses()).toBe(2)
    await p.settled()
    await mark({ state: 'broadcast', settledAt: null, abandonedBecause: 'wrong guestbook' })
    const { setPauseState } = await import('../../src/daemon/domain/guestbook/pause.ts')
    const asking = { teamId: 1, actor: { name: 'key:ops', requestId: null }, idempotency: undefined }
    await setPauseState(p.ctx, asking, { contractId: id }, true)
    expect(await pauses()).toBe(3)
  })

  test('with an Idempotency-Key gives its first answer, whatever came in between', async () => {
    const first = await pause(true)
    expect((await pause(true, 'k')).body).toEqual(first.body)
    await pause(false)
    expect((await pause(true, 'k')).body).toEqual(first.body)
    expect(await pauses()).toBe(2)
  })
})

test('on a chain that costs something there is a budget where none was set', async () => {
  const remote = await openRemoteChain()
  try {
    const r = await remote.open()
    try {
      const day = new Date(r.ctx.clock.now()).toISOString().slice(0, 10)
      const setSpent = (spentTransactions: number) =>
        r.ctx.db.write((trx) =>
          trx.updateTable('teams').set({ spentDay: day, spentTransactions }).where('id', '=', 1).execute(),
        )
      const { address } = await r.ctx.db.read
        .selectFrom('contracts')
        .select('address')
        .where('symbol', '=', 'JKT')
        .executeTakeFirstOrThrow()
      await r.settled()
      const move = () =>
        r.ask(
          '/phygitals/transfer',
          { contractAddress: address, chainId: 7, tokenId: '1', recipient: carol },
          { key: acmeKey },
        )
      await setSpent(defaultLimits.transactionsPerDay)
      expect(await move()).toMatchObject({ status: 429, body: { code: 'transaction_budget_spent' } })
      await setSpent(defaultLimits.transactionsPerDay - 1)
      expect((await move()).status).toBe(200)
    } finally {
      await r.close()
    }
  } finally {
    await remote.close()
  }
})
