import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { forgetBatches } from '../../../src/daemon/domain/batches/pieces.ts'
import { type AdminApp, bearer, openAdminApp, tenTimes } from '../../support/admin.ts'
import { batchesBy } from '../../support/batches.ts'
import { acmeKey, otherKey, seed, uids } from '../../support/seeds.ts'

let t: AdminApp
let batches: ReturnType<typeof batchesBy>
beforeAll(async () => {
  t = await openAdminApp({ seed })
  batches = batchesBy(t)
})
afterAll(() => t.close())

const chip = async (hex: string) => (await t.call(`GET /admin/chips/${hex}`)).body
const uidOf = (n: number) => `04AB${n.toString(16).padStart(8, '0').toUpperCase()}80`
/** Chips that are not there: they are created. */
const newChips = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    row: n + 1,
    uid: uidOf(from + n),
    chipGroup: 'New',
    keySet: 101,
  }))
const stepsOf = async (id: string) =>
  (await t.audit(`batch=${id}&limit=1000`)).map(({ action }) => action).filter((a) => /^batches/.test(a))

/** Runs a row a second, of which the first is done when this resolves. */
const begunSlowly = async (from: number) => {
  const id = await batches.uploaded('chips apply', newChips(from, 30), { rate: 1 })
  await batches.call('POST', `/${id}/start`)
  void t.ctx.batches.tick()
  await expect.poll(async () => (await batches.show(id)).done).toBeGreaterThan(0)
  return id
}

describe('each step', () => {
  test('is taken once, however many ask for it at a time', async () => {
    const id = await batches.uploaded('chips apply', newChips(0, 10))
    expect(await tenTimes(() => batches.call('POST', `/${id}/start`))).toEqual({ 200: 10 })
    await Promise.all([t.ctx.batches.tick(), t.ctx.batches.tick()])
    expect(await batches.show(id)).toMatchObject({ state: 'done', changed: 10 })
    expect(await stepsOf(id)).toEqual(['batches.end', 'batches.start'])
    const slow = await begunSlowly(100)
    expect(await tenTimes(() => batches.call('POST', `/${slow}/pause`))).toEqual({ 200: 10 })
    const { done } = await batches.show(slow)
    expect(done).toBeLessThan(30)
    expect(await batches.show(slow)).toMatchObject({ state: 'paused', error: 'Paused by root.' })
    await t.ctx.batches.tick()
    expect(await batches.show(slow)).toMatchObject({ state: 'paused', done })
    const resume = () => batches.call('POST', `/${slow}/resume`, { rate: 1_000_000 })
    expect(await tenTimes(resume)).toEqual({ 200: 10 })
    await t.ctx.batches.tick()
    expect(await batches.show(slow)).toMatchObject({ state: 'done', changed: 30, error: null })
    expect(await stepsOf(slow)).toEqual(['batches.end', 'batches.resume', 'batches.pause', 'batches.start'])
    expect((await batches.report(slow)).map(({ row, status }) => [row, status])).toEqual(
      Array.from({ length: 30 }, (_, n) => [n + 1, 'created']),
    )
  })

  test('is refused where it makes no sense', async () => {
    const unstarted = await batches.uploaded('chips apply', [{ row: 1, uid: uids.blank }], { name: 'friday' })
    expect((await batches.call('POST', `/${unstarted}/resume`, {})).body).toMatchObject({
      code: 'conflict',
      message: `Batch ${unstarted} was never started, so there is nothing to resume. Run the command that started it again, with --name friday.`,
    })
    const slow = await begunSlowly(200)
    expect((await batches.call('POST', `/${slow}/cancel`)).body).toMatchObject({ code: 'batch_running' })
    expect((await batches.call('DELETE', `/${slow}`)).body).toMatchObject({ code: 'batch_running' })
    expect((await batches.call('POST', `/${slow}/undo`, {})).body).toMatchObject({ code: 'conflict' })
    await batches.call('POST', `/${slow}/pause`)
    expect((await batches.call('POST', `/${slow}/cancel`)).body).toMatchObject({ state: 'cancelled' })
    expect((await batches.call('POST', `/${slow}/start`)).status).toBe(409)
    expect((await batches.call('POST', `/${slow}/resume`, {})).status).toBe(409)
    const { body: undo } = await batches.call('POST', `/${slow}/undo`, {})
    expect(await batches.run(undo.id)).toMatchObject({ state: 'done', changed: undo.total })
    expect(await batches.show(slow)).toMatchObject({ state: 'undone' })
    expect((await t.call(`GET /admin/chips/${uidOf(200)}`)).status).toBe(404)
    expect((await batches.call('POST', `/${slow}/undo`, {})).status).toBe(409)
    expect((await batches.call('DELETE', `/${slow}`)).body).toEqual({ success: true })
    expect((await batches.call('GET', `/${slow}`)).status).toBe(404)
    const pieces = await t.ctx.db.read
      .selectFrom('batchPieces')
      .where('batchId', '=', slow)
      .selectAll()
      .execute()
    expect(pieces).toEqual([])
  })

  test('of a removal cannot be undone, which is said', async () => {
    const id = await batches.uploaded('chips remove', [
      { row: 1, uid: uidOf(0), remove: 'always' },
      { row: 2, uid: '04AB00000000FF', remove: 'always' },
    ])
    expect(await batches.plan(id, '?report=exceptions')).toMatchObject([
      { row: 2, status: 'failed', error: 'The team has no such chip. Check the UID.' },
      { totals: { removed: 1, failed: 1 } },
    ])
    expect(await batches.run(id)).toMatchObject({ state: 'done', changed: 1, failed: 1 })
    expect((await t.call(`GET /admin/chips/${uidOf(0)}`)).status).toBe(404)
    const { body } = await batches.call('POST', `/${id}/undo`, {})
    expect(body).toMatchObject({
      statusCode: 409,
      message: expect.stringContaining('A removal cannot be undone'),
    })
  })
})

