import { CompiledQuery, createQueryId, type RootOperationNode, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { firstEntrySince, listAudit } from '../../src/daemon/store/audit/audit-list.ts'
import { engineOf } from '../../src/daemon/store/database/database.ts'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { seed, uids } from '../support/seeds.ts'

// What is asked of a million entries is looked up in an index: by the plan of the database, not by the clock.

const entries = 999_999
const uid = BigInt(`0x${uids.blank}`).toString()
const limit = 20

let t: TestApp
beforeAll(async () => {
  t = await openTestApp({ seed })
  for (let from = 1000; from < entries; from += step) await insert(from, Math.min(from + step - 1, entries))
  await t.ctx.db.write((trx) => trx.insertInto('auditChips').values({ uid, auditId: 1_050 }).execute())
  await t.ctx.db.write((trx) => sql`analyze audit`.execute(trx))
}, 600_000)
afterAll(() => t.close())

const step = 50_000
/** Rare ones come first, where a list of the newest looks last. Dates are only compared as text. */
const insert = (from: number, to: number) =>
  t.ctx.db.write((trx) =>
    sql`
      insert into audit (id, at, actor, "teamId", action, target, detail, batch)
      with recursive n(i) as (select ${sql.lit(from)} union all select i + 1 from n where i < ${sql.lit(to)})
      select i,
        '20' || substr(cast(1000000 + i as text), 2, 2) || '-01-01T' ||
          substr(cast(1000000 + i as text), 4, 2) || ':' || substr(cast(1000000 + i as text), 6, 2) || ':00.000Z',
        case when i < 1100 then 'key:rare' else 'key:k' || (i % 50) end,
        case when i < 1100 then 9 else i % 6 end,
        case when i < 1050 then 'rare.one' when i < 1100 then 'rare.two' else 'chips.edit' end,
        case when i < 1010 then ${sql.lit(uid)} else 'target' || i end,
        '{}',
        case when i < 1030 then 'b_1hq3v9k7s2m4xa' end
      from n`.execute(trx),
  )

const plansOf = async (nodes: readonly RootOperationNode[]): Promise<string> => {
  const db = t.ctx.db.read
  const explain = engineOf(db).name === 'sqlite' ? 'explain query plan' : 'explain'
  const plans: string[] = []
  for (const node of nodes) {
    const { sql: text, parameters } = db.getExecutor().compileQuery(node, createQueryId())
    const { rows } = await db.executeQuery(CompiledQuery.raw(`${explain} ${text}`, [...parameters]))
    plans.push(JSON.stringify(rows))
  }
  return plans.join('\n')
}

test.each([
  ['by chip', { uid }, 11, 'auditOfTarget'],
  ['by batch', { batch: 'b_1hq3v9k7s2m4xa' }, limit, 'auditOfBatch'],
  ['by name', { actors: ['rare', 'key:rare', 'admin:rare'] }, limit, 'actorInAudit'],
  ['by name, of another team', { actors: ['key:rare'], teamId: 3 }, 0, 'actorInAuditOfTeam'],
  ['by action', { action: 'rare.two' }, limit, 'actionInAudit'],
  ['by action, of another team', { action: 'chips.edit', teamId: 9 }, 0, 'actionInAuditOfTeam'],
  ['by noun', { action: 'rare' }, limit, 'actionInAudit'],
  ['by team', { teamId: 9 }, limit, 'auditOfTeam'],
  ['by name and date', { actors: ['key:k1'], at: '2099-01-01T99:50:00.000Z' }, 1, 'actorInAudit'],
  ['by date', { at: '2099-01-01T99:50:00.000Z' }, limit, 'auditByTime'],
] as const)('the newest entries %s are looked up', async (_, filter, expected, index) => {
  const nodes: RootOperationNode[] = []
  const db = t.ctx.db.read.withPlugin({
    transformQuery: ({ node }) => {
      nodes.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const { at, ...rest } = { at: undefined, ...filter }
  const firstId = at === undefined ? undefined : await firstEntrySince(db, at)
  const since = at === undefined || firstId === undefined ? undefined : { at, firstId }
  expect(await listAudit(db, { ...rest, since, limit })).toHaveLength(expected)
  const plans = await plansOf(nodes)
  expect(plans).toContain(index)
  expect(plans).not.toMatch(/Seq Scan on audit|SCAN audit(?!Chips)/)
})
