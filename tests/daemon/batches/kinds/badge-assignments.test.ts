import { expect, onTestFinished, test } from 'vitest'
import {
  badgeAssignment,
  badgeUnassignment,
} from '../../../../src/daemon/domain/batches/kinds/badge-assignments.ts'
import { openBadgeApp, wallet } from '../../../support/badges.ts'
import { kindRunner, problemOf } from '../../../support/batch-kinds.ts'
import { testClock } from '../../../support/daemon.ts'
import { otherKey, uids } from '../../../support/seeds.ts'

type Kind = typeof badgeAssignment

async function open() {
  const clock = testClock()
  const t = await openBadgeApp({ clock })
  onTestFinished(() => t.close())
  const event = (await t.create()).body.id as number
  const { open: openRun, undoOf } = kindRunner(t.ctx, 1)
  const run = async (kind: Kind, rows: readonly object[], isPlanned = true) => {
    const batch = openRun(kind, rows)
    const planned = isPlanned ? await batch.plan() : undefined
    const results = await batch.write()
    if (planned) expect(results).toEqual(planned)
    const undone = undoOf(kind, batch, results)
    const undo = (isUndoPlanned = true) =>
      run(
        undone.kind === 'badge-events assign' ? badgeAssignment : badgeUnassignment,
        undone.lines,
        isUndoPlanned,
      )
    return { results, statuses: results.map(({ status }) => status), undo, undone }
  }
  const rowsOf = (chips: readonly string[], more: object = {}) =>
    chips.map((uid) => ({ uid, badgeEventId: event, ...more }))
  const stored = async () =>
    await t.ctx.db.read
      .selectFrom('badgeAssignments')
      .select(['chipUid', 'startsAt', 'endsAt', 'title', 'description', 'createdAt'])
      .where('badgeEventId', '=', event)
      .orderBy('chipUid')
      .execute()
  return { ...t, clock, event, openRun, run, rowsOf, stored }
}

const changed = 'was changed in the meantime'

test('an assignment is taken back as it was: not there, or with its window and its text of before', async () => {
  const t = await open()
  const before = { startsAt: '2026-06-01T00:00:00Z', title: 'Before' }
  await t.assign({ poapEventId: t.event, tagUID: uids.twin, ...before })
  const there = await t.stored()
  t.clock.advance('1h')
  const chips = [uids.blank, uids.jacket, uids.twin]
  const ran = await t.run(
    badgeAssignment,
    t.rowsOf(chips, { title: 'New', endsAt: '2026-07-01T02:00:00+02:00' }),
  )
  expect(ran.statuses).toEqual(['assigned', 'assigned', 'assigned'])
  expect(ran.results.map(({ replaced }) => replaced)).toEqual([undefined, undefined, true])
  for (const row of await t.stored())
    expect(row).toMatchObject({ startsAt: null, endsAt: '2026-07-01T00:00:00.000Z', title: 'New' })
  expect(
    (await t.run(badgeAssignment, t.rowsOf(chips, { title: 'New', endsAt: '2026-07-01T00:00:00Z' })))
      .statuses,
  ).toEqual(Array(3).fill('unchanged'))
  // Whoever assigns the same relies on it: only the batch that did it itself can take it back.
  const undone = await ran.undo()
  expect(undone.statuses).toEqual(Array(3).fill('failed'))
  expect(undone.results[0]?.error).toContain('somebody has assigned it again in the meantime')

  const other = await t.run(badgeAssignment, t.rowsOf(chips, { title: 'Newer' }))
  const back = await other.undo()
  expect(back.statuses).toEqual(Array(3).fill('assigned'))
  expect((await t.stored()).map(({ title }) => title)).toEqual(Array(3).fill('New'))
  expect((await back.undo()).statuses).toEqual(Array(3).fill('assigned'))
  expect((await t.stored()).map(({ title }) => title)).toEqual(Array(3).fill('Newer'))
  expect(there).toHaveLength(1)
})

test('an undo removes what was not there, and restores what was replaced', async () => {
  const t = await open()
  await t.assign({
    poapEventId: t.event,
    tagUID: uids.twin,
    title: 'Before',
    startsAt: '2026-06-01T00:00:00Z',
  })
  const before = await t.stored()
  t.clock.advance('1h')
  const ran = await t.run(badgeAssignment, t.rowsOf([uids.blank, uids.twin], { title: 'New' }))
  const code = (await t.codes(uids.blank)).get(t.event) ?? ''
  expect(await t.isGood(code)).toBe(true)
  const undone = await ran.undo()
  expect(undone.statuses).toEqual(['unassigned', 'assigned'])
  expect(await t.stored()).toEqual(before)
  expect(await t.isGood(code)).toBe(false)
  expect((await ran.undo()).statuses).toEqual(['unchanged', 'unchanged'])
  const audited = await t.ctx.db.read
    .selectFrom('audit')
    .select(['action', 'target', 'batch'])
    .where('action', 'like', 'badge-events.%assign')
    .where('batch', 'is not', null)
    .orderBy('id')
    .execute()
  const target = expect.stringMatching(/^\d+$/)
  expect(audited).toEqual([
    ...Array(2).fill({ action: 'badge-events.assign', target, batch: 'b_00000000000001' }),
    { action: 'badge-events.unassign', target, batch: 'b_00000000000002' },
    { action: 'badge-events.assign', target, batch: 'b_00000000000002' },
  ])
})

