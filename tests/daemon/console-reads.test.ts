import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ReadKey } from '../../src/console/requests.ts'
import { ReaderProcess } from '../../src/daemon/store/sqlite/reader-process.ts'
import {
  auditedAfter,
  changeMarks,
  chipsOfTaps,
  openBatches,
  tapIdsAfter,
  tapsByIds,
} from '../../src/daemon/store/taps/live-changes.ts'
import { listTaps } from '../../src/daemon/store/taps/taps.ts'
import { chipStates } from '../../src/values/chip-states.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { databaseOf, dropDatabaseOf, isPostgres, onServer } from '../support/postgres.ts'
import { seed, uids } from '../support/seeds.ts'

// With millions of rows, a query that walks a table takes seconds: each question of the console goes by an index.

/** Queries of this process and of its reader, with values that they were asked with. */
const asked = new Map<string, readonly unknown[]>()
const all = new Set<string>()
const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-console-reads-'))
let t: AdminApp

type Method = (this: unknown, ...given: unknown[]) => unknown

/** Calls what is called there as ever, and notes it. */
function note(of: object, name: string, read: (first: unknown) => [sql: string, values: readonly unknown[]]) {
  const methods = of as Record<string, Method>
  const original = methods[name] as Method
  vi.spyOn(methods, name).mockImplementation(function (this: unknown, ...given) {
    const [sql, values] = read(given[0])
    if (/^\s*(select|with)\b/i.test(sql)) asked.set(sql, values)
    return original.apply(this, given)
  })
}

beforeAll(async () => {
  note(BetterSqlite3.prototype, 'prepare', (sql) => [String(sql), []])
  note(ReaderProcess.prototype, 'run', (job) => [(job as { sql?: string }).sql ?? '', []])
  note(Client.prototype, 'query', (query) => {
    const { text = '', values = [] } = query as { text?: string; values?: unknown[] }
    return [text, values]
  })
  t = await openAdminApp({ seed, dataDir })
})
afterAll(async () => {
  vi.restoreAllMocks()
  await t.close()
  rmSync(dataDir, { recursive: true, force: true })
  await dropDatabaseOf(dataDir)
})

const withEach = (name: string, values: readonly string[]) => ['', ...values.map((one) => `&${name}=${one}`)]
const inStates = withEach('state', chipStates)
const uid = uids.jacket
const token = 'chainId=31337&contractAddress=0x0000000000000000000000000000000000000001&tokenId=1'
const since = 'since=2026-01-01T00:00:00.000Z'

/** What the screens ask, with each of their filters. Each is asked of all teams and of one. */
const questions: Readonly<Record<ReadKey, readonly string[]>> = {
  'GET /admin/whoami': [''],
  'GET /admin/teams': [''],
  'GET /admin/taps/pulse': [''],
  'GET /admin/items': ['&team=Acme'],
  'GET /admin/chips': [
    ...inStates,
    ...inStates.map((one) => `${one}&after=0:1`),
    ...inStates.map((one) => `${one}&chipGroup=Jackets&team=Acme`),
    ...inStates.map((one) => `${one}&label=F&team=Acme`),
    ...inStates.map((one) => `${one}&label=F&after=0:FA&team=Acme`),
    ...inStates.map((one) => `${one}&item=jacket&team=Acme`),
    ...inStates.map((one) => `${one}&uid=${uid}&uid=${uids.twin}`),
    ...inStates.map((one) => `${one}&${token}`),
  ],
  'GET /admin/chips/stats': ['', '&chipGroup=Jackets&team=Acme'],
  'GET /admin/chips/:uid': [''],
  'GET /admin/chips/:uid/history': ['', '&before=2026-06-01T00:00:00.000Z'],
  'GET /admin/batches': withEach('state', [
    'proposed',
    'running',
    'paused',
    'failed',
    'scheduled',
    'planned',
  ]),
  'GET /admin/batches/:id': [''],
  'GET /admin/batches/:id/rows': ['', '&status=failed', '&after=100'],
  'GET /admin/nfc/stations': [''],
  'GET /admin/badge-events': [''],
  'GET /admin/guestbooks': [''],
  'GET /admin/events/rates': [''],
  'GET /admin/pages/preview': ['&team=Acme'],
  'GET /admin/status': [''],
  'GET /admin/audit': [
    ...['', '&before=100', `&${since}`, `&uid=${uid}`, '&batch=b_1hq3v9k7s2m4xa'],
    ...['&action=chips', '&action=chips.disable', '&by=mara', '&by=mara&action=chips', `&by=mara&${since}`],
  ],
  'GET /admin/chains': [''],
  'GET /admin/transactions': ['', '&before=1000'],
  'GET /admin/transactions/stats': [''],
  'GET /admin/webhooks/health': [''],
  'GET /admin/webhook-deliveries': withEach('state', ['waiting', 'delivered', 'failed', 'dropped']).flatMap(
    (one) => [one, `${one}&before=1000`, `${one}&webhook=1`],
  ),
}

