import { readFileSync, writeFileSync } from 'node:fs'
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
      { row: 1, badgeEventId: event, status: 'removed', dryRun: true },
      { row: 2, status: 'failed' },
      { row: 3, status: 'removed' },
    ],
  ])
  const asked = await here.run('batch', 'undo', id)
  expect([asked.code, asked.stderr]).toEqual([
    2,
    expect.stringContaining(
      'Remove 2 assignments? 1 other row stays as it is: --dry-run says why. Confirm with --yes\n',
    ),
  ])
  expect(await assigned(event)).toBe(4)
  const undone = await here.run('batch', 'undo', id, '--yes', '--json')
  expect([undone.code, undone.lines()]).toMatchObject([
    3,
    [
      { row: 1, status: 'removed' },
      { row: 2, status: 'failed', error: expect.stringContaining('somebody has assigned it again since') },
      { row: 3, status: 'removed' },
    ],
  ])
  expect(await assigned(event)).toBe(2)
  const report = await here.run('batch', 'report', batchId(undone.stderr))
  expect(report.stdout).toMatch(new RegExp(`row 1 .*event ${event} +removed`))
  const twice = await here.run('batch', 'undo', batchId(undone.stderr), '--yes')
  expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('badge-events assign --file')])
  // Nothing is left to ask about, and each row says why.
  const again = await here.run('batch', 'undo', id, '--json')
  expect([again.code, again.lines()]).toMatchObject([
    3,
    [{ status: 'unchanged' }, { status: 'failed' }, { status: 'unchanged' }],
  ])
})

test('a batch that only replaced windows and texts promises no undo, and says so', async () => {
  const event = await newEvent()
  const chip = ['--uid', uids.blank, '--title', 'Before']
  await here.run('badge-events', 'assign', String(event), ...chip)
  const ran = await assign(event, [uids.blank])
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('1 assigned')])
  expect(ran.stderr).toContain('1 chip had the event already, with another window or text')
  expect(ran.stderr).not.toContain('Undo it')
})

test('what was assigned before a kill, and was not heard of, is undone; while the batch runs, it is refused', async () => {
  const event = await newEvent()
  const id = batchId((await assign(event, [uids.blank, uids.plain])).stderr)
  const journal = join(here.home, '.local/state/tapchip/batches', `${id}.jsonl`)
  // As while it runs: the process in its journal is this one.
  const running = readFileSync(journal, 'utf8').replace(/.*"type":"(result|end)".*\n/g, '')
  writeFileSync(journal, running)
  for (const more of [['--dry-run'], ['--yes']]) {
    const refused = await here.run('batch', 'undo', id, ...more)
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/is still running, as process \d+\.\nStop it with Ctrl-C/),
    ])
  }
  expect(await assigned(event)).toBe(2)
  writeFileSync(journal, running.replace(/"pid":\d+/, '"pid":0'))
  const undone = await here.run('batch', 'undo', id, '--yes')
  expect([undone.code, undone.stderr]).toEqual([
    0,
    expect.stringContaining('2 removed, 0 unchanged, 0 failed'),
  ])
  expect(await assigned(event)).toBe(0)
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
    expect.stringMatching(/cannot be undone.*\n.*tapchip badge-events reject ID/),
  ])
})
