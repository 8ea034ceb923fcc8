import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, bearer, openAdminApp } from '../../support/admin.ts'
import { batchesBy } from '../../support/batches.ts'
import { type TestClock, testClock } from '../../support/daemon.ts'
import { acmeKey, seed, uids } from '../../support/seeds.ts'

let t: AdminApp
let batches: ReturnType<typeof batchesBy>
let clock: TestClock
let log: string[]
beforeEach(async () => {
  log = []
  clock = testClock('2026-11-27T12:00:00.000Z')
  t = await openAdminApp({ seed, clock, log: (line) => log.push(line) })
  batches = batchesBy(t)
})
afterEach(() => t.close())

const redirectOf = async (hex: string) => (await t.call(`GET /admin/chips/${hex}`)).body.redirectUrl
const weekend = [
  { row: 1, uid: uids.blank, redirectUrl: 'https://weekend.example/' },
  { row: 2, uid: uids.twin, redirectUrl: 'https://weekend.example/' },
]
/** Looks as often as it takes until nothing more happens. */
const looks = async () => {
  for (let n = 0; n < 4; n += 1) await t.ctx.batches.tick()
}

describe('a batch with times', () => {
  const times = { at: '2026-11-27T18:00:00+01:00', until: '2026-11-29T18:00:00Z' }

  test('starts at its time, and is taken back at its end where nobody changed the value', async () => {
    const id = await batches.uploaded('chips apply', weekend, times)
    await batches.plan(id)
    expect(await batches.run(id)).toMatchObject({
      state: 'scheduled',
      at: '2026-11-27T17:00:00.000Z',
      done: 0,
    })
    clock.advance('299m')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'scheduled' })
    clock.advance('1m')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'done', changed: 2, lateSeconds: null })
    const other = [{ row: 1, uid: uids.twin, redirectUrl: 'https://colleague.example/' }]
    await batches.run(await batches.uploaded('chips apply', other))
    clock.advance('48h')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'done' })
    clock.advance('60m')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'undone' })
    expect(await redirectOf(uids.blank)).toBeNull()
    expect(await redirectOf(uids.twin)).toBe('https://colleague.example/')
    const [undo] = (await batches.call('GET', '')).body
    expect(undo).toMatchObject({ undoes: id, state: 'done', changed: 1, conflict: 1, startedBy: 'root' })
    await looks()
    expect((await batches.call('GET', '')).body).toHaveLength(3)
  })

  test('that nobody could start at its time starts later, and says so', async () => {
    const id = await batches.uploaded('chips apply', weekend, times)
    await batches.run(id)
    clock.jump('7h')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'done', lateSeconds: 7200 })
    expect(log.join('')).toContain('a batch was started after its time')
  })

  test('waits for its time again once a clock that was wrong is set back', async () => {
    clock.jump('-24h')
    const id = await batches.uploaded('chips apply', weekend, times)
    await batches.run(id)
    clock.jump('24h')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'scheduled' })
    expect((await batches.call('POST', `/${id}/cancel`)).body).toMatchObject({ state: 'cancelled' })
    clock.jump('24h')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'cancelled', done: 0 })
  })

  test.each(['paused', 'failed'] as const)('is taken back at its end if it is %s by then', async (state) => {
    const id = await batches.uploaded('chips apply', weekend, times)
    await batches.run(id)
    clock.advance('300m')
    await looks()
    await t.ctx.db.write((trx) => trx.updateTable('batches').set({ state }).where('id', '=', id).execute())
    // Somebody looked at its undo, and left it.
    const { body: looked } = await batches.call('POST', `/${id}/undo`, {})
    await batches.plan(looked.id)
    clock.advance('49h')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'undone' })
    expect(await redirectOf(uids.blank)).toBeNull()
  })

  test('is refused if its end comes first, or if it cannot be taken back', async () => {
    const early = await batches.create('chips apply', weekend, { ...times, until: '2026-11-27T10:00:00Z' })
    expect(early.body).toMatchObject({ statusCode: 400, message: expect.stringContaining('until') })
    const rows = [{ row: 1, uid: uids.blank, remove: 'always' }]
    expect((await batches.create('chips remove', rows, times)).body).toMatchObject({
      statusCode: 400,
      message: expect.stringContaining('A removal cannot be undone'),
    })
  })
})

describe('a batch that is proposed', () => {
  const tokenWith = async (name: string, ...scopes: string[]) =>
    bearer((await t.call('POST /admin/admin-tokens', { name, scopes })).body.token)

  test('runs once another person approves it, as it was planned', async () => {
    const ana = batchesBy(t, await tokenWith('ana', 'edit', 'approve'))
    const id = await ana.uploaded('chips apply', weekend, { propose: true, note: 'Sale' })
    await ana.plan(id)
    expect((await batches.call('POST', `/${id}/approve`)).body).toMatchObject({ code: 'conflict' })
    expect(await ana.run(id)).toMatchObject({ state: 'proposed', approvedBy: null, done: 0 })
    expect((await ana.call('POST', `/${id}/approve`)).body).toMatchObject({
      statusCode: 403,
      code: 'own_batch',
    })
    const ben = batchesBy(t, await tokenWith('ben', 'edit'))
    expect((await ben.call('POST', `/${id}/approve`)).body).toMatchObject({ code: 'scope_missing' })
    const other = [{ row: 1, uid: uids.twin, redirectUrl: 'https://colleague.example/' }]
    await batches.run(await batches.uploaded('chips apply', other))
    const cleo = batchesBy(t, await tokenWith('cleo', 'approve'))
    expect((await cleo.call('POST', `/${id}/approve`)).body).toMatchObject({
      approvedBy: 'cleo',
      state: 'running',
    })
    await looks()
    expect(await batches.show(id)).toMatchObject({
      ...{ state: 'done', startedBy: 'ana', approvedBy: 'cleo', changed: 1, conflict: 1 },
    })
    const approved = (await t.audit(`batch=${id}&action=batches.approve`))[0]
    expect(approved).toMatchObject({ actor: 'admin:cleo', detail: { kind: 'chips apply', note: 'Sale' } })
  })

  test('by a key waits for its time once another key has approved it', async () => {
    const own = batchesBy(t, { 'x-svc-api-key': acmeKey }, '/batches')
    const { key } = (
      await t.call('POST /admin/api-keys', { team: 'Acme', name: 'boss', scopes: ['approve'] })
    ).body
    const boss = batchesBy(t, { 'x-svc-api-key': key }, '/batches')
    const id = await own.uploaded('chips edit', weekend, { propose: true, at: '2026-11-28' })
    await own.plan(id)
    expect(await own.run(id)).toMatchObject({ state: 'proposed' })
    expect((await own.call('POST', `/${id}/approve`)).body).toMatchObject({ code: 'own_batch' })
    expect((await boss.call('POST', `/${id}/approve`)).body).toMatchObject({
      state: 'scheduled',
      approvedBy: 'boss',
    })
    clock.advance('12h')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'done', changed: 2, lateSeconds: null })
  })
})
