import { expect, onTestFinished, test } from 'vitest'
import { openBadgeApp, wallet } from '../support/badges.ts'
import { testClock } from '../support/daemon.ts'
import { acmeKey, otherKey, uids } from '../support/seeds.ts'

const batch = 'b_1hq3v9k7s2m4xa'
const another = 'b_1hq3v9k7s2m4xb'
const key = { 'x-svc-api-key': acmeKey }

async function open() {
  const clock = testClock()
  const t = await openBadgeApp({ clock })
  onTestFinished(() => t.close())
  const event = (await t.create()).body.id as number
  const assign = async (uid: string, by: string | undefined, body: object = {}) => {
    const headers = by === undefined ? key : { ...key, 'tapchip-batch': by }
    const wanted = { poapEventId: event, tagUID: uid, ...body }
    return (await t.call('POST /badge-events/assign?report=true', wanted, headers)).body
  }
  const undo = async (given: readonly string[], { dryRun = false, of = batch, by = acmeKey } = {}) => {
    const assignments = given.map((tagUID) => ({ tagUID, poapEventId: event }))
    const path = `POST /badge-events/assign/undo${dryRun ? '?dryRun=true' : ''}`
    const answer = await t.call(path, { batch: of, assignments }, { 'x-svc-api-key': by })
    expect(answer.status).toBe(200)
    return answer.body as { status: string; error?: string }[]
  }
  const assigned = async () => {
    const rows = t.ctx.db.read.selectFrom('badgeAssignments').select('chipUid')
    return (await rows.where('badgeEventId', '=', event).execute()).map(({ chipUid }) => chipUid)
  }
  return { ...t, clock, event, assign, undo, assigned }
}

test('ten at once take an event from a chip once, its unused codes are void, and a dry run changes nothing', async () => {
  const t = await open()
  const chips = [uids.blank, uids.jacket]
  for (const uid of chips)
    expect(await t.assign(uid, batch)).toMatchObject({ unchanged: false, replaced: false })
  const code = (await t.codes()).get(t.event) ?? ''
  expect(await t.isGood(code)).toBe(true)
  expect(await t.undo(chips, { dryRun: true })).toEqual([{ status: 'removed' }, { status: 'removed' }])
  expect([await t.isGood(code), await t.assigned()]).toEqual([
    true,
    expect.arrayContaining([expect.any(String)]),
  ])

  const answers = await Promise.all(Array.from({ length: 10 }, () => t.undo(chips)))
  for (const at of chips.keys())
    expect(answers.map((answer) => answer[at]?.status).sort()).toEqual([
      'removed',
      ...Array(9).fill('unchanged'),
    ])
  expect([await t.isGood(code), await t.assigned()]).toEqual([false, []])
  const audited = await t.ctx.db.read
    .selectFrom('audit')
    .select('target')
    .where('action', '=', 'badge-events.unassign')
    .execute()
  expect(audited).toEqual([{ target: '2 chips' }])
})

test('ten undos and a mint at once: the badge is minted or the assignment removed, never both', async () => {
  const t = await open()
  await t.assign(uids.blank, batch)
  const code = (await t.codes()).get(t.event) ?? ''
  const undos = Array.from({ length: 10 }, () => t.undo([uids.blank]))
  const [minted, ...answers] = await Promise.all([
    t.mint(code, { poapEventId: t.event, recipient: wallet(1) }),
    ...undos,
  ])
  const removed = answers.flat().filter(({ status }) => status === 'removed')
  expect([minted.status, removed.length]).toEqual(removed.length === 0 ? [200, 0] : [401, 1])
})

test('what has happened since keeps an assignment, and each row says what', async () => {
  const t = await open()
  const [minted, replaced, again, alike] = [uids.blank, uids.jacket, uids.twin, uids.plain]
  await t.assign(replaced, undefined)
  expect(await t.assign(replaced, batch, { title: 'New' })).toMatchObject({ replaced: true })
  for (const uid of [minted, again]) await t.assign(uid, batch)
  const code = (await t.codes(minted)).get(t.event) ?? ''
  expect((await t.mint(code, { poapEventId: t.event, recipient: wallet(1) })).status).toBe(200)
  // Somebody assigns the same, and changes nothing: they rely on it all the same.
  expect(await t.assign(again, another)).toMatchObject({ unchanged: true })
  // A row that is sent again after a kill is still the batch's own.
  await t.assign(alike, batch)
  expect(await t.assign(alike, batch)).toMatchObject({ unchanged: true })

  const wanted = [minted, replaced, again, alike]
  const words = (rows: { status: string; error?: string }[]) =>
    rows.map(({ status, error }) => [status, error?.split('.')[0]])
  const expected = [
    ['failed', 'A badge was minted with a code from the chip in the meantime'],
    ['failed', 'The chip has the event in another way, or somebody has assigned it again in the meantime'],
    ['failed', 'The chip has the event in another way, or somebody has assigned it again in the meantime'],
    ['removed', undefined],
  ]
  expect(words(await t.undo(wanted, { dryRun: true }))).toEqual(expected)
  expect(words(await t.undo([alike], { of: another }))).toEqual([
    ['failed', 'Another batch assigned the event to the chip'],
  ])
  expect(words(await t.undo(wanted, { by: otherKey }))).toEqual(Array(4).fill(['unchanged', undefined]))
  expect(await t.assigned()).toHaveLength(4)
  expect(words(await t.undo(wanted))).toEqual(expected)
  expect(await t.assigned()).toHaveLength(3)
})

test('a chip that was replaced says that another has its event now', async () => {
  const t = await open()
  await t.assign(uids.jacket, batch)
  const done = await t.call(`POST /admin/chips/${uids.jacket}/replace`, { with: uids.blank })
  expect([done.status, done.body.message]).toEqual([200, undefined])
  expect(await t.undo([uids.jacket])).toMatchObject([
    { status: 'failed', error: expect.stringContaining('was replaced') },
  ])
})
