import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { acmeKey, otherKey, seed, uids } from '../support/seeds.ts'

let t: AdminApp
let clock: TestClock
let acme: Record<string, string>
let globex: Record<string, string>
const id = 'b_1hq3v9k7s2m4xa'
const keyOf = async (team: string, scopes = ['all']) => {
  const { key } = (await t.call('POST /admin/api-keys', { name: `${team} ${scopes}`, team, scopes })).body
  return { 'x-svc-api-key': String(key) }
}
beforeEach(async () => {
  clock = testClock()
  t = await openAdminApp({ clock })
  for (const name of ['Acme', 'Globex']) await t.call('POST /admin/teams', { name })
  acme = await keyOf('Acme')
  globex = await keyOf('Globex')
})
afterEach(() => t.close())

const about = {
  kind: 'chips edit',
  total: 10,
  startedAt: '2026-06-01T11:59:59.000Z',
  host: 'desk',
  place: 'journal-1',
  context: 'shop',
}
const holder = 'first-holder-0001'
const hold = (more: object = {}, headers = acme, of = id) =>
  t.call(`POST /batch-journals/${of}/hold`, { ...about, holder, ...more }, headers)
const base64 = (text: string) => Buffer.from(text).toString('base64')
const chunk = (offset: number, text: string) => ({ offset, bytes: text.length, data: base64(text) })
const append = (more: object = {}, headers = acme) =>
  t.call(
    `POST /batch-journals/${id}/journal`,
    { holder, state: 'running', done: 0, failed: 0, ...more },
    headers,
  )
const remove = (of = id, headers = acme) => t.call(`DELETE /batch-journals/${of}`, undefined, headers)
const limitReached = 'The limit of stored batches is reached. Delete old ones: tapchip batch remove ID.'
const journal = async (headers = acme, side = '') => {
  const { text } = await t.call(`GET ${side}/batch-journals/${id}/journal`, undefined, headers)
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => Buffer.from(JSON.parse(line).data, 'base64').toString())
    .join('')
}
const list = async (headers = acme, side = '') =>
  (await t.call(`GET ${side}/batch-journals`, undefined, headers)).body

