import { expect, onTestFinished, test } from 'vitest'
import {
  guestbookAssignment,
  guestbookUnassignment,
} from '../../../../src/daemon/domain/batches/kinds/guestbook-assignments.ts'
import { openAdminApp } from '../../../support/admin.ts'
import { kindRunner, problemOf } from '../../../support/batch-kinds.ts'
import { testClock } from '../../../support/daemon.ts'
import { guestbookSeed, handsOf, seeded } from '../../../support/guestbook.ts'
import { acmeKey } from '../../../support/seeds.ts'

type Kind = typeof guestbookAssignment
const closing = 2

async function open() {
  const clock = testClock()
  const t = await openAdminApp({ seed: guestbookSeed, clock, chain: true })
  onTestFinished(() => t.close())
  const { open: openRun, undoOf } = kindRunner(t.ctx, 1)
  const run = async (kind: Kind, rows: readonly object[], isPlanned = true) => {
    const batch = openRun(kind, rows)
    const planned = isPlanned ? await batch.plan() : undefined
    const results = await batch.write()
    if (planned) expect(results).toEqual(planned)
    const { kind: opposite, lines } = undoOf(kind, batch, results)
    const undo = () =>
      run(opposite === 'guestbook assign' ? guestbookAssignment : guestbookUnassignment, lines)
    return { results, statuses: results.map(({ status }) => status), undo }
  }
  const rowsOf = (chips: readonly string[], guestbookEventId = closing) =>
    chips.map((uid) => ({ uid, guestbookEventId }))
  const stored = () =>
    t.ctx.db.read.selectFrom('guestbookAssignments').selectAll().orderBy('chipUid').execute()
  const legacy = (tagUIDs: readonly string[]) =>
    t.call('POST /events/assign/legacy', { tagUIDs, guestbookEventId: closing }, { 'x-svc-api-key': acmeKey })
  return { ...t, ...handsOf(t), clock, openRun, run, rowsOf, stored, legacy }
}

test('an event is assigned to chips and taken from them, and either is taken back as it was', async () => {
  const t = await open()
  const before = await t.stored()
  const [one, two, other] = [seeded.blank(1), seeded.blank(2), seeded.assigned(1)]
  await t.legacy([two])
  const there = await t.stored()
  t.clock.advance('1h')
  const ran = await t.run(guestbookAssignment, t.rowsOf([one, two, other]))
  expect(ran.statuses).toEqual(['assigned', 'unchanged', 'assigned'])
  expect((await ran.undo()).statuses).toEqual(['unassigned', 'unassigned'])
  expect(await t.stored()).toEqual(there)
  expect((await ran.undo()).statuses).toEqual(['unchanged', 'unchanged'])

  t.clock.advance('1h')
  const taken = await t.run(guestbookUnassignment, t.rowsOf([one, two]))
  expect(taken.statuses).toEqual(['unchanged', 'unassigned'])
  expect(await t.stored()).toEqual(before)
  const back = await taken.undo()
  expect([back.statuses, await t.stored()]).toEqual([['assigned'], there])
  expect((await back.undo()).statuses).toEqual(['unassigned'])
  const audited = t.ctx.db.read.selectFrom('audit').select(['action', 'target', 'detail'])
  expect(await audited.where('action', 'like', 'guestbook.%assign').orderBy('id').execute()).toMatchObject([
    { action: 'guestbook.assign' },
    { action: 'guestbook.assign', target: '2 chips', detail: expect.stringContaining('"assigned":2') },
    { action: 'guestbook.unassign', target: '2 chips', detail: expect.stringContaining('"name":"Closing"') },
    { action: 'guestbook.unassign' },
    { action: 'guestbook.assign' },
    { action: 'guestbook.unassign' },
  ])
})

test('a code of an event that the chip has no more is void', async () => {
  const t = await open()
  const uid = seeded.assigned(3)
  const code = await t.code(uid)
  expect((await t.call(`GET /otps/${code}`)).body.isExpired).toBe(false)
  await t.run(guestbookUnassignment, t.rowsOf([uid], 1))
  expect((await t.call(`GET /otps/${code}`)).body.isExpired).toBe(true)
})

test('an undo leaves what somebody has assigned again; a plan binds', async () => {
  const t = await open()
  const [one, two] = [seeded.blank(1), seeded.blank(2)]
  const ran = await t.run(guestbookAssignment, t.rowsOf([one, two]))
  await t.run(guestbookUnassignment, t.rowsOf([one]))
  t.clock.advance('1h')
  await t.legacy([one])
  expect((await ran.undo()).results).toMatchObject([
    { status: 'failed', error: expect.stringContaining('assigned the event to the chip again') },
    { status: 'unassigned' },
  ])
  const batch = t.openRun(guestbookAssignment, t.rowsOf([two, '04AAAAAAAAAAAA', one]))
  expect((await batch.plan()).map(({ status }) => status)).toEqual(['assigned', 'failed', 'unchanged'])
  await t.legacy([two])
  await t.run(guestbookUnassignment, t.rowsOf([one]))
  expect(await batch.write()).toMatchObject([
    { status: 'conflict', error: expect.stringContaining('in the meantime') },
    { status: 'failed', error: expect.stringContaining('No such chip') },
    { status: 'conflict' },
  ])
})

test('events of other teams are unknown, a chip comes once, and without a plan rows follow each other', async () => {
  const t = await open()
  const uid = seeded.blank(1)
  const decimal = BigInt(`0x${uid}`).toString()
  const batch = t.openRun(guestbookAssignment, [
    { uid, guestbookEventId: 99 },
    { uid, guestbookEventId: closing },
    { uid: decimal, guestbookEventId: closing },
  ])
  expect(await batch.plan()).toMatchObject([
    { status: 'failed', error: expect.stringContaining('No such guestbook event') },
    { status: 'assigned' },
    { status: 'failed', error: 'The chip already has the event in row 2.' },
  ])
  const free = t.openRun(guestbookAssignment, t.rowsOf([uid, decimal]))
  expect((await free.write()).map(({ status }) => status)).toEqual(['assigned', 'unchanged'])
  expect(problemOf(guestbookAssignment, { row: 1, uid })).toBe(
    'guestbookEventId must be a whole number from 1',
  )
})
