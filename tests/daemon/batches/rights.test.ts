import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AdminApp, bearer, openAdminApp } from '../../support/admin.ts'
import { batchesBy, linesOf } from '../../support/batches.ts'
import { seed, uids } from '../../support/seeds.ts'

let t: AdminApp
let root: ReturnType<typeof batchesBy>
beforeAll(async () => {
  t = await openAdminApp({ seed })
  root = batchesBy(t)
})
afterAll(() => t.close())

const tokenWith = async (name: string, ...scopes: string[]) => {
  const { token, id } = (await t.call('POST /admin/admin-tokens', { name, scopes })).body
  return { by: batchesBy(t, bearer(token)), id, headers: bearer(token) }
}
const redirectOf = async (hex: string) => (await t.call(`GET /admin/chips/${hex}`)).body.redirectUrl
const leading = (url: string) => [{ row: 1, uid: uids.blank, redirectUrl: url }]
const linking = [{ row: 1, uid: uids.blank, item: 'jacket' }]

describe("somebody else's batch", () => {
  test('takes no rows and no plan, since its rows run with the scopes of whoever began it', async () => {
    const { by: editor } = await tokenWith('editor', 'edit')
    const { id } = (await root.create('chips apply', linking)).body.batch
    expect((await editor.upload(id, linking)).body).toMatchObject({
      code: 'scope_missing',
      message: expect.stringMatching(
        /was started by root, with another credential.* remove it first: tapchip batch remove b_/,
      ),
    })
    await root.upload(id, linking)
    expect((await editor.call('POST', `/${id}/plan`)).body).toMatchObject({ code: 'scope_missing' })
    expect((await editor.call('POST', `/${id}/start`)).body).toMatchObject({
      code: 'scope_missing',
      message: expect.stringContaining('lacks the scope "all": batch'),
    })
    expect(await root.show(id)).toMatchObject({ state: 'uploading', plan: null })
  })
})

describe('a batch that is proposed', () => {
  test('has a plan', async () => {
    const id = await root.uploaded('chips apply', leading('https://a.example/'), { propose: true })
    expect((await root.call('POST', `/${id}/start`)).body).toMatchObject({
      code: 'conflict',
      message: `Batch ${id} must be planned before it is proposed.`,
    })
    await root.plan(id)
    expect(await root.run(id)).toMatchObject({ state: 'proposed', plan: { changed: 1 } })
  })

  test('stays as it was approved where its rows are tried again', async () => {
    const { by: approver } = await tokenWith('approver', 'approve')
    const id = await root.uploaded('chips apply', leading('https://asked.example/'), { propose: true })
    await root.plan(id)
    await root.call('POST', `/${id}/start`)
    await root.run(await root.uploaded('chips apply', leading('https://colleague.example/')))
    await approver.call('POST', `/${id}/approve`)
    await t.ctx.batches.tick()
    expect(await root.show(id)).toMatchObject({ state: 'done', conflict: 1 })
    expect(await root.run(id, 'resume', { retryFailed: true })).toMatchObject({ state: 'done', conflict: 1 })
    expect(await redirectOf(uids.blank)).toBe('https://colleague.example/')
  })

  test('never shows the totals of one plan and binds another', async () => {
    const rows = Array.from({ length: 501 }, (_, n) => ({
      ...{ row: n + 1, uid: `04AD${n.toString(16).padStart(8, '0')}80` },
      ...{ chipGroup: 'New', keySet: 101 },
    }))
    const id = await root.uploaded('chips apply', rows, { propose: true })
    await root.plan(id)
    const claim = () =>
      t.ctx.db.read.selectFrom('batches').select('nextRow').where('id', '=', id).executeTakeFirstOrThrow()
    const before = (await claim()).nextRow
    // Another plan has begun, and is not complete.
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('batches')
        .set({ plan: null, nextRow: before + 1 })
        .where('id', '=', id)
        .execute(),
    )
    expect((await root.call('POST', `/${id}/start`)).body).toMatchObject({ code: 'conflict' })
    const [first, second] = await Promise.all([
      root.call('POST', `/${id}/plan`),
      root.call('POST', `/${id}/plan`),
    ])
    const complete = [first, second].filter(({ text }) => linesOf(text).at(-1)?.totals !== undefined)
    // Both may have read the same number, or one that of the other: then it began the later plan.
    const { nextRow } = await claim()
    expect([before + 2, before + 3]).toContain(nextRow)
    if (nextRow === before + 2) expect(complete).toHaveLength(1)
    else expect(complete.length).toBeGreaterThan(0)
  })
})

describe('an undo', () => {
  const done = async (url: string) => {
    const id = await root.uploaded('chips apply', leading(url))
    await root.plan(id)
    await root.run(id)
    return id
  }

  test('that somebody else began, and did not start, is begun anew with the scopes of whoever asks', async () => {
    const id = await done('https://b.example/')
    const { by: undoer } = await tokenWith('undoer', 'edit')
    const { body: first } = await root.call('POST', `/${id}/undo`, {})
    await root.plan(first.id)
    const { body: second } = await undoer.call('POST', `/${id}/undo`, {})
    expect(second).toMatchObject({ undoes: id, startedBy: 'undoer', state: 'uploading' })
    expect(await root.show(first.id)).toMatchObject({ state: 'cancelled' })
    expect((await undoer.upload(second.id, leading('https://mine.example/'))).body).toMatchObject({
      message: `Batch ${second.id} is an undo: its rows are made by the daemon.`,
    })
    await undoer.plan(second.id)
    expect(await undoer.run(second.id)).toMatchObject({ state: 'done', changed: 1 })
    expect(await root.show(id)).toMatchObject({ state: 'undone' })
  })

  test('of a batch that went on since takes back all of it, and none goes on while it is undone', async () => {
    const rows = [{ row: 1, uid: uids.blank, redirectUrl: 'https://c.example/' }]
    const id = await root.uploaded('chips apply', [...rows, { ...rows[0], row: 2, uid: uids.twin }])
    await root.run(id)
    const as = (state: 'paused' | 'failed' | 'uploading', which = id) =>
      t.ctx.db.write((trx) => trx.updateTable('batches').set({ state }).where('id', '=', which).execute())
    await as('paused')
    const { body: early } = await root.call('POST', `/${id}/undo`, {})
    expect(await root.run(id, 'resume', {})).toMatchObject({ state: 'done', changed: 2 })
    expect(await root.show(early.id)).toMatchObject({ state: 'cancelled' })
    const { body: undo } = await root.call('POST', `/${id}/undo`, {})
    expect(undo.id).not.toBe(early.id)
    await as('paused')
    await as('failed', undo.id)
    expect((await root.call('POST', `/${id}/resume`, {})).body).toMatchObject({
      code: 'conflict',
      message: `Batch ${id} is being undone by batch ${undo.id}, so it cannot be resumed.`,
    })
    await as('uploading', undo.id)
    await root.plan(undo.id)
    expect(await root.run(undo.id)).toMatchObject({ state: 'done', changed: 2 })
    expect(await redirectOf(uids.blank)).toBe('https://colleague.example/')
  })
})
