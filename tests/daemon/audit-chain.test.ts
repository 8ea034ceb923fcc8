import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type AuditVerdict, verifyAudit } from '../../src/daemon/domain/audit/audit.ts'
import { markRestored } from '../../src/daemon/domain/backup/mark-restored.ts'
import { recordChange } from '../../src/daemon/store/audit/audit.ts'
import { auditSeal, sealAuditWith } from '../../src/daemon/store/audit/audit-head.ts'
import { SecretBox } from '../../src/daemon/store/data-dir/secret-box.ts'
import { openDatabase } from '../../src/daemon/store/database/open.ts'
import { openSqlite } from '../../src/daemon/store/sqlite/connection.ts'
import { chainStart, hashOfEntry } from '../../src/values/audit-chain.ts'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { currentSchema, nextSchema, withNext, withoutNext } from '../support/schemas.ts'
import { acmeKey, seed } from '../support/seeds.ts'

const folder = mkdtempSync(join(tmpdir(), 'tapchip-audit-'))
const dataDir = join(folder, 'data')
const file = join(dataDir, 'tapchip.db')
const copy = join(folder, 'whole.db')
let entries = 0
const sealed = { sealedSince: expect.stringMatching(/^20.*Z$/), beganAnew: [] }

const change = (target: string) => ({
  at: '2026-06-01T12:00:00.000Z',
  actor: { name: 'admin:alice', requestId: 'r1', batch: 'b_1hq3v9k7s2m4xa' },
  teamId: 1,
  action: 'chips.edit',
  target,
  detail: { from: 1, to: 'ü' },
})

async function verdict(
  t: { ctx: Parameters<typeof verifyAudit>[0] },
  expected?: string,
): Promise<AuditVerdict> {
  for await (const line of verifyAudit(t.ctx, expected)) if (!('checked' in line)) return line
  throw new Error('no verdict')
}

