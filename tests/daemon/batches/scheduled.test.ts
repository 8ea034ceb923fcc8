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

  test('that no daemon ran between its start and its end is cancelled, and says so', async () => {
    const id = await batches.uploaded('chips apply', weekend, { ...times, name: 'weekend' })
    await batches.run(id)
    clock.jump('54h')
    await looks()
    expect(await batches.show(id)).toMatchObject({
      ...{ state: 'cancelled', done: 0, startedAt: null, endedAt: '2026-11-29T18:00:00.000Z' },
      error: expect.stringContaining('both had passed when the daemon could start it. No row was changed.'),
    })
    expect(log.join('')).toContain('its end had passed before it began')
    expect(await redirectOf(uids.blank)).toBeNull()
    expect((await t.audit(`batch=${id}&action=batches.cancel`))[0]).toMatchObject({ actor: 'daemon' })
    expect(await t.audit('action=chips.apply')).toEqual([])
    expect((await batches.call('GET', '')).body).toHaveLength(1)
  })

  test('whose end has passed is refused, however it is begun', async () => {
    const over = { at: '2026-11-20T12:00:00Z', until: '2026-11-27T12:00:00Z' }
    expect((await batches.create('chips apply', weekend, over)).body).toMatchObject({
      ...{ statusCode: 400, message: 'until has passed: at the daemon it is 2026-11-27T12:00:00.000Z' },
    })
    const cleo = batchesBy(
      t,
      bearer((await t.call('POST /admin/admin-tokens', { name: 'cleo', scopes: ['approve'] })).body.token),
    )
    const until = '2026-11-27T13:00:00Z'
    const planned = await batches.uploaded('chips apply', weekend, { until })
    const proposed = await batches.uploaded('chips apply', weekend, { until, propose: true })
    await batches.plan(proposed)
    await batches.run(proposed)
    const paused = await batches.uploaded('chips apply', weekend, { until, at: '2026-11-27T12:30:00Z' })
    await batches.run(paused)
    // As where its credential was revoked.
    const state = { state: 'paused' } as const
    await t.ctx.db.write((trx) => trx.updateTable('batches').set(state).where('id', '=', paused).execute())
    clock.advance('60m')
    for (const answer of [
      await batches.call('POST', `/${planned}/start`),
      await cleo.call('POST', `/${proposed}/approve`),
      await batches.call('POST', `/${paused}/resume`, {}),
    ])
      expect(answer.body).toMatchObject({
        statusCode: 400,
        message: expect.stringContaining('was to be undone at 2026-11-27T13:00:00.000Z, which has passed'),
      })
    await looks()
    expect(await redirectOf(uids.blank)).toBeNull()
  })

  test('that is yet to be taken back is not removed', async () => {
    const id = await batches.uploaded('chips apply', weekend, { until: times.until })
    await batches.run(id)
    const refused = await batches.call('DELETE', `/${id}`)
    expect([refused.status, refused.body.message]).toEqual([
      409,
      expect.stringMatching(/is to be undone at 2026-11-29T18.* undo it first: tapchip batch undo b_/),
    ])
    clock.jump('72h')
    await looks()
    expect(await batches.show(id)).toMatchObject({ state: 'undone' })
    expect((await batches.call('DELETE', `/${id}`)).status).toBe(200)
    const unstarted = await batches.uploaded('chips apply', weekend, { until: '2026-12-29T18:00:00Z' })
    expect((await batches.call('DELETE', `/${unstarted}`)).status).toBe(200)
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