test('what holds for all rows has a bound', async () => {
  const settings = { reason: 'x'.repeat(16_384) }
  const { status, body } = await batchesBy(t).create('chips disable', [{ row: 1 }], { settings })
  expect([status, body.message]).toEqual([400, expect.stringContaining('settings must be at most 16384')])
})

describe('a name', () => {
  test('stands for the batch, and given again with the same rows finds it', async () => {
    const rows = [{ row: 1, uid: uids.blank, redirectUrl: 'https://named.example/' }]
    const first = (await batches.create('chips apply', rows, { name: 'spring' })).body
    expect(first).toMatchObject({ isNew: true })
    const again = await batches.create('chips apply', rows, { name: 'spring' })
    expect(again.body).toMatchObject({ isNew: false, batch: { id: first.batch.id } })
    const other = await batches.create('chips apply', [...rows, ...newChips(1, 1)], { name: 'spring' })
    expect(other.body).toMatchObject({ statusCode: 409, code: 'batch_name_taken' })
    const many = await tenTimes(() => batches.create('chips apply', rows, { name: 'at once' }))
    expect(many).toEqual({ 400: 10 })
    for (const name of ['.', '..'])
      expect((await batches.create('chips apply', rows, { name })).body.message).toContain(
        'must not be . or ..',
      )
    const racing = await tenTimes(() => batches.create('chips apply', rows, { name: 'at-once' }))
    expect(racing).toEqual({ 200: 10 })
    expect((await batches.call('GET', '/at-once')).body).toMatchObject({ name: 'at-once' })
  })
})

