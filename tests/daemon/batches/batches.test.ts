import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uidFromBytes } from '../../../src/nfc/uid.ts'
import { type AdminApp, openAdminApp } from '../../support/admin.ts'
import { batchesBy } from '../../support/batches.ts'
import { seed, uids } from '../../support/seeds.ts'

let t: AdminApp
let batches: ReturnType<typeof batchesBy>
beforeAll(async () => {
  t = await openAdminApp({ seed })
  batches = batchesBy(t)
})
afterAll(() => t.close())

const decimal = (hex: string): string => uidFromBytes(Buffer.from(hex, 'hex'))
const chip = async (hex: string) => (await t.call(`GET /admin/chips/${hex}`)).body

describe('a batch', () => {
  test('is uploaded, planned, started, run, and followed', async () => {
    const rows = [
      { row: 1, uid: uids.jacket, redirectUrl: 'https://a.example/1' },
      { row: 2, uid: uids.blank, redirectUrl: '' },
      { row: 3, uid: '04AA00000000FF', redirectUrl: 'https://a.example/3' },
    ]
    const { body } = await batches.create('chips apply', rows, { name: 'friday', note: 'For Friday' })
    expect(body).toMatchObject({
      isNew: true,
      batch: {
        kind: 'chips apply',
        state: 'uploading',
        name: 'friday',
        note: 'For Friday',
        team: 'Acme',
        total: 3,
        startedBy: 'root',
      },
    })
    const { id } = body.batch
    expect((await batches.upload(id, rows.slice(0, 2))).body).toEqual({ uploaded: 2 })
    expect((await batches.call('POST', `/${id}/start`)).status).toBe(409)
    expect((await batches.upload(id, rows.slice(0, 2))).status).toBe(409)
    expect((await batches.upload(id, rows.slice(2), 2)).body).toEqual({ uploaded: 3 })
    const before = (await chip(uids.jacket)).redirectUrl
    const planned = await batches.plan(id)
    expect(planned).toMatchObject([
      { row: 1, status: 'changed', changes: { redirectUrl: { from: before, to: 'https://a.example/1' } } },
      { row: 2, status: 'unchanged' },
      { row: 3, status: 'failed' },
      { totals: { changed: 1, unchanged: 1, failed: 1 } },
    ])
    expect((await chip(uids.jacket)).redirectUrl).toBe(before)
    expect(await batches.show('friday')).toMatchObject({ id, state: 'planned', plan: { changed: 1 } })
    expect(await batches.run(id)).toMatchObject({
      state: 'done',
      done: 3,
      changed: 1,
      unchanged: 1,
      failed: 1,
      conflict: 0,
      error: null,
    })
    expect((await chip(uids.jacket)).redirectUrl).toBe('https://a.example/1')
    const lines = await batches.follow(id)
    expect(lines.map(({ row, batch }) => row ?? batch.state)).toEqual([1, 2, 3, 'done'])
    expect((await batches.follow(id, 2)).map(({ row, batch }) => row ?? batch.state)).toEqual([3, 'done'])
    expect(await batches.report(id)).toEqual(lines.slice(0, 3))
    expect(await batches.report(id, '?failed=true')).toMatchObject([{ row: 3, status: 'failed' }])
    const page = await batches.call('GET', `/${id}/rows?limit=2`)
    expect(page.body).toMatchObject({
      rows: [
        {
          row: 1,
          plan: { status: 'changed', changes: { redirectUrl: { from: before } } },
          result: { row: 1 },
        },
        { row: 2, plan: { status: 'unchanged' }, result: { status: 'unchanged' } },
      ],
      next: '1.0',
    })
    const rest = await batches.call('GET', `/${id}/rows?after=1.0`)
    expect(rest.body).toMatchObject({ rows: [{ row: 3, result: { status: 'failed' } }], next: null })
    expect((await batches.call('GET', `/${id}/rows?failed=true`)).body.rows).toEqual(rest.body.rows)
    expect((await batches.call('GET', `/${id}/rows?after=7`)).status).toBe(400)
    const [end, , start] = await t.audit(`batch=${id}`)
    expect([end?.action, start?.action]).toEqual(['batches.end', 'batches.start'])
    expect((await batches.show(id)).auditHead).toMatch(/^[0-9a-f]{64}$/)
  })

  test('is undone by a batch, and then it is undone', async () => {
    const row = { row: 1, uid: uids.blank, redirectUrl: 'https://b.example/' }
    const id = await batches.uploaded('chips apply', [row])
    await batches.plan(id)
    await batches.run(id)
    const { body: undo } = await batches.call('POST', `/${id}/undo`, {})
    expect(undo).toMatchObject({ state: 'uploading', undoes: id, total: 1, uploaded: 1 })
    expect(await batches.plan(undo.id)).toMatchObject([
      { row: 1, status: 'changed' },
      { totals: { changed: 1 } },
    ])
    expect(await batches.run(undo.id)).toMatchObject({ state: 'done', changed: 1 })
    expect((await chip(uids.blank)).redirectUrl).toBeNull()
    expect(await batches.show(id)).toMatchObject({ state: 'undone' })
  })

  test('leaves alone what changed since it was planned', async () => {
    const rows = [
      { row: 1, uid: uids.blank, redirectUrl: 'https://c.example/' },
      { row: 2, uid: uids.twin, redirectUrl: 'https://c.example/' },
    ]
    const id = await batches.uploaded('chips apply', rows)
    await batches.plan(id)
    const other = await batches.uploaded('chips apply', [
      { row: 1, uid: uids.twin, redirectUrl: 'https://colleague.example/' },
    ])
    await batches.run(other)
    expect(await batches.run(id)).toMatchObject({ state: 'done', changed: 1, conflict: 1 })
    expect(await batches.report(id, '?failed=true')).toMatchObject([
      { row: 2, uid: decimal(uids.twin), status: 'conflict' },
    ])
    expect((await chip(uids.twin)).redirectUrl).toBe('https://colleague.example/')
    expect(await batches.run(id, 'resume', { retryFailed: true })).toMatchObject({
      state: 'done',
      done: 2,
      changed: 2,
      conflict: 0,
    })
    expect((await chip(uids.twin)).redirectUrl).toBe('https://c.example/')
    expect((await batches.follow(id)).map(({ row, batch }) => row ?? batch.state)).toEqual([2, 'done'])
  })
})