describe('the journal of a batch', () => {
  test('is kept piece by piece, and listed with its progress', async () => {
    expect((await hold()).body).toEqual({ lease: 1, length: 0 })
    expect((await append({ chunk: chunk(0, 'header ') })).body).toEqual({ length: 7 })
    expect((await append({ chunk: chunk(7, 'rows'), done: 3, failed: 1 })).body).toEqual({ length: 11 })
    expect(await journal()).toBe('header rows')
    const shown = {
      id,
      kind: 'chips edit',
      state: 'running',
      host: 'desk',
      context: 'shop',
      team: 'Acme',
      done: 3,
      failed: 1,
      total: 10,
      lease: 1,
      length: 11,
    }
    expect(await list()).toEqual([expect.objectContaining(shown)])
    expect(await list(t.admin, '/admin')).toEqual([expect.objectContaining(shown)])
    expect((await list())[0]).not.toHaveProperty('holder')
  })

  test('takes a piece that is sent again once, and no other at that place', async () => {
    await hold()
    await append({ chunk: chunk(0, 'abc') })
    expect((await append({ chunk: chunk(0, 'abc') })).body).toEqual({ length: 3 })
    expect((await append({ chunk: chunk(1, 'xyz') })).status).toBe(409)
    expect((await append({ chunk: chunk(9, 'xyz') })).status).toBe(409)
    expect(await journal()).toBe('abc')
  })

  test('is sealed in the database, and read by nobody without the scope', async () => {
    await hold()
    await append({ chunk: chunk(0, 'fileReadKey 00112233') })
    const [row] = await t.ctx.db.read.selectFrom('batchChunks').select('data').execute()
    expect(Buffer.from(row?.data ?? []).includes('fileReadKey')).toBe(false)
    const reader = await keyOf('Acme', ['read'])
    expect((await t.call(`GET /batch-journals/${id}/journal`, undefined, reader)).status).toBe(403)
    expect((await hold({ takeOver: true }, reader)).status).toBe(403)
    expect((await append({}, reader)).status).toBe(403)
    expect(await list(reader)).toHaveLength(1)
    expect(await journal(await keyOf('Acme', ['transfer']))).toBe('fileReadKey 00112233')
  })

  test('of an operator is no team’s, whatever its scopes', async () => {
    const body = { ...about, holder }
    expect(
      (await t.call(`POST /admin/batch-journals/${id}/hold`, body, { ...t.admin, ...acme })).status,
    ).toBe(200)
    const told = { holder, state: 'done', done: 9, failed: 1, chunk: chunk(0, 'secret') }
    expect((await t.call(`POST /admin/batch-journals/${id}/journal`, told)).status).toBe(200)
    expect(await journal(t.admin, '/admin')).toBe('secret')
    expect(await list()).toEqual([])
    expect((await hold({ takeOver: true })).status).toBe(404)
    expect((await t.call(`GET /batch-journals/${id}/journal`, undefined, acme)).status).toBe(404)
  })

  test('is begun anew where the machine that wrote it has less', async () => {
    await hold()
    await append({ chunk: chunk(0, 'abcdef'), state: 'stopped' })
    expect((await hold({ length: 6 })).body).toMatchObject({ length: 6 })
    expect((await hold({ gone: 2, length: 4 })).body).toMatchObject({ length: 0 })
    await append({ chunk: chunk(0, 'ab') })
    expect(await journal()).toBe('ab')
  })

  test('is written by nobody who may not run such a batch: whoever resumes it may have more rights', async () => {
    const transfers = { kind: 'phygitals transfer' }
    const editor = await keyOf('Acme', ['edit'])
    expect((await hold(transfers, editor)).status).toBe(403)
    expect((await hold(transfers, await keyOf('Acme', ['transfer']))).status).toBe(200)
    const stolen = await hold({ ...transfers, takeOver: true, holder: 'second-holder-002' }, editor)
    expect([stolen.status, stolen.body.message]).toEqual([403, expect.stringContaining('"transfer"')])
    expect((await hold({ kind: 'chips edit', takeOver: true }, editor)).status).toBe(403)

    const { token } = (await t.call('POST /admin/admin-tokens', { name: 'desk', scopes: ['edit'] })).body
    const desk = { authorization: `Bearer ${token}` }
    const apply = (more: object, headers: Record<string, string>, of: string) =>
      t.call(
        `POST /admin/batch-journals/${of}/hold`,
        { ...about, kind: 'chips apply', holder, ...more },
        headers,
      )
    const [own, theirs] = ['b_1hq3v9k7s2m4xb', 'b_1hq3v9k7s2m4xc']
    expect((await apply({}, desk, own)).status).toBe(200)
    expect((await apply({ takeOver: true }, desk, own)).status).toBe(200)
    expect((await apply({}, t.admin, theirs)).status).toBe(200)
    expect((await apply({ takeOver: true }, desk, theirs)).status).toBe(403)
    expect((await apply({ takeOver: true }, t.admin, own)).status).toBe(200)
  })

  test('of one team is not there for another', async () => {
    await hold()
    expect((await hold({ takeOver: true }, globex)).status).toBe(404)
    expect((await append({}, globex)).status).toBe(404)
    expect(await list(globex)).toEqual([])
  })

  test('has a bound, and is forgotten long after it ended', async () => {
    await hold()
    await append({ chunk: chunk(0, 'abc') })
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('batchJournals')
        .set({ stored: 64 * 2 ** 20 })
        .execute(),
    )
    const refused = await append({ chunk: chunk(3, 'def') })
    expect([refused.status, refused.body.message]).toEqual([413, expect.stringContaining('too large')])
    await append({ state: 'done' })
    const { cleanUp } = await import('../../src/daemon/domain/housekeeping.ts')
    clock.advance('89d')
    await cleanUp(t.ctx)
    expect(await list()).toHaveLength(1)
    clock.advance('2d')
    await cleanUp(t.ctx)
    expect(await list()).toEqual([])
  })

  test('that stays empty is forgotten an hour after its process was last heard', async () => {
    await hold()
    await hold({}, acme, 'b_1hq3v9k7s2m4xb')
    await append({ chunk: chunk(0, 'abc') })
    const { cleanUp } = await import('../../src/daemon/domain/housekeeping.ts')
    clock.advance('59m')
    await cleanUp(t.ctx)
    expect(await list()).toHaveLength(2)
    clock.advance('2m')
    await cleanUp(t.ctx)
    expect(await list()).toMatchObject([{ id }])
  })

  test('does not grow where others of the team take all of its room, or where it would be too long to be read', async () => {
    await hold()
    await hold({}, acme, 'b_1hq3v9k7s2m4xb')
    const set = (stored: number, length: number) =>
      t.ctx.db.write((trx) =>
        trx.updateTable('batchJournals').set({ stored, length }).where('id', '=', id).execute(),
      )
    await set(0, 2 ** 31)
    expect((await append({ chunk: chunk(2 ** 31, 'abc') })).status).toBe(413)
    await set(0, 0)
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('batchJournals')
        .set({ stored: 2 ** 29 })
        .where('id', '!=', id)
        .execute(),
    )
    const refused = await append({ chunk: chunk(0, 'abc') })
    expect([refused.status, refused.body.message]).toEqual([413, limitReached])
  })

  test('is refused where its team has reached its share, and to no other team nor to operators', async () => {
    await hold()
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('batchJournals')
        .set({ stored: 2 ** 29 })
        .execute(),
    )
    const other = 'b_1hq3v9k7s2m4xb'
    const refused = await hold({}, acme, other)
    expect([refused.status, refused.body.code, refused.body.message]).toEqual([
      413,
      'too_large',
      limitReached,
    ])
    expect(await list()).toHaveLength(1)
    expect((await hold({}, globex, other)).status).toBe(200)
    const body = { ...about, holder }
    expect((await t.call('POST /admin/batch-journals/b_1hq3v9k7s2m4xc/hold', body)).status).toBe(200)
    // One that the daemon has goes on.
    expect((await hold()).status).toBe(409)
    expect((await append({ done: 3 })).status).toBe(200)
  })

  test('is refused where its team has a thousand', async () => {
    await hold()
    const rows = await t.ctx.db.read.selectFrom('batchJournals').selectAll().execute()
    const more = Array.from({ length: 999 }, (_, n) => `b_1hq3v9k7s2${String(n).padStart(4, '0')}`)
    await t.ctx.db.write(async (trx) => {
      for (const row of rows)
        for (const of of more)
          await trx
            .insertInto('batchJournals')
            .values({ ...row, id: of })
            .execute()
    })
    const other = 'b_1hq3v9k7s2m4xb'
    expect((await hold({}, acme, other)).body.message).toBe(limitReached)
    expect((await hold({}, globex, 'b_1hq3v9k7s2m4xc')).status).toBe(200)
    clock.advance('21s')
    expect((await remove(more[0])).status).toBe(200)
    expect((await hold({}, acme, other)).status).toBe(200)
  })

  test('is removed by those who may run the batch, once nobody does', async () => {
    await hold()
    await append({ chunk: chunk(0, 'abc') })
    const running = await remove()
    expect([running.status, running.body.code]).toEqual([409, 'batch_running'])
    expect(running.body.message).toMatch(/was last heard 0 s ago. It can be removed once it has stopped, or/)
    await append({ state: 'stopped' })
    expect((await remove(id, globex)).status).toBe(404)
    expect((await remove(id, await keyOf('Acme', ['read']))).status).toBe(403)
    expect((await remove()).body).toEqual({ success: true })
    expect(await list()).toEqual([])
    expect(await t.ctx.db.read.selectFrom('batchChunks').selectAll().execute()).toEqual([])
    expect((await remove()).status).toBe(404)
    expect(await t.audit('action=batches')).toMatchObject([{ action: 'batches.delete', target: id }])
    await hold()
    clock.advance('21s')
    expect((await t.call(`DELETE /admin/batch-journals/${id}`)).status).toBe(200)
  })
})

