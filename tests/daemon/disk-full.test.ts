import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { recordChange } from '../../src/daemon/store/audit/audit.ts'
import { Disk } from '../../src/daemon/store/data-dir/disk.ts'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { limitFiles } from '../support/full-disk.ts'
import { bob, openPhygitals } from '../support/phygitals.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let t: TestApp
beforeEach(async () => {
  t = await openTestApp({ seed })
})
afterEach(() => t.close())

/** SQLite's own limit, by which a write fails as on a full disk: so many pages more. @returns what lifts it */
async function leaveRoom(pages: number, { ctx } = t): Promise<() => Promise<void>> {
  const limit = (most: number) =>
    ctx.db.write(async (trx) => {
      await sql`PRAGMA max_page_count = ${sql.raw(String(most))}`.execute(trx)
    })
  const { rows } = await ctx.db.write((trx) => sql<{ page_count: number }>`PRAGMA page_count`.execute(trx))
  await limit((rows[0]?.page_count ?? 0) + pages)
  return () => limit(1_000_000)
}

/** Takes what room is left in pages that are there, for lines of the audit and for transactions. */
async function takeTheRest({ ctx }: Pick<TestApp, 'ctx'>): Promise<void> {
  const actor = { name: 'daemon', requestId: null }
  const line = { at: '2026-06-01T12:00:00.000Z', actor, teamId: null, action: 'x', target: 'y' }
  await expect(
    (async () => {
      for (let left = 1000; left > 0; left -= 1)
        await ctx.db.write((trx) => recordChange(trx, { ...line, detail: { text: 'x'.repeat(100) } }))
    })(),
  ).rejects.toMatchObject({ code: 'SQLITE_FULL' })
}

const get = (url: string) => t.app.inject({ url, headers: t.admin })
const sheet = (rows: number) =>
  `uid\n${Array.from({ length: rows }, (_, n) => `04B0${n.toString(16).padStart(8, '0').toUpperCase()}80`).join('\n')}\n`
const importSheet = async (rows: number, query = '') => {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/admin/chips/import?team=Acme&chipGroup=Big&keySet=101${query}`,
    headers: { ...t.admin, 'content-type': 'text/csv' },
    payload: sheet(rows),
  })
  return answer.body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}
const chipCount = async (): Promise<number> => (await get('/admin/status')).json().counts.chips
const find = (uid: string, counter: number) => get(tapPath(tap(derived, { uid }, counter), '/chips/find'))

describe('what the disk has no room for', () => {
  test('is a 503 in words with Retry-After, is counted, and leaves the tap good', async () => {
    const lift = await leaveRoom(0)
    // Small writes find room in pages that are there; then there is none.
    let counter = 1
    let refused = await find(uids.blank, counter)
    while (refused.statusCode === 200) {
      counter += 1
      refused = await find(uids.blank, counter)
    }
    expect(refused.statusCode).toBe(503)
    expect(refused.json()).toMatchObject({
      code: 'store_full',
      message: 'The disk is full. Nothing was changed; try again once there is space.',
    })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    const page = await get(tapPath(tap(derived, { uid: uids.twin }, counter)))
    expect([page.statusCode, page.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8'])
    expect(page.headers['retry-after']).toBeDefined()
    expect(page.body).toContain('was not used up')
    const metrics = (await get('/metrics')).body
    expect(metrics).toMatch(/^tapchip_writes_refused_total 2$/m)
    expect(metrics).toMatch(/^tapchip_data_dir_free_bytes [1-9]/m)
    expect((await get('/admin/status')).json().disk).toMatchObject({ refusedWrites: 2, state: 'writable' })

    await lift()
    expect((await find(uids.blank, counter)).json().isValidTap).toBe(true)
    expect((await get(tapPath(tap(derived, { uid: uids.twin }, counter)))).statusCode).toBe(200)
  })

  test('ends an import with how many rows stand, which doing it again leaves alone', async () => {
    const before = await chipCount()
    const lift = await leaveRoom(250)
    const lines = await importSheet(10_000)
    const created = lines.filter(({ status }) => status === 'created').length
    expect(created).toBeGreaterThan(0)
    const last = lines.at(-1)
    expect(last).toMatchObject({ statusCode: 503, code: 'store_full' })
    expect(last.message).toBe(
      `The disk is full. ${created} rows were created, 0 were already registered, and the others were not written. ` +
        'Run the import again after freeing some space; it will not change the registered rows.',
    )
    expect(await chipCount()).toBe(before + created)
    // In brief it is the same.
    expect((await importSheet(10_000, '&report=failures')).at(-1).message).toMatch(
      /^The disk is full\. \d+ rows/,
    )
    const stands = (await chipCount()) - before

    await lift()
    expect(await importSheet(10_000, '&report=failures')).toEqual([
      { created: 10_000 - stands, unchanged: stands, failed: 0 },
    ])
  })

  test('leaves no backup behind that nobody was told of', async () => {
    const lift = await leaveRoom(0)
    await takeTheRest(t)
    const backUp = () => t.app.inject({ method: 'POST', url: '/admin/backup', headers: t.admin, payload: {} })
    const refused = await backUp()
    expect([refused.statusCode, refused.json().code]).toEqual([503, 'store_full'])
    expect(readdirSync(join(t.dataDir, 'backups'))).toEqual([])
    await lift()
    expect((await backUp()).statusCode).toBe(200)
  })

  test('fails a row of a batch of transfers alone, and each says for itself', async () => {
    const p = await openPhygitals()
    try {
      // Pages that are free inside the file are used up first, so that the limit is the only room.
      await leaveRoom(0, p)
      await takeTheRest(p)
      const lift = await leaveRoom(3, p)
      const numbers = Array.from({ length: 20 }, (_, index) => index + 1)
      const move = async () => {
        const answer = await p.app.inject({
          method: 'POST',
          url: '/phygitals/transfer/batch',
          headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' },
          payload: numbers.map((n) => JSON.stringify({ ...p.token('JKT', n), recipient: bob })).join('\n'),
        })
        return answer.body
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      }
      const lines = await move()
      expect(lines.map(({ row }) => row)).toEqual(numbers)
      const failed = lines.filter(({ status }) => status === 'failed')
      expect(failed.length).toBeGreaterThan(0)
      expect(failed.length).toBeLessThan(numbers.length)
      for (const { code } of failed) expect(code).toBe('store_full')
      const recorded = async () =>
        (
          await p.ctx.db.read
            .selectFrom('transactions')
            .select('id')
            .where('kind', '=', 'phygital-transfer')
            .execute()
        ).length
      expect(await recorded()).toBe(numbers.length - failed.length)
      await lift()
    } finally {
      await p.close()
    }
  })

  test('says in an answer of lines that what stands above was done', async () => {
    await importSheet(5000)
    const lift = await leaveRoom(500)
    const long = `https://example.com/${'x'.repeat(900)}`
    const rows = Array.from({ length: 5000 }, (_, n) => ({
      uid: `04B0${n.toString(16).padStart(8, '0').toUpperCase()}80`,
      redirectUrl: long,
    }))
    const answer = await t.app.inject({
      method: 'POST',
      url: '/chips/batch',
      headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' },
      payload: rows.map((row) => JSON.stringify(row)).join('\n'),
    })
    const lines = answer.body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const changed = lines.filter(({ status }) => status === 'changed').length
    const last = lines.at(-1)
    expect(last).toMatchObject({ statusCode: 503, code: 'store_full' })
    expect(changed).toBeGreaterThan(0)
    expect(last.message).toMatch(/^The disk is full\. The lines above were done, and the rest was not\./)
    await lift()
    const { count } = await t.ctx.db.read
      .selectFrom('chips')
      .where('redirectUrl', '=', long)
      .select((all) => all.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    expect(count).toBe(changed)
  })
})

