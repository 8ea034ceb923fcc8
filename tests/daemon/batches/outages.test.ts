import { afterEach, beforeEach, expect, test } from 'vitest'
import { BatchLoop } from '../../../src/daemon/domain/batches/loop.ts'
import { DatabaseUnavailable, type Db } from '../../../src/daemon/store/database/database.ts'
import { type AdminApp, openAdminApp } from '../../support/admin.ts'
import { batchesBy } from '../../support/batches.ts'
import { seed } from '../../support/seeds.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({ seed })
})
afterEach(() => t.close())

test('a database that fails before a write, or does not tell of it, delays a batch and no more', async () => {
  const batches = batchesBy(t)
  const rows = Array.from({ length: 400 }, (_, n) => ({
    row: n + 1,
    uid: `04AD${n.toString(16).padStart(8, '0').toUpperCase()}80`,
    chipGroup: 'New',
    keySet: 101,
  }))
  const id = await batches.uploaded('chips apply', rows)
  await batches.call('POST', `/${id}/start`)
  let writes = 0
  const { db } = t.ctx
  const failing: Db = {
    ...{ read: db.read, slow: db.slow, maintenance: db.maintenance },
    takeTap: (tap) => db.takeTap(tap),
    close: () => db.close(),
    write: async (job) => {
      writes += 1
      const at = writes
      if (at === 1) throw new DatabaseUnavailable(new Error('gone'))
      const result = await db.write(job)
      if (at === 2) throw new DatabaseUnavailable(new Error('lost'), { isOutcomeUnknown: true })
      return result
    },
  }
  const told: string[] = []
  const loop = new BatchLoop({ ...t.ctx.batches.deps, db: failing }, t.ctx.election, {
    warn: (_about: unknown, text?: string) => told.push(String(text)),
    error: (_about: unknown, text?: string) => told.push(String(text)),
  })
  await loop.tick()
  expect(await batches.show(id)).toMatchObject({
    state: 'done',
    done: 400,
    changed: 400,
    failed: 0,
    error: null,
  })
  expect((await batches.report(id)).map(({ row, status }) => [row, status])).toEqual(
    rows.map(({ row }) => [row, 'created']),
  )
  expect(told).toEqual(['a batch waits for the database'])
  const applied = (await t.audit(`batch=${id}&action=chips.apply&limit=1000`)).map(({ detail }) => detail)
  expect(applied.reduce((sum: number, detail) => sum + Object(detail).created, 0)).toBe(400)
})