beforeAll(async () => {
  mkdirSync(dataDir)
  const t = await openTestApp({ seed, dataDir })
  for (let n = 0; n < 6; n++) await t.ctx.db.write((trx) => recordChange(trx, change(`chip ${n}`)))
  entries = (await verdict(t)).entries
  await t.close()
  const db = new BetterSqlite3(file)
  await db.backup(copy)
  db.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Edit = (db: BetterSqlite3.Database) => unknown

/** Puts the log back as it was, and edits it by hand while the daemon is stopped. */
async function edit(by: Edit): Promise<void> {
  for (const part of ['', '-wal', '-shm']) rmSync(file + part, { force: true })
  copyFileSync(copy, file)
  const db = new BetterSqlite3(file)
  await by(db)
  db.close()
}

const dataKey = () =>
  new SecretBox(Buffer.from(readFileSync(join(dataDir, 'data.key'), 'utf8').trim(), 'hex'))

async function verdictAfter(by: Edit): Promise<AuditVerdict> {
  await edit(by)
  const { kysely } = openSqlite(file, { readonly: true })
  try {
    return await verdict({ ctx: { db: { read: kysely, slow: kysely }, box: dataKey() } })
  } finally {
    await kysely.destroy()
  }
}

/** With the daemon started on it. */
async function running(by: Edit, use: (t: TestApp) => Promise<AuditVerdict>): Promise<AuditVerdict> {
  await edit(by)
  const t = await openTestApp({ dataDir })
  try {
    return await use(t)
  } finally {
    await t.close()
  }
}

interface Stored {
  id: number
  hash: string
  at: string
  actor: string
  teamId: number | null
  action: string
  target: string
  detail: string
  requestId: string | null
  batch: string | null
}

/** Computes the hashes anew from an entry on, and the head, as somebody who knows the rule can do. */
function rechain(db: BetterSqlite3.Database): void {
  let hash = chainStart
  const rows = db.prepare<[], Stored>('select * from audit order by id').all()
  for (const row of rows) {
    hash = hashOfEntry(hash, row)
    db.prepare('update audit set hash = ? where id = ?').run(hash, row.id)
  }
  db.prepare('update auditHead set hash = ?, entries = ?, lastId = ?').run(hash, rows.length, rows.at(-1)?.id)
}

describe('the chain of the audit log', () => {
  test('is whole as it was written, and its head stands in the answer', async () => {
    const found = await verdictAfter(() => undefined)
    expect(entries).toBeGreaterThan(6)
    expect(found).toEqual({ ok: true, entries, head: expect.stringMatching(/^[0-9a-f]{64}$/), ...sealed })
  })

  const changed = {
    at: "'2026-06-02T12:00:00.000Z'",
    actor: "'admin:bob'",
    teamId: 'null',
    action: "'chips.look'",
    target: "'another'",
    detail: `'{"from":2}'`,
    requestId: 'null',
    batch: "'b_00000000000000'",
    hash: `'${'1'.repeat(64)}'`,
  }
  for (const [column, value] of Object.entries(changed))
    test(`shows a changed ${column}`, async () => {
      const id = entries - 3
      expect(
        await verdictAfter((db) => db.exec(`update audit set "${column}" = ${value} where id = ${id}`)),
      ).toMatchObject({
        ok: false,
        entries,
        firstBad: id,
      })
    })

  const cases: [string, string, () => number][] = [
    ['a removed entry', 'delete from audit where id = :n - 3', () => entries - 3],
    ['a removed first entry', 'delete from audit where id = 1', () => 1],
    ['a removed last entry', 'delete from audit where id = :n', () => entries],
    ['several removed at the end', 'delete from audit where id > :n - 3', () => entries - 2],
    ['a log that was emptied', 'delete from audit', () => 1],
    [
      'swapped entries',
      'update audit set id = -1 where id = :n - 2; update audit set id = :n - 2 where id = :n - 3; update audit set id = :n - 3 where id = -1',
      () => entries - 3,
    ],
    [
      'an added entry',
      `insert into audit (at, actor, action, target, detail, hash) values ('2026', 'x', 'x.y', 'z', '{}', 'h')`,
      () => entries + 1,
    ],
    [
      'an entry added before the first',
      `insert into audit (id, at, actor, action, target, detail, hash) values (-5, '2026', 'x', 'x.y', 'z', '{}', 'h')`,
      () => -5,
    ],
    ['an edited count', 'update auditHead set entries = entries - 1', () => entries + 1],
    ['an edited head', `update auditHead set hash = '${'0'.repeat(64)}'`, () => entries + 1],
    ['a removed seal', 'update auditHead set seal = null', () => entries + 1],
    [
      'an edited time since when it is sealed',
      "update auditHead set sealedSince = '2020-01-01T00:00:00.000Z'",
      () => entries + 1,
    ],
    ['a removed one', 'update auditHead set sealedSince = null, sinceSeal = null', () => entries + 1],
  ]
  for (const [what, sql, firstBad] of cases)
    test(`shows ${what}`, async () => {
      const found = await verdictAfter((db) => db.exec(sql.replaceAll(':n', String(entries))))
      expect(found).toMatchObject({ ok: false, firstBad: firstBad() })
    })

  test('shows that its end was cut off together with the head, which cannot be sealed without the data key', async () => {
    const cut = (db: BetterSqlite3.Database) => {
      db.exec(`delete from audit where id > ${entries - 2}`)
      rechain(db)
    }
    expect(await verdictAfter(cut)).toMatchObject({ ok: false, entries: entries - 2, firstBad: entries - 1 })
    const rewritten = (db: BetterSqlite3.Database) => {
      db.exec("update audit set actor = 'nobody' where id = 2")
      rechain(db)
    }
    expect((await verdictAfter(rewritten)).ok).toBe(false)
  })

  test('is not sealed again by what the daemon records after such an edit', async () => {
    const cut = (db: BetterSqlite3.Database) => {
      db.exec(`delete from audit where id > ${entries - 2}`)
      rechain(db)
    }
    const found = await running(cut, async (t) => {
      for (let n = 0; n < 3; n++) await t.ctx.db.write((trx) => recordChange(trx, change('later')))
      return verdict(t)
    })
    expect(found).toMatchObject({ ok: false, entries: entries + 1 })
  })

  test('says whether an earlier head is in it, and since which entry', async () => {
    const found = await running(
      () => undefined,
      async (t) => {
        const { head } = await verdict(t)
        await t.ctx.db.write((trx) => recordChange(trx, change('later')))
        expect(await verdict(t, '1'.repeat(64))).toMatchObject({ ok: false, expectedAt: null })
        return verdict(t, head)
      },
    )
    expect(found).toMatchObject({ ok: true, entries: entries + 1, expectedAt: entries })
    expect(found).not.toHaveProperty('firstBad')
  })
})

test('ten writes at once, of two processes and some of them undone, each add one entry', async () => {
  const found = await running(
    () => undefined,
    async (t) => {
      const other = openDatabase(file)
      await other.write(async (trx) => sealAuditWith(trx, auditSeal(dataKey())))
      const record = (n: number) =>
        (n % 2 === 0 ? t.ctx.db : other).write(async (trx) => {
          await recordChange(trx, change(`at once ${n}`))
          if (n % 5 === 4) throw new Error('undone')
        })
      const ended = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => record(n)))
      await other.close()
      expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(8)
      return verdict(t)
    },
  )
  expect(found).toEqual({ ok: true, entries: entries + 8, head: expect.any(String), ...sealed })
})

