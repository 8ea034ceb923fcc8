import { sql } from 'kysely'
import { afterEach, beforeEach, expect } from 'vitest'
import { type AdminApp, openAdminApp } from '../../support/admin.ts'
import { batchesBy } from '../../support/batches.ts'
import { testOfFile } from '../../support/engines.ts'
import { seed } from '../../support/seeds.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({ seed })
})
afterEach(() => t.close())

/** SQLite's own limit, by which a write fails as on a full disk. */
const limit = (pages: number) =>
  t.ctx.db.write(async (trx) => {
    await sql`PRAGMA max_page_count = ${sql.raw(String(pages))}`.execute(trx)
  })

testOfFile('a batch waits while the disk is full, says so, and goes on by itself', async () => {
  const batches = batchesBy(t)
  const rows = Array.from({ length: 400 }, (_, n) => ({
    row: n + 1,
    uid: `04AC${n.toString(16).padStart(8, '0').toUpperCase()}80`,
    chipGroup: 'New',
    keySet: 101,
  }))
  const id = await batches.uploaded('chips apply', rows)
  await batches.call('POST', `/${id}/start`)
  // Less than there is already: SQLite takes it for what there is.
  await limit(1)
  const ended = t.ctx.batches.tick()
  await expect
    .poll(async () => (await batches.show(id)).error)
    .toBe('The disk is full. The batch continues automatically.')
  const { state, done } = await batches.show(id)
  expect(state).toBe('running')
  expect(done).toBeLessThan(400)
  await limit(1_000_000)
  await ended
  expect(await batches.show(id)).toMatchObject({ state: 'done', changed: 400, error: null })
  expect((await batches.report(id)).map(({ status }) => status)).toEqual(rows.map(() => 'created'))
})
