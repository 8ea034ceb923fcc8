import { createHash } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { badgeEventCreation as kind } from '../../../../src/daemon/domain/batches/kinds/badge-events.ts'
import { type BadgeApp, eventFields, openBadgeApp, openPoapApp } from '../../../support/badges.ts'
import { problemOf } from '../../../support/batch-kinds.ts'
import { batchesBy } from '../../../support/batches.ts'
import { testClock } from '../../../support/daemon.ts'
import { png } from '../../../support/poap/image-bytes.ts'
import { acmeKey, otherKey } from '../../../support/seeds.ts'

const sum = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const image = sum(png())
const rowsOf = (...names: string[]) => names.map((name, at) => ({ row: at + 1, ...eventFields, name, image }))

function hands(t: BadgeApp, key = acmeKey) {
  const batches = batchesBy(t, { 'x-svc-api-key': key }, '/batches')
  const file = async (id: string, bytes: Uint8Array, hash = sum(bytes)) => {
    const answer = await t.app.inject({
      method: 'POST',
      url: `/batches/${id}/files/${hash}`,
      headers: { 'x-svc-api-key': key, 'content-type': 'image/png' },
      payload: Buffer.from(bytes),
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  const uploaded = async (rows: readonly object[], more?: object) => {
    const { body } = await batches.create('badge-events create', rows, more)
    const { id } = body.batch
    expect(await file(id, png())).toEqual({ status: 200, body: { success: true } })
    expect((await batches.upload(id, rows)).status).toBe(200)
    return id as string
  }
  return { ...batches, file, uploaded }
}

async function open() {
  const t = await openBadgeApp({ clock: testClock() })
  onTestFinished(() => t.close())
  return { t, ...hands(t) }
}

const events = (t: BadgeApp) => t.ctx.db.read.selectFrom('badgeEvents').select(['id', 'name']).execute()

test('a row is an event, with its image by its sum', () => {
  const [row = {}] = rowsOf('Opening')
  expect(problemOf(kind, row)).toBeUndefined()
  expect(problemOf(kind, { ...row, image: 'badge.png' })).toMatch(/^image must be the SHA-256/)
  expect(problemOf(kind, { ...row, name: ' ' })).toBe('name is missing')
  expect(problemOf(kind, { ...row, requestedCodes: 'many' })).toMatch(
    /^requestedCodes must be a whole number/,
  )
  expect(problemOf(kind, { ...row, virtualEvent: 'maybe' })).toBe('virtualEvent must be true or false')
  expect(problemOf(kind, { ...row, eventURL: 'ftp://x' })).toBe('eventURL must be an http(s) URL')
})

test('is planned, and creates each event once, with its image', async () => {
  const { t, uploaded, plan, run, report, call } = await open()
  const rows = [...rowsOf('One', 'Two', 'One'), { ...rowsOf('Late')[0], row: 4, expiryDate: '2020-01-01' }]
  const id = await uploaded(rows)
  expect(await plan(id)).toMatchObject([
    { row: 1, status: 'created', name: 'One' },
    { row: 2, status: 'created' },
    { row: 3, status: 'unchanged' },
    { row: 4, status: 'failed', error: expect.stringContaining('expiryDate') },
    { totals: { created: 2, unchanged: 1, failed: 1 } },
  ])
  expect(await run(id)).toMatchObject({ state: 'done', changed: 2, unchanged: 1, failed: 1 })
  const results = await report(id)
  const [one, two] = results.map(({ id: event }) => event)
  expect(results).toMatchObject([
    { row: 1, status: 'created', id: expect.any(Number) },
    { row: 2, status: 'created', id: expect.any(Number) },
    { row: 3, status: 'unchanged', id: one },
    { row: 4, status: 'failed' },
  ])
  expect(one).not.toBe(two)
  const shown = await t.app.inject({ url: `/badge-events/${one}/image` })
  expect(shown.rawPayload).toEqual(png())
  const undo = await call('POST', `/${id}/undo`, {})
  expect(undo).toMatchObject({ status: 409, body: { message: expect.stringContaining('cannot be deleted') } })
})

test('a sheet that was created, by a batch or one by one, creates nothing twice', async () => {
  const { t, uploaded, plan, run, report } = await open()
  const { body } = await t.create({ name: 'One' }, { once: true })
  const first = await uploaded(rowsOf('One', 'Two'))
  expect(await plan(first)).toMatchObject([{ status: 'unchanged', id: body.id }, { status: 'created' }, {}])
  await run(first)
  const again = await uploaded(rowsOf('One', 'Two'))
  expect(await plan(again)).toMatchObject([{ status: 'unchanged' }, { status: 'unchanged' }, {}])
  expect(await run(again)).toMatchObject({ unchanged: 2, changed: 0 })
  expect((await report(again)).map(({ id }) => id)).toEqual((await report(first)).map(({ id }) => id))
  const once = await t.create({ name: 'Two' }, { once: true })
  expect(once.body).toMatchObject({ unchanged: true })
  expect((await events(t)).filter(({ name }) => name === 'One' || name === 'Two')).toHaveLength(2)
})

test('files are checked, counted, and the batch’s own', async () => {
  const { t, create, file, show, upload, plan, call } = await open()
  const rows = rowsOf('One')
  const { id } = (await create('badge-events create', rows)).body.batch
  expect(await file(id, png(), sum(Buffer.from('x')))).toMatchObject({ status: 400 })
  expect(await file(id, Buffer.from('no image'))).toMatchObject({ status: 415 })
  expect(await hands(t, otherKey).file(id, png())).toMatchObject({ status: 404 })
  const stored = async () =>
    (
      await t.ctx.db.read
        .selectFrom('batches')
        .select('stored')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    ).stored
  const files = () => t.ctx.db.read.selectFrom('batchFiles').selectAll().execute()
  const before = await stored()
  await upload(id, rows)
  const withRows = await stored()
  expect(withRows).toBeGreaterThan(before)
  // Without its image, an event cannot be created.
  expect(await plan(id)).toMatchObject([{ status: 'failed', error: 'its image was not uploaded' }, {}])
  expect((await file(id, png())).status).toBe(409)
  const other = (await create('badge-events create', rows)).body.batch.id
  await file(other, png())
  await file(other, png())
  const [kept, ...more] = await files()
  expect(more).toEqual([])
  expect(Buffer.from(kept?.data ?? []).includes(png().subarray(0, 32))).toBe(false)
  expect((await show(other)).state).toBe('uploading')
  const edit = (await create('chips edit', [{ row: 1 }])).body.batch.id
  expect(await file(edit, png())).toMatchObject({ status: 409 })
  expect((await call('DELETE', `/${other}`)).status).toBe(200)
  expect(await files()).toEqual([])
})

test('creates events at POAP', async () => {
  const t = await openPoapApp()
  const { uploaded, run, report } = hands(t)
  const id = await uploaded(rowsOf('One', 'Two'))
  expect(await run(id)).toMatchObject({ state: 'done', changed: 2 })
  expect(await report(id)).toMatchObject([
    { status: 'created', id: expect.any(Number) },
    { status: 'created', id: expect.any(Number) },
  ])
})

test('says why it was paused, also after the row that was being sent has ended', async () => {
  const { t, call, show } = await open()
  const there = (await events(t)).length
  const made = (
    await t.call('POST /admin/api-keys', { team: 'Acme', name: 'laptop', scopes: ['read', 'edit'] })
  ).body
  const mine = hands(t, made.key)
  const id = await mine.uploaded(rowsOf(...Array.from({ length: 12 }, (_, n) => `Event ${n}`)), { rate: 20 })
  await mine.call('POST', `/${id}/start`)
  const running = t.ctx.batches.tick()
  await expect.poll(async () => (await show(id)).done, { interval: 10 }).toBeGreaterThan(1)
  await t.call(`DELETE /admin/api-keys/${made.id}`)
  await running
  const { done, error, state } = await show(id)
  expect([state, error]).toEqual([
    'paused',
    expect.stringContaining('"laptop", which started it, was revoked'),
  ])
  expect(await events(t)).toHaveLength(there + done)
  expect((await call('POST', `/${id}/resume`, { rate: 1000 })).status).toBe(200)
  await t.ctx.batches.tick()
  expect(await show(id)).toMatchObject({ state: 'done', changed: 12, error: null })
})