describe('rights', () => {
  test('a key runs the kinds that it may, and sees batches of its own team alone', async () => {
    const own = batchesBy(t, { 'x-svc-api-key': acmeKey }, '/batches')
    const rows = [{ row: 1, uid: uids.blank, redirectUrl: 'https://key.example/' }]
    expect((await own.create('chips apply', rows)).body).toMatchObject({ code: 'scope_missing' })
    const id = await own.uploaded('chips edit', rows)
    expect(await own.plan(id)).toMatchObject([{ row: 1, status: 'changed' }, { totals: { changed: 1 } }])
    expect(await own.run(id)).toMatchObject({ state: 'done', changed: 1, startedBy: expect.any(String) })
    expect((await chip(uids.blank)).redirectUrl).toBe('https://key.example/')
    const { body: undo } = await own.call('POST', `/${id}/undo`, {})
    expect(await own.run(undo.id)).toMatchObject({ state: 'done', changed: 1 })
    expect((await chip(uids.blank)).redirectUrl).toBeNull()

    const foreign = batchesBy(t, { 'x-svc-api-key': otherKey }, '/batches')
    expect((await foreign.call('GET', `/${id}`)).status).toBe(404)
    expect((await foreign.call('GET', '')).body).toEqual([])

    const { key } = (await t.call('POST /admin/api-keys', { team: 'Acme', name: 'reader', scopes: ['read'] }))
      .body
    const reader = batchesBy(t, { 'x-svc-api-key': key }, '/batches')
    expect(await reader.show(id)).toMatchObject({ id, state: 'undone' })
    expect((await reader.call('GET', '')).body.length).toBeGreaterThan(1)
    for (const path of ['follow', 'report'])
      expect((await reader.call('GET', `/${id}/${path}`)).body).toMatchObject({ code: 'scope_missing' })
    for (const step of ['plan', 'start', 'approve', 'pause', 'cancel'])
      expect((await reader.call('POST', `/${id}/${step}`)).body).toMatchObject({ code: 'scope_missing' })
  })

  test('what a batch gives power over takes the scope of whoever began it', async () => {
    const { token } = (await t.call('POST /admin/admin-tokens', { name: 'editor', scopes: ['edit'] })).body
    const editor = batchesBy(t, bearer(token))
    const id = await editor.uploaded('chips apply', [{ row: 1, uid: uids.blank, item: 'jacket' }])
    expect(await batches.run(id)).toMatchObject({ state: 'done', failed: 1 })
    expect(await batches.report(id)).toMatchObject([{ error: expect.stringContaining('transfer') }])
  })
})

test('a team whose share is full is told so', async () => {
  const { id } = (await batches.create('chips apply', newChips(1, 1))).body.batch
  const row = await t.ctx.db.read
    .selectFrom('batches')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const full = (state: 'done' | 'uploading', stored: number) =>
    t.ctx.db.write((trx) =>
      trx.updateTable('batches').set({ stored, state }).where('id', '=', row.id).execute(),
    )
  await full('uploading', 2 ** 29)
  const refused = {
    statusCode: 413,
    code: 'too_large',
    message: expect.stringContaining('tapchip batch remove'),
  }
  expect((await batches.create('chips apply', newChips(1, 1))).body).toMatchObject(refused)
  expect((await batches.upload(id, newChips(1, 1))).body).toMatchObject(refused)
  const own = batchesBy(t, { 'x-svc-api-key': otherKey }, '/batches')
  expect((await own.create('chips edit', newChips(1, 1))).status).toBe(200)
  await full('uploading', 0)
  expect((await batches.upload(id, newChips(1, 1))).status).toBe(200)
})

test('batches are forgotten: uploads that never ended soon, and those that are done later', async () => {
  const states = ['uploading', 'done', 'paused', 'running', 'scheduled'] as const
  const ids = new Map<string, string>()
  for (const state of states) {
    const { id } = (await batches.create('chips apply', newChips(1, 1))).body.batch
    ids.set(state, id)
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('batches')
        .set({ state, touchedAt: '2026-01-01T00:00:00.000Z' })
        .where('id', '=', id)
        .execute(),
    )
  }
  const left = async () => {
    const known: { id: string }[] = (await batches.call('GET', '?limit=1000')).body
    return states.filter((state) => known.some(({ id }) => id === ids.get(state)))
  }
  const forget = (at: string) => t.ctx.db.write((trx) => forgetBatches(trx, Date.parse(at), 500))
  await forget('2026-01-01T00:59:00.000Z')
  expect(await left()).toEqual(states)
  await forget('2026-01-01T01:01:00.000Z')
  expect(await left()).toEqual(['done', 'paused', 'running', 'scheduled'])
  await forget('2026-04-02T00:00:00.000Z')
  expect(await left()).toEqual(['paused', 'running', 'scheduled'])
  await forget('2026-07-01T00:00:00.000Z')
  expect(await left()).toEqual(['running', 'scheduled'])
})