describe('the disk of the data directory', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tapchip-disk-'))
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  test('is full until a write goes through again, which is seen by itself', async () => {
    const disk = new Disk(dir)
    const write = async () => writeFileSync(join(dir, 'database'), 'some')
    expect(await disk.state(write)).toBe('writable')
    const lift = limitFiles(0)
    try {
      disk.failed(
        Object.assign(new Error('in words'), { cause: Object.assign(new Error(), { code: 'ENOSPC' }) }),
      )
      expect(await disk.state(write)).toBe('full')
    } finally {
      lift()
    }
    await expect.poll(() => disk.state(write)).toBe('writable')
    expect(readdirSync(dir)).toEqual(['database'])
    expect(disk.refusedWrites).toBe(1)
  })

  test('is failing, not full, where writes are refused for another reason', async () => {
    const disk = new Disk(dir)
    const broken = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' })
    disk.failed(broken)
    expect(await disk.state(() => Promise.reject(broken))).toBe('failing')
    // Nobody counts it twice.
    disk.failed(broken)
    expect(disk.refusedWrites).toBe(1)
  })

  test('a mistake of the caller is none of it', () => {
    const disk = new Disk(dir)
    disk.failed(Object.assign(new Error(), { code: 'SQLITE_CONSTRAINT_UNIQUE' }))
    expect(disk.refusedWrites).toBe(0)
  })
})

test('what a killed daemon was still writing goes at the next start', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-left-'))
  const left = [
    'instance.123.new',
    'daemon.json.new',
    'disk-probe.new',
    'backups/tapchip-2026.partial/tapchip.db',
  ]
  const kept = ['notes.new', 'backups/tapchip-2025/tapchip.db', 'backups/mine.partial']
  try {
    for (const path of [...left, ...kept]) {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), 'half')
    }
    const app = await openTestApp({ dataDir: dir })
    await app.close()
    for (const path of left) expect([path, existsSync(join(dir, path))]).toEqual([path, false])
    for (const path of kept) expect([path, existsSync(join(dir, path))]).toEqual([path, true])
    expect(existsSync(join(dir, 'backups/tapchip-2026.partial'))).toBe(false)
  } finally {
    rmSync(dir, { recursive: true })
  }
})