describe('one process runs a batch', () => {
  test('of ten that take it at once', async () => {
    await hold()
    clock.advance('21s')
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => hold({ host: `host-${n}`, holder: `holder-${n}-of-ten-0` })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    expect((await list())[0]).toMatchObject({ lease: 2 })
  })

  test('of ten that begin it at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => hold({ holder: `holder-${n}-of-ten-0` })),
    )
    expect(answers.filter(({ status }) => status === 200).map(({ body }) => body.lease)).toEqual([1])
  })

  test('until it has been silent for 20 s, or is told to stop', async () => {
    await hold()
    clock.advance('19s')
    const refused = await hold({ host: 'other', holder: 'second-holder-002' })
    expect([refused.status, refused.body.code]).toEqual([409, 'batch_running'])
    expect(refused.body.message).toMatch(/is running on desk, which was last heard 19 s ago/)
    await append()
    clock.advance('19s')
    expect((await hold({ holder: 'second-holder-002' })).status).toBe(409)
    expect((await list())[0]).toMatchObject({ state: 'running' })
    clock.advance('2s')
    expect((await list())[0]).toMatchObject({ state: 'stopped' })
    expect((await hold({ host: 'other', holder: 'second-holder-002' })).body).toMatchObject({ lease: 2 })
    const late = await append({ chunk: chunk(0, 'abc') })
    expect([late.status, late.body.code]).toEqual([409, 'batch_taken'])
    expect(late.body.message).toContain('running on other')
    expect(await journal()).toBe('')
  })

  test('and at once with takeOver, or where the first has ended', async () => {
    await hold()
    expect((await hold({ holder: 'second-holder-002', host: 'other', takeOver: true })).status).toBe(200)
    expect((await append()).status).toBe(409)
    const entries = await t.audit('action=batches')
    expect(entries).toMatchObject([{ action: 'batches.take-over', target: id, batch: id }])
    await append({ holder: 'second-holder-002', state: 'stopped' })
    expect((await hold()).body).toMatchObject({ lease: 3 })
  })

  test('and at once if the process of that lease is known to be gone', async () => {
    await hold()
    expect((await hold({ gone: 2, holder: 'second-holder-002' })).status).toBe(409)
    expect((await hold({ gone: 1, holder: 'second-holder-002' })).body).toMatchObject({ lease: 2 })
    expect((await hold({ gone: 1, holder: 'third-holder-0003' })).status).toBe(409)
  })

  test('a request of a process that was replaced is refused, also with --take-over’s lease still young', async () => {
    await hold()
    const edit = (lease: string) =>
      t.call(
        'POST /admin/chip-groups',
        { name: `by ${lease}`, team: 'Acme' },
        { ...t.admin, 'tapchip-batch': id, 'tapchip-batch-lease': lease },
      )
    expect((await edit('1')).status).toBe(200)
    await hold({ holder: 'second-holder-002', takeOver: true })
    const refused = await edit('1')
    expect([refused.status, refused.body.code]).toEqual([409, 'batch_taken'])
    expect((await edit('2')).status).toBe(200)
  })
})

