import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { BadgeProvider } from '../../src/daemon/badges/provider.ts'
import { recordIntent } from '../../src/daemon/chain/relayer/record-intent.ts'
import { Settler } from '../../src/daemon/domain/badge-events/settle.ts'
import { recordForTeam } from '../../src/daemon/domain/chain/budget.ts'
import { warnOfSkew } from '../../src/daemon/process/clock-skew.ts'
import {
  abandonedClaims,
  insertClaim,
  insertCodes,
} from '../../src/daemon/store/badge-events/badge-claims.ts'
import { Lease } from '../../src/daemon/store/lease/lease.ts'
import { type Options, openTestApp, startTestDaemon, type TestApp } from '../support/daemon.ts'
import { until } from '../support/fleet-senders.ts'
import { phygitalSeed } from '../support/phygitals.ts'
import { databaseOf, dropDatabaseOf } from '../support/postgres.ts'
import { openRemoteChain, remoteRelayer } from '../support/remote-chain.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { openReceiver } from '../support/webhooks.ts'

let directory: string
const closing: (() => unknown)[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tapchip-jobs-'))
  closing.push(
    () => dropDatabaseOf(directory),
    () => rmSync(directory, { recursive: true, force: true }),
  )
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const folder = (name: string) => {
  mkdirSync(join(directory, name))
  return join(directory, name)
}

/** A daemon on the database that all of a test have. */
async function open(name: string, options: Options = {}): Promise<TestApp> {
  const env = { ...(await databaseOf(directory)), TAPCHIP_WEBHOOKS_PRIVATE: 'on', ...options.env }
  const t = await openTestApp({ ...options, dataDir: folder(name), env })
  closing.push(() => t.close())
  return t
}

const ten = Array.from({ length: 10 }, (_, index) => index)

test('what is recorded at any of two daemons is delivered once, each chip in its order, also after the one that delivers has ended', async () => {
  const all = [uids.blank, uids.plain, uids.listed]
  const receiver = await openReceiver((_received, response) => {
    setTimeout(() => response.writeHead(204).end(), 5)
  })
  closing.push(() => receiver.close())
  const a = await open('a', { seed })
  const b = await open('b')
  await a.app.inject({
    method: 'POST',
    url: '/admin/webhooks',
    headers: a.admin,
    payload: { team: 'Acme', url: receiver.url, events: ['tap.valid', 'tap.refused'] },
  })
  await b.ctx.webhooks.changed()
  for (const { ctx } of [a, b]) ctx.start()
  await until('one has the turn', async () => a.ctx.election.isLeader)
  expect(b.ctx.election.isLeader).toBe(false)
  let counter = 0
  const tapAll = async (daemons: readonly TestApp[], count: number) => {
    for (let n = 0; n < count; n += 1) {
      counter += 1
      const { app } = daemons[n % daemons.length] ?? a
      await Promise.all(
        all.map((uid) => app.inject({ url: tapPath(tap(derived, { uid }, counter), '/chips/find') })),
      )
    }
  }
  await tapAll([a, b], 10)
  const told = () => receiver.received.filter(({ type }) => type === 'tap.valid')
  const usable = new Set<string>()
  await until('all are delivered', async () => {
    for (const { data } of told()) usable.add(data.uid)
    return usable.size > 0 && told().length === usable.size * 10
  })
  // Only the other one is there for the second half.
  await closing.splice(closing.length - 2, 1)[0]?.()
  await tapAll([b], 10)
  await until('the rest is delivered', async () => told().length === usable.size * 20)
  await until('the other has the turn', async () => b.ctx.election.isLeader)
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(receiver.received.length)
  for (const uid of usable) {
    const counters = told().flatMap(({ data }) => (data.uid === uid ? [data.counter] : []))
    expect(counters).toEqual(counters.toSorted((x, y) => x - y))
  }
})

test('a budget holds for all daemons together: of ten at once, as many pass as it has room for', async () => {
  const a = await open('a', { seed })
  const b = await open('b')
  const team = await a.ctx.db.read
    .selectFrom('teams')
    .select('id')
    .where('name', '=', 'Acme')
    .executeTakeFirst()
  const teamId = team?.id ?? 0
  await a.ctx.db.write(async (trx) => {
    await trx.updateTable('teams').set({ transactionsPerDay: 4 }).where('id', '=', teamId).execute()
  })
  const intend = ({ ctx }: TestApp, slot: number) =>
    ctx.db.write((trx) =>
      recordForTeam(
        trx,
        ctx.clock,
        {
          chainId: 7,
          call: { to: null, data: '0x' },
          gasHint: 60_000,
          kind: 'test',
          subject: { slot },
          teamId,
        },
        { isEmbedded: false },
      ),
    )
  const settled = await Promise.allSettled(ten.map((slot) => intend(slot % 2 === 0 ? a : b, slot)))
  const refused = settled.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(6)
  for (const one of refused) expect(one).toMatchObject({ reason: { code: 'transaction_budget_spent' } })
  expect(await a.ctx.db.read.selectFrom('transactions').select('id').execute()).toHaveLength(4)
})

test('daemons that start together load a seed once, and record what it lacks on the chain once', async () => {
  const chain = await openRemoteChain()
  closing.push(() => chain.close())
  const env = { ...chain.env, ...(await databaseOf(directory)) }
  const seedOf7 = JSON.parse(JSON.stringify(phygitalSeed).replaceAll('"chainId":31337', '"chainId":7'))
  const start = (name: string) => startTestDaemon({ dataDir: folder(name), env, seed: seedOf7 })
  const daemons = await Promise.all(['a', 'b', 'c'].map(start))
  for (const { stop } of daemons) closing.push(stop)
  const [one] = daemons
  const db = one?.ctx.db
  if (!db) throw new Error('none started')
  await until('all is on the chain', async () => {
    const rows = await db.read.selectFrom('transactions').select('settledAt').execute()
    return rows.length > 0 && rows.every(({ settledAt }) => settledAt !== null)
  })
  const rows = await db.read.selectFrom('transactions').select(['kind', 'subject', 'state']).execute()
  expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['confirmed']))
  expect(new Set(rows.map(({ kind, subject }) => `${kind} ${subject}`)).size).toBe(rows.length)
  // Whoever is asked for a transaction answers with its hash and its end, also if another one sends it.
  await Promise.all(
    daemons.map(async ({ ctx }) => {
      const id = await ctx.db.write((trx) =>
        recordIntent(trx, {
          ...{ chainId: 7, kind: 'test', subject: {}, teamId: null, now: Date.now() },
          call: { to: remoteRelayer.address, data: '0x' },
          gasHint: 21_000,
        }),
      )
      expect(await ctx.chains.relayer.broadcasted(id)).toMatch(/^0x[0-9a-f]{64}$/)
      expect(await ctx.chains.relayer.settled(id)).toMatchObject({ name: 'confirmed' })
    }),
  )
  expect(daemons.filter(({ ctx }) => ctx.chains.relayer.status()[0]?.isStandby)).toHaveLength(2)
  const teams = await db.read.selectFrom('teams').select('name').execute()
  expect(new Set(teams.map(({ name }) => name)).size).toBe(teams.length)
})