test('chips lose an event, and have it again as it was', async () => {
  const t = await open()
  const [blank, twin, plain] = [uids.blank, uids.twin, uids.plain]
  await t.assign({ poapEventId: t.event, tagUID: blank, title: 'Mine', endsAt: '2026-08-01T00:00:00Z' })
  await t.assign({ poapEventId: t.event, tagUID: twin })
  const before = await t.stored()
  t.clock.advance('1h')
  const ran = await t.run(badgeUnassignment, t.rowsOf([blank, twin, plain]))
  expect(ran.statuses).toEqual(['unassigned', 'unassigned', 'unchanged'])
  expect(await t.stored()).toEqual([])
  await t.assign({ poapEventId: t.event, tagUID: twin, title: 'Since' })
  const undone = await ran.undo()
  expect(undone.results).toMatchObject([
    { status: 'assigned' },
    { status: 'failed', error: expect.stringContaining('It was left as it is') },
  ])
  const now = await t.stored()
  expect(now.find(({ title }) => title === 'Mine')).toEqual(before.find(({ title }) => title === 'Mine'))
  expect(now.map(({ title }) => title).sort()).toEqual(['Mine', 'Since'])
})

test('an event with which a badge was minted stays, and so does one that somebody else changed', async () => {
  const t = await open()
  const ran = await t.run(badgeAssignment, t.rowsOf([uids.blank, uids.twin, uids.plain]))
  const code = (await t.codes(uids.blank)).get(t.event) ?? ''
  expect((await t.mint(code, { poapEventId: t.event, recipient: wallet(1) })).status).toBe(200)
  await t.assign({ poapEventId: t.event, tagUID: uids.twin, title: 'Mine' })
  await t.run(badgeAssignment, t.rowsOf([uids.plain], { title: 'Another' }))
  expect((await ran.undo()).results.map(({ status, error }) => [status, error?.split('.')[0]])).toEqual([
    ['failed', 'A badge was minted with a code from the chip in the meantime'],
    ['failed', 'The chip has the event in another way, or somebody has assigned it again in the meantime'],
    ['failed', 'Another batch assigned the event to the chip'],
  ])
  // Asked for itself, it is taken away.
  expect((await t.run(badgeUnassignment, t.rowsOf([uids.blank]))).statuses).toEqual(['unassigned'])
})

test('what changed since the plan is a conflict, and what was planned to fail is not tried', async () => {
  const t = await open()
  const strange = '04AAAAAAAAAAAA'
  const batch = t.openRun(badgeAssignment, t.rowsOf([uids.blank, uids.twin, strange, uids.plain]))
  expect((await batch.plan()).map(({ status }) => status)).toEqual([
    ...['assigned', 'assigned', 'failed', 'assigned'],
  ])
  await t.assign({ poapEventId: t.event, tagUID: uids.blank, title: 'Since' })
  const results = await batch.write()
  expect(results).toMatchObject([
    { row: 1, status: 'conflict', error: expect.stringContaining(changed) },
    { row: 2, status: 'assigned' },
    { row: 3, status: 'failed', error: expect.stringContaining('No such chip') },
    { row: 4, status: 'assigned' },
  ])
  const same = t.openRun(badgeAssignment, t.rowsOf([uids.twin]))
  await same.plan()
  await t.run(badgeUnassignment, t.rowsOf([uids.twin]))
  expect(await same.write()).toMatchObject([{ status: 'conflict' }])
  expect((await t.stored()).map(({ title }) => title).sort()).toEqual(['', 'Since'])
})

test('chips and events of other teams are as if they were not there; a chip comes once for an event', async () => {
  const t = await open()
  const theirs = (await t.create({}, { key: otherKey })).body.id as number
  const rows = [
    { uid: uids.blank, badgeEventId: theirs },
    { uid: uids.blank, badgeEventId: t.event },
    { uid: BigInt(`0x${uids.blank}`).toString(), badgeEventId: t.event },
  ]
  const batch = t.openRun(badgeAssignment, rows)
  expect(await batch.plan()).toMatchObject([
    { status: 'failed', error: expect.stringContaining('No such badge event') },
    { status: 'assigned' },
    { status: 'failed', error: 'The chip already has the event in row 2.' },
  ])
  expect((await batch.write()).map(({ status }) => status)).toEqual(['failed', 'assigned', 'failed'])
  // Without a plan, rows of a chip follow each other.
  const again = rows.slice(1).map((row, n) => ({ ...row, title: `T${n}` }))
  const free = await t.run(badgeAssignment, again, false)
  expect(free.statuses).toEqual(['assigned', 'assigned'])
  expect((await t.stored()).map(({ title }) => title)).toEqual(['T1'])
})

test('lines that make no sense are refused with the reason', () => {
  const about = { row: 1, uid: uids.blank, badgeEventId: 4 }
  const problem = (line: unknown) => problemOf(badgeAssignment, line, { name: 'badge-events assign' })
  expect(problem(about)).toBeUndefined()
  expect([
    problem([]),
    problem({ ...about, row: 0 }),
    problem({ ...about, uid: 'x' }),
    problem({ ...about, badgeEventId: '4' }),
    problem({ ...about, startsAt: '2026-06-31T00:00:00Z' }),
    problem({ ...about, startsAt: '2026-07-01T00:00:00Z', endsAt: '2026-06-01T00:00:00Z' }),
    problem({ ...about, title: 'x'.repeat(501) }),
    problem({ ...about, colour: 'red' }),
    problem({ ...about, left: null, previous: { startsAt: null } }),
  ]).toEqual([
    'must be an object',
    'row must be a whole number from 1',
    expect.stringContaining('uid must be a UID'),
    'badgeEventId must be a whole number from 1',
    expect.stringContaining('startsAt must be an existing time'),
    expect.stringContaining('endsAt must not be before startsAt'),
    'title must be at most 500 characters',
    expect.stringContaining('colour is not a known field'),
    'previous.createdAt is missing',
  ])
})
