import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { type ExpressionBuilder, Kysely, type KyselyPlugin, SqliteDialect } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportChips, listGroup } from '../../src/daemon/domain/chips/chips.ts'
import { listKeySets } from '../../src/daemon/domain/chips/key-sets.ts'
import type { Database } from '../../src/daemon/store/schema/schema.ts'
import { listTaps, type TapFilter } from '../../src/daemon/store/taps/taps.ts'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { testOfFile } from '../support/engines.ts'
import { largeUid } from '../support/large-database.ts'
import { dropDatabaseOf } from '../support/postgres.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// Taps are served where `db.read` reads: what a list of very many reads there is how long they wait.

const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-lists-'))
let t: TestApp
beforeAll(async () => {
  t = await openTestApp({ seed, dataDir })
  await t.ctx.db.write(async (trx) => {
    const chip = await trx
      .selectFrom('chips')
      .selectAll()
      .where('publicKey', 'is', null)
      .executeTakeFirstOrThrow()
    for (let from = 0; from < 4600; from += 100) {
      const copies = Array.from({ length: 100 }, (_, n) => ({ ...chip, uid: largeUid(from + n) }))
      await trx.insertInto('chips').values(copies).execute()
    }
    const chips = (e: ExpressionBuilder<Database, 'chipGroups'>) => e('chips', '+', 4600)
    await trx.updateTable('chipGroups').set({ chips }).where('id', '=', chip.chipGroupId).execute()
  })
})
afterAll(async () => {
  await t.close()
  rmSync(dataDir, { recursive: true, force: true })
  await dropDatabaseOf(dataDir)
})

/** The application's database, with the rows counted that go into texts. */
function counting() {
  const counted = { read: 0, slow: 0 }
  const counter = (where: keyof typeof counted): KyselyPlugin => ({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      for (const { rows } of result.rows) counted[where] += Number(rows ?? 1)
      return result
    },
  })
  const { db } = t.ctx
  const counts = { read: db.read.withPlugin(counter('read')), slow: db.slow.withPlugin(counter('slow')) }
  return { counted, ctx: { ...t.ctx, db: { ...db, ...counts } } }
}

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

const groups = () =>
  t.ctx.db.read.selectFrom('chipGroups').select(['id', 'teamId', 'chips']).orderBy('chips', 'desc').execute()

test('of a long list of chips and of a long export only the first page is read where taps are served', async () => {
  const [{ id, teamId, chips } = { id: 0, teamId: 0, chips: 0 }] = await groups()
  expect(chips).toBeGreaterThan(4600)
  const listed = counting()
  const list: unknown = JSON.parse(await textOf(await listGroup(listed.ctx, teamId, { chipGroupId: id })))
  const exported = counting()
  const lines = (await textOf(await exportChips(exported.ctx, teamId, String(id)))).trim().split('\n')
  expect([Array.isArray(list) && list.length, lines.length]).toEqual([chips, chips])
  for (const { counted } of [listed, exported]) {
    // The row of the group is read there as well.
    expect(counted.read).toBe(500 + 1)
    expect(counted.slow).toBe(chips - 500)
  }
  const uids = lines.map((line): string => JSON.parse(line).uid)
  expect(uids).toEqual([...new Set(uids)].sort())
})

test('a short one needs nothing else, and one of no chips is an empty list', async () => {
  const short = (await groups()).filter(({ chips }) => chips < 10)
  expect(short.length).toBeGreaterThan(0)
  for (const { id, teamId, chips } of short) {
    const { counted, ctx } = counting()
    expect(JSON.parse(await textOf(await listGroup(ctx, teamId, { chipGroupId: id })))).toHaveLength(chips)
    expect(counted.slow).toBe(0)
  }
})

test('the chips of key sets are not counted where taps are served', async () => {
  const { counted, ctx } = counting()
  const keySets = await listKeySets(ctx, {})
  expect(keySets.reduce((sum, { chips }) => sum + chips, 0)).toBeGreaterThan(4600)
  expect(counted.read).toBe(keySets.length)
})

async function plansOf(filter: Omit<TapFilter, 'limit'>): Promise<string[]> {
  const database = new BetterSqlite3(join(dataDir, 'tapchip.db'), { readonly: true })
  const plans: string[] = []
  const db = new Kysely<Database>({
    dialect: new SqliteDialect({ database }),
    log: ({ query: { sql, parameters } }) => {
      const steps = database
        .prepare<unknown[], { detail: string }>(`explain query plan ${sql}`)
        .all(parameters)
      plans.push(steps.map(({ detail }) => detail).join('; '))
    },
  })
  try {
    await listTaps(db, { ...filter, limit: 10 })
  } finally {
    await db.destroy()
  }
  return plans
}

testOfFile.each<[string, Omit<TapFilter, 'limit'>, string]>([
  // Of the team, and of unknown chips, whose taps are all refused.
  ['the refused taps of a team', { teamId: 1, outcome: 'refused' }, 'tapsRefused|tapsOfTeam'],
  ['those of a rare outcome', { teamId: 1, outcome: 'disabled' }, 'tapsRefused'],
  ['all taps of a team', { teamId: 1 }, 'tapsOfTeam'],
  ['the refused ones of a chip', { uid: '1', outcome: 'disabled' }, 'tapsRefusedOfChip'],
])('%s are found by an index that holds little else', async (_, filter, index) => {
  const plans = await plansOf(filter)
  expect(plans.length).toBeGreaterThan(0)
  for (const plan of plans) expect(plan).toMatch(new RegExp(`USING INDEX (${index})\\b`))
})

testOfFile('the valid taps of a chip are found by their IDs, one after the other', async () => {
  const { app, ctx } = t
  const path = tapPath(tap(derived, { uid: uids.blank }, 1), '/chips/find')
  expect((await app.inject(path)).json().isValidTap).toBe(true)
  const [{ chipUid: uid } = { chipUid: null }] = await ctx.db.read
    .selectFrom('taps')
    .select('chipUid')
    .execute()
  const plans = await plansOf({ uid: uid ?? '', outcome: 'valid' })
  expect(plans).toHaveLength(2)
  for (const plan of plans) {
    expect(plan).toContain('SEARCH taps USING INTEGER PRIMARY KEY')
    expect(plan).not.toContain('SCAN taps')
  }
})