test('two daemons that ask a provider about the same claim ask in turn, and it gets one code', async () => {
  const a = await open('a', { seed })
  const b = await open('b')
  const asked: string[] = []
  const left: unknown[] = []
  const abandoned = () => abandonedClaims(b.ctx.db.read, '9999-01-01T00:00:00.000Z')
  let under = 0
  let most = 0
  const poap: Partial<BadgeProvider> = {
    async claim(code, _recipient, sending) {
      await sending?.()
      under += 1
      most = Math.max(most, under)
      asked.push(code)
      // A daemon that starts now, or polls, takes it for abandoned by nobody.
      left.push(...(await abandoned()))
      await new Promise((resolve) => setTimeout(resolve, 50))
      under -= 1
      return { kind: 'claimed' }
    },
  }
  const { db, box } = a.ctx
  const now = new Date().toISOString()
  const { id: badgeEventId } = await db.read.selectFrom('badgeEvents').select('id').executeTakeFirstOrThrow()
  await db.write((trx) =>
    insertCodes(
      trx,
      badgeEventId,
      [1, 2, 3].map((number) => ({
        number,
        code: box.seal(Buffer.from(`code${number}`), `badgeCodes:${badgeEventId}:${number}`),
      })),
    ),
  )
  const chip = uids.blank
  const id = await db.write((trx) =>
    insertClaim(trx, {
      ...{ badgeEventId, codeNumber: 1, otpHash: 'none', chipUid: chip, recipient: '0x1', createdAt: now },
      deviceHash: null,
    }),
  )
  expect(await abandoned()).toHaveLength(1)
  const settlers = [a, b].map(
    ({ ctx }) =>
      new Settler({
        ...ctx,
        providers: { ...ctx.badges.providers, poap: poap as BadgeProvider },
      }),
  )
  const results = await Promise.all(ten.map((n) => settlers[n % 2]?.settle(id, true)))
  expect(new Set(results.map((result) => result?.kind))).toEqual(new Set(['claimed']))
  expect(asked).toEqual(['code1'])
  expect(left).toEqual([])
  expect(most).toBe(1)
})

test('an endpoint that another daemon serves is left to it, and is served here once that one is silent', async () => {
  const receiver = await openReceiver()
  closing.push(() => receiver.close())
  const a = await open('a', { seed })
  await a.app.inject({
    method: 'POST',
    url: '/admin/webhooks',
    headers: a.admin,
    payload: { team: 'Acme', url: receiver.url, events: ['tap.valid'] },
  })
  const { db } = a.ctx
  const { id } = await db.read.selectFrom('webhooks').select('id').executeTakeFirstOrThrow()
  const lease = new Lease({ db, name: `webhook ${id}`, holder: 'killed', leaseMs: 2000 })
  const began = performance.now()
  expect(await lease.acquire()).toBe(true)
  await a.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 1), '/chips/find') })
  a.ctx.webhooks.start()
  await receiver.until(({ length }) => length === 1)
  expect(performance.now() - began).toBeGreaterThan(1900)
})

test("a clock that differs from the database's by more than a second is warned of", async () => {
  const { ctx } = await open('a')
  const warned: unknown[] = []
  const log = { warn: (of: unknown) => warned.push(of) }
  await warnOfSkew({ db: ctx.db, clock: { now: () => Date.now() }, log })
  await warnOfSkew({ db: ctx.db, clock: { now: () => Date.now() - 500 }, log })
  expect(warned).toEqual([])
  await warnOfSkew({ db: ctx.db, clock: { now: () => Date.now() - 3_600_000 }, log })
  await warnOfSkew({ db: ctx.db, clock: { now: () => Date.now() + 60_000 }, log })
  expect(warned).toMatchObject([{ aheadMs: expect.any(Number) }, { aheadMs: expect.any(Number) }])
})
