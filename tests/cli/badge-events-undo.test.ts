import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { png } from '../support/poap/image-bytes.ts'
import { acmeKey, seed, uids } from '../support/seeds.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_API_KEY: acmeKey })
  writeFileSync(join(here.home, 'badge.png'), png())
})
afterEach(() => here.remove())

const batchId = (stderr: string): string => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''
const today = new Date().toISOString().slice(0, 10)
const newEvent = async (): Promise<number> => {
  const about = ['--name', 'Doors', '--start-date', today, '--requested-codes', '3', '--image', 'badge.png']
  const made = await here.run('badge-events', 'create', ...about, '--json')
  expect([made.code, made.code === 0 ? '' : made.stderr]).toEqual([0, ''])
  return (made.json() as { id: number }).id
}
const assign = (event: number, chips: readonly string[]) => {
  const lines = chips.map((uid) => `${uid},${event}`)
  writeFileSync(join(here.home, 'doors.csv'), `uid,badgeEventId\n${lines.join('\n')}\n`)
  return here.run('badge-events', 'assign', '--file', 'doors.csv')
}
const assigned = async (event: number) =>
  (
    await daemon.ctx.db.read
      .selectFrom('badgeAssignments')
      .select('chipUid')
      .where('badgeEventId', '=', event)
      .execute()
  ).length

test('assignments from a sheet are undone, except where somebody has assigned them again', async () => {
  const event = await newEvent()
  await here.run('badge-events', 'assign', String(event), '--uid', uids.twin)
  const ran = await assign(event, [uids.blank, uids.jacket, uids.plain, uids.twin])
  const id = batchId(ran.stderr)
  expect([ran.code, ran.stderr]).toEqual([
    0,
    expect.stringContaining(`3 assigned, 1 unchanged, 0 failed. Undo it: tapchip batch undo ${id}`),
  ])
  await here.run('badge-events', 'assign', String(event), '--uid', uids.jacket, '--title', 'Mine')

  const dry = await here.run('batch', 'undo', id, '--dry-run', '--json')
  expect([dry.code, dry.lines()]).toMatchObject([
    3,
    [
      { row: 1, badgeEventId: event, status: 'unassigned' },
      { row: 2, status: 'failed' },
      { row: 3, status: 'unassigned' },
    ],
  ])
  const asked = await here.run('batch', 'undo', id)
  expect([asked.code, asked.stderr]).toEqual([
    2,
    expect.stringContaining(
      'Take back 2 assignments? 1 other row stays as it is: --dry-run says why. Confirm with --yes\n',
    ),
  ])
  expect(await assigned(event)).toBe(4)
  const undone = await here.run('batch', 'undo', id, '--yes', '--json')
  expect([undone.code, undone.lines()]).toMatchObject([
    3,
    [
      { row: 1, status: 'unassigned' },
      {
        row: 2,
        status: 'failed',
        error: expect.stringContaining('somebody has assigned it again in the meantime'),
      },
      { row: 3, status: 'unassigned' },
    ],
  ])
  expect(await assigned(event)).toBe(2)
  const report = await here.run('batch', 'report', batchId(undone.stderr))
  expect(report.stdout).toMatch(new RegExp(`row 1 .*event ${event} +unassigned`))
  // An undo is a batch itself.
  const twice = await here.run('batch', 'undo', batchId(undone.stderr), '--yes')
  expect([twice.code, await assigned(event)]).toEqual([0, 4])
})

test('a window and a text that a batch replaced are restored by its undo', async () => {
  const event = await newEvent()
  const chip = ['--uid', uids.blank, '--title', 'Before']
  await here.run('badge-events', 'assign', String(event), ...chip)
  const ran = await assign(event, [uids.blank])
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('1 assigned')])
  const title = async () =>
    (
      await daemon.ctx.db.read
        .selectFrom('badgeAssignments')
        .select('title')
        .where('badgeEventId', '=', event)
        .executeTakeFirst()
    )?.title
  expect(await title()).toBe('')
  expect((await here.run('batch', 'undo', batchId(ran.stderr), '--yes')).code).toBe(0)
  expect(await title()).toBe('Before')
})

test('an event is assigned to a group and taken from it, by flags and from a sheet, and either is undone', async () => {
  const event = await newEvent()
  const group = ['--chip-group', 'Jackets'] as const
  const all = await here.run('badge-events', 'assign', String(event), ...group, '--title', 'Hello', '--json')
  expect([all.code, all.lines()[0]]).toMatchObject([0, { row: 1, status: 'assigned' }])
  const count = await assigned(event)
  expect(count).toBe(all.lines().length)
  writeFileSync(join(here.home, 'some.csv'), `uid\n${uids.jacket}\n${uids.twin}\n`)
  const dry = await here.run('badge-events', 'unassign', String(event), '--file', 'some.csv', '--dry-run')
  expect([dry.code, await assigned(event)]).toEqual([0, count])
  const taken = await here.run('badge-events', 'unassign', String(event), ...group)
  expect([taken.code, await assigned(event)]).toEqual([0, 0])
  expect(taken.stderr).toContain(`${count} unassigned, 0 unchanged, 0 failed. Undo it: tapchip batch undo`)
  expect((await here.run('batch', 'undo', batchId(taken.stderr), '--yes')).code).toBe(0)
  expect(await assigned(event)).toBe(count)
  const one = await here.run('badge-events', 'unassign', String(event), '--uid', uids.jacket)
  expect([one.code, one.stdout]).toEqual([0, expect.stringContaining(`event ${event}  unassigned`)])
  const none = await here.run('badge-events', 'unassign', String(event))
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('Specify which chips')])
})

test('events that were created cannot be undone, and it says what to do instead', async () => {
  writeFileSync(
    join(here.home, 'events.csv'),
    `name,startDate,endDate,expiryDate,requestedCodes,image\nNew,${today},${today},2099-01-01,3,badge.png\n`,
  )
  const ran = await here.run('badge-events', 'create', '--file', 'events.csv')
  expect([ran.code, ran.stderr.includes('Undo it')]).toEqual([0, false])
  const undone = await here.run('batch', 'undo', batchId(ran.stderr), '--yes')
  expect([undone.code, undone.stderr]).toEqual([
    2,
    expect.stringMatching(/cannot be undone.*tapchip badge-events reject ID/),
  ])
})