afterEach(withoutNext)

test('a migration is an entry of the log, which stays whole', async () => {
  withNext()
  const found = await running(
    () => undefined,
    async (t) => {
      const audit = t.ctx.db.read.selectFrom('audit').selectAll()
      expect(await audit.orderBy('id', 'desc').limit(1).executeTakeFirst()).toMatchObject({
        ...{ actor: 'daemon', action: 'daemon.migrate', target: nextSchema },
        detail: JSON.stringify({ from: currentSchema }),
      })
      return verdict(t)
    },
  )
  expect(found).toEqual({ ok: true, entries: entries + 1, head: expect.any(String), ...sealed })
})

const replays = {
  'and its head is put back': '',
  'which was never sealed, and a sealed head is put back': 'update auditHead set seal = null;',
}
for (const [what, first] of Object.entries(replays))
  test(`a log from which a trigger removes the entry of a migration, ${what}, is not whole`, async () => {
    withNext()
    const found = await running(
      (db) => {
        db.exec(`create table saved as select * from auditHead;
          ${first}
          create trigger again after insert on kysely_migration when new.name = '${nextSchema}' begin
            delete from audit where action = 'daemon.migrate';
            update auditHead set (entries, lastId, hash, seal, sealedSince, sinceSeal) =
              (select entries, lastId, hash, seal, sealedSince, sinceSeal from saved);
          end`)
      },
      async (t) => {
        const { audit } = (await t.app.inject({ url: '/admin/status', headers: t.admin })).json()
        expect(audit.broken).toEqual({ lastId: entries, expected: entries + 1 })
        // What the daemon records leaves it so.
        await t.ctx.db.write((trx) => recordChange(trx, change('later')))
        return verdict(t)
      },
    )
    expect(found.ok).toBe(false)
  })

test('a head that was put back while the daemon was stopped lacks what is known elsewhere', async () => {
  let later = ''
  const found = await running(
    () => undefined,
    async (t) => {
      const before = await verdict(t)
      await t.ctx.db.write((trx) => recordChange(trx, change('cut off')))
      later = (await verdict(t)).head
      return before
    },
  )
  // The saved file has the head, and nothing that came after it.
  await edit(() => undefined)
  const { kysely } = openSqlite(file, { readonly: true })
  const back = { ctx: { db: { read: kysely, slow: kysely }, box: dataKey() } }
  expect(await verdict(back)).toEqual(found)
  expect(await verdict(back, later)).toMatchObject({ ok: false, expectedAt: null })
  await kysely.destroy()
})

test('a log that is no longer sealed is sealed anew by a restore, which says so', async () => {
  const found = await running(
    (db) => db.exec('update auditHead set seal = null'),
    async (t) => {
      expect((await verdict(t)).ok).toBe(false)
      const at = '2026-07-01T12:00:00.000Z'
      await markRestored(t.ctx.db, t.ctx.box, { at, madeAt: null, target: 'here' })
      return verdict(t)
    },
  )
  const at = '2026-07-01T12:00:00.000Z'
  expect(found).toMatchObject({ ok: true, sealedSince: at, beganAnew: [at] })
})

test('a daemon that starts on a log that was edited says so', async () => {
  await running(
    (db) => db.exec('update auditHead set seal = null'),
    async (t) => {
      const { audit } = (await t.app.inject({ url: '/admin/status', headers: t.admin })).json()
      expect(audit.broken).toEqual({ lastId: entries, expected: entries })
      return verdict(t)
    },
  )
})

test('a team reads the head with its own key; the log itself is for administration', async () => {
  await running(
    () => undefined,
    async (t) => {
      const { head } = await verdict(t)
      const get = (url: string, headers: Record<string, string>) => t.app.inject({ url, headers })
      const team = await get('/team', { 'x-svc-api-key': acmeKey })
      expect(team.json()).toEqual({ id: 1, name: 'Acme', auditHead: head })
      expect((await get('/admin/audit/head', t.admin)).json()).toEqual({ entries, head })
      const verified = (await get('/admin/audit/verify', t.admin)).body.trim().split('\n')
      expect(JSON.parse(verified.at(-1) ?? '')).toEqual({ ok: true, entries, head, ...sealed })
      expect((await get('/admin/audit/verify?expect=short', t.admin)).statusCode).toBe(400)
      const [about, ...rows] = (await get('/admin/audit/export', t.admin)).body.trim().split('\n')
      expect(JSON.parse(about ?? '')).toMatchObject({ format: 'tapchip-audit', version: 1, head })
      expect(rows).toHaveLength(entries)
      return verdict(t)
    },
  )
})