/** Of which there may be very many. */
const large = [
  ...['chips', 'removedChips', 'tokens', 'taps', 'spentCodes', 'audit', 'auditChips', 'transactions'],
  ...['transactionAttempts', 'webhookDeliveries', 'badgeClaims', 'badgeAssignments', 'badgeRecipients'],
  ...[
    'guestbookAssignments',
    'guestbookEntries',
    'claimRegistrations',
    'batchPieces',
    'chipNotes',
    'nfcPlans',
  ],
]

/** Goes from the newest row on, and every row, or nearly every one, is an answer. */
const isNewest = (sql: string, table: string): boolean =>
  [
    `from "${table}" order by ("${table}"[.])?"id" desc limit`,
    'from "webhookDeliveries" inner join "webhooks" .* where "webhooks"."removedAt" is null order by',
    // The valid ones. At most 200,000 others are kept.
    'from "taps" where "outcome" = [?$]1? order by "id" desc limit',
  ].some((form) => new RegExp(form).test(sql))

function walkedOnSqlite(database: BetterSqlite3.Database, sql: string): string[] {
  const unknown = [...sql.matchAll(/\?/g)].map(() => null)
  const steps = database.prepare<unknown[], { detail: string }>(`explain query plan ${sql}`).all(unknown)
  return steps.flatMap(({ detail }) => {
    const [, table = ''] = /^SCAN (\w+)/.exec(detail) ?? []
    // An index of those 200,000, which has what is compared; or indexes of what is open, of which a part is read.
    const isFew =
      detail.endsWith('USING INDEX tapsRefused') ||
      (/INDEX (transactionsOfSequence|openDeliveries|badgeClaimsOpen)$/.test(detail) && / limit /.test(sql))
    return large.includes(table) && !isFew && !isNewest(sql, table) ? [detail] : []
  })
}

async function walkedOnPostgres(client: Client, sql: string, values: readonly unknown[]): Promise<string[]> {
  const { rows } = await client.query({ text: `explain ${sql}`, values: [...values] })
  const steps = rows.map((row) => String(row['QUERY PLAN']))
  return steps.filter((step) => {
    const [, table = ''] = /Seq Scan on "?(\w+)/.exec(step) ?? []
    return large.includes(table.replace(/^taps_.*/, 'taps'))
  })
}

async function walked(queries: ReadonlyMap<string, readonly unknown[]>): Promise<string[]> {
  const found: string[] = []
  const told = (sql: string, steps: readonly string[]) => {
    if (steps.length > 0) found.push(`${steps.join('; ')}: ${sql}`)
  }
  if (!isPostgres) {
    const database = new BetterSqlite3(join(dataDir, 'tapchip.db'), { readonly: true })
    for (const [sql] of queries) told(sql, walkedOnSqlite(database, sql))
    database.close()
    return found
  }
  const name = new URL((await databaseOf(dataDir)).TAPCHIP_DATABASE_URL ?? '').pathname.slice(1)
  await onServer(async (client) => {
    await client.query('set enable_seqscan = off')
    for (const [sql, values] of queries) told(sql, await walkedOnPostgres(client, sql, values))
  }, name)
  return found
}

test.for(Object.entries(questions))(
  '%s walks no table of which there may be millions of rows',
  async ([key, filters]) => {
    asked.clear()
    const path = key.slice('GET '.length).replace(':uid', uid).replace(':id', 'b_1hq3v9k7s2m4xa')
    for (const filter of filters)
      for (const team of filter.includes('team=') ? [''] : ['', '&team=Acme', '&team=Other']) {
        const { status, text } = await t.call(`GET ${path}?${`${filter}${team}`.slice(1)}`)
        // A read of one thing takes no team, and there is no such batch.
        if (team === '' && !key.includes('batches/:id'))
          expect([filter, status, text]).toEqual([filter, 200, text])
      }
    for (const sql of asked.keys()) all.add(sql)
    expect(await walked(asked)).toEqual([])
  },
)

test('the stream of events walks none either', async () => {
  asked.clear()
  const { slow } = t.ctx.db
  await changeMarks(slow)
  await openBatches(slow)
  await auditedAfter(slow, { id: 1, limit: 500 })
  await chipsOfTaps(slow, [uid])
  await tapIdsAfter(slow, 1)
  await tapsByIds(slow, [1, 2])
  for (const teamId of [undefined, 1])
    for (const before of [undefined, 1000]) await listTaps(slow, { teamId, after: 1, before, limit: 1000 })
  expect(asked.size).toBeGreaterThan(10)
  expect(await walked(asked)).toEqual([])
})

test('each of these asks the database', () => {
  expect(all.size).toBeGreaterThan(100)
})

test('a search has one bound at each end, since of two SQLite may use the wider one and walk the rest', () => {
  const bounds = [...all].filter((sql) =>
    /"(label|uid)" <=? .*"\1" <=? |"(label|uid)" >=? .*"\2" >=? /.test(sql),
  )
  expect(bounds).toEqual([])
})