describe('the audit log does not name the batch of another team', () => {
  let s: AdminApp
  const [own, other] = [acmeKey, otherKey].map((key) => ({ 'x-svc-api-key': key }))
  let edits = 0
  /** @returns the batch of its entry */
  const edit = async (headers: Record<string, string> | undefined, batch: string) => {
    edits += 1
    const updates = { redirectUrl: `https://acme.example/${edits}` }
    const body = { tagUIDs: [uids.blank], updates }
    const { status } = await s.call('PATCH /chips', body, { ...headers, 'tapchip-batch': batch })
    expect(status).toBe(200)
    const [entry] = await s.audit('action=chips.edit')
    return entry && 'batch' in entry ? entry.batch : undefined
  }
  beforeEach(async () => {
    s = await openAdminApp({ clock, seed })
  })
  afterEach(() => s.close())

  test('which the daemon keeps', async () => {
    expect((await s.call(`POST /batch-journals/${id}/hold`, { ...about, holder }, other)).status).toBe(200)
    expect(await edit(own, id)).toBeNull()
    expect(await s.audit(`batch=${id}`)).toEqual([])
    // Nor does it tell where that batch runs.
    expect(await edit({ ...own, 'tapchip-batch-lease': '0' }, id)).toBeNull()
  })

  test('or an operator’s', async () => {
    await s.call(`POST /admin/batch-journals/${id}/hold`, { ...about, holder })
    expect(await edit(own, id)).toBeNull()
  })

  test('nor one of which only the log still knows', async () => {
    await s.call('POST /admin/chip-groups', { name: 'g', team: 'Other' }, { ...s.admin, 'tapchip-batch': id })
    expect(await edit(own, id)).toBeNull()
    expect(await s.audit(`batch=${id}`)).toHaveLength(1)
  })

  test('and names a team’s own, kept here or not', async () => {
    expect(await edit(own, 'b_1hq3v9k7s2m4xb')).toBe('b_1hq3v9k7s2m4xb')
    await s.call(`POST /batch-journals/${id}/hold`, { ...about, holder }, own)
    expect(await edit(own, id)).toBe(id)
    expect(await edit({ ...own, 'tapchip-batch-lease': '1' }, id)).toBe(id)
  })
})
