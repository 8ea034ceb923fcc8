import { expect, onTestFinished, test } from 'vitest'
import { chipImport, chipImportUndo } from '../../../../src/daemon/domain/batches/kinds/chip-import.ts'
import { openAdminApp } from '../../../support/admin.ts'
import { kindRunner, problemOf } from '../../../support/batch-kinds.ts'
import { batchesBy } from '../../../support/batches.ts'
import { haloChip } from '../../../support/halo.ts'
import { derived, listedKey, seed, uids } from '../../../support/seeds.ts'
import { tap, tapPath } from '../../../support/taps.ts'

const settings = { chipGroup: 'New', keySet: 101 }
const uidAt = (n: number): string => `0418${n.toString(16).padStart(10, '0')}`
const decimal = (hex: string): string => BigInt(`0x${hex}`).toString()

async function open() {
  const t = await openAdminApp({ seed })
  onTestFinished(() => t.close())
  const { open: openRun, undoOf, deps } = kindRunner(t.ctx, 1)
  const begin = (rows: readonly object[], more: object = {}) =>
    openRun(chipImport, rows, { settings: { ...settings, ...more } })
  const run = async (rows: readonly object[], more: object = {}) => {
    const batch = begin(rows, more)
    const results = await batch.write()
    const undone = undoOf(chipImport, batch, results)
    const undo = () => openRun(chipImportUndo, undone.lines, { settings: undone.settings })
    return { results, statuses: results.map(({ status }) => status), undo }
  }
  const chips = async (name = 'New') => {
    const group = t.ctx.db.read.selectFrom('chipGroups').select('chips').where('name', '=', name)
    return (await group.executeTakeFirst())?.chips
  }
  const check = (given: object) => {
    const { run: of } = openRun(chipImport, [], { settings: given as typeof settings })
    return chipImport.checkSettings?.(deps, of).then(
      () => undefined,
      (error: Error) => error.message,
    )
  }
  return { ...t, begin, run, chips, check }
}

test('chips are registered once, with all that their rows say; the group is made with the first one', async () => {
  const t = await open()
  const halo = haloChip('import')
  const rows = [
    { uid: uidAt(1), label: 'One', redirectUrl: 'https://example.com/' },
    { publicKey: halo.pk2 },
    { uid: uidAt(2), lastCounter: '7' },
    { uid: uids.blank },
    { uid: uidAt(3), fileReadKey: listedKey },
  ]
  const ran = await t.run(rows)
  expect(ran.results).toMatchObject([
    { row: 1, uid: decimal(uidAt(1)), status: 'created' },
    { row: 2, status: 'created' },
    { row: 3, status: 'created' },
    { row: 4, status: 'failed', error: expect.any(String) },
    { row: 5, status: 'failed', error: expect.stringContaining('fileReadKey must not be given') },
  ])
  expect(await t.chips()).toBe(3)
  expect((await t.run(rows.slice(0, 3))).statuses).toEqual(Array(3).fill('unchanged'))
  const { body } = await t.call(`GET /admin/chips/${uidAt(1)}`)
  expect(body).toMatchObject({ label: 'One', redirectUrl: 'https://example.com/' })
  const audited = t.ctx.db.read.selectFrom('audit').select(['target', 'detail', 'batch'])
  expect(await audited.where('action', '=', 'chips.import').where('batch', 'is not', null).execute()).toEqual(
    [
      {
        target: 'New',
        detail: JSON.stringify({ ...settings, simulated: false, created: 3, unchanged: 0, failed: 2 }),
        batch: 'b_00000000000001',
      },
    ],
  )
})

test('a plan writes nothing, and binds: what was planned to fail is not tried, what differs is a conflict', async () => {
  const t = await open()
  await t.run([{ uid: uidAt(1) }])
  const batch = t.begin([
    { uid: uidAt(1) },
    { uid: uidAt(2) },
    { uid: uidAt(3) },
    { uid: uidAt(4), item: 'none' },
  ])
  expect((await batch.plan()).map(({ status }) => status)).toEqual([
    ...['unchanged', 'created', 'created', 'failed'],
  ])
  expect(await t.chips()).toBe(1)
  await t.call(`DELETE /admin/chips/${uidAt(1)}`)
  await t.run([{ uid: uidAt(2) }])
  expect(await batch.write()).toMatchObject([
    { row: 1, status: 'conflict', error: expect.stringContaining('since the batch was planned') },
    { row: 2, status: 'conflict' },
    { row: 3, status: 'created' },
    { row: 4, status: 'failed' },
  ])
  expect(await t.chips()).toBe(2)
})

test('an import is taken back, but for chips that something has happened to', async () => {
  const t = await open()
  // In decimal its UID has 14 digits, as one in hex has.
  const short = '000B3A73CE2FF2'
  const ran = await t.run([{ uid: uidAt(1) }, { uid: uidAt(2) }, { uid: uidAt(3) }, { uid: short }])
  await t.app.inject({ url: tapPath(tap(derived, { uid: uidAt(1) }, 1)) })
  const undo = ran.undo()
  expect((await undo.plan()).map(({ status }) => status)).toEqual([
    ...['failed', 'removed', 'removed', 'removed'],
  ])
  await t.call(`POST /admin/chips/${uidAt(2)}/disable`, {})
  expect(await undo.write()).toMatchObject([
    { row: 1, status: 'failed', error: expect.stringContaining('was tapped since the import') },
    { row: 2, status: 'failed', error: expect.stringContaining('was changed since the import') },
    { row: 3, status: 'removed' },
    { row: 4, status: 'removed' },
  ])
  expect(await t.chips()).toBe(2)
  expect((await ran.undo().write()).map(({ status }) => status)).toEqual([
    ...['failed', 'failed', 'unchanged', 'unchanged'],
  ])
  expect('refusal' in chipImportUndo.undo && chipImportUndo.undo.refusal).toContain('cannot be brought back')
})

test('settings and lines that make no sense are refused with the reason', async () => {
  const t = await open()
  expect(await t.check(settings)).toBeUndefined()
  expect([
    await t.check({}),
    await t.check({ chipGroup: ' ' }),
    await t.check({ chipGroup: '99' }),
    await t.check({ ...settings, keySet: 999 }),
    await t.check({ ...settings, keySet: '101' }),
    await t.check({ ...settings, simulated: 'yes' }),
  ]).toEqual([
    'settings.chipGroup must be text',
    'settings.chipGroup must be 1 to 200 characters of text',
    expect.stringContaining('There is no chip group 99'),
    expect.stringContaining('There is no key set 999'),
    'settings.keySet must be a number',
    'settings.simulated must be true or false',
  ])
  const problem = (line: object) => problemOf(chipImport, { row: 1, ...line })
  expect(problem({ uid: uidAt(1), label: '' })).toBeUndefined()
  expect([
    problem({}),
    problem({ uid: 'x' }),
    problem({ uid: uidAt(1), redirectUrl: 'javascript:1' }),
    problem({ uid: uidAt(1), label: 5 }),
    problem({ uid: uidAt(1), disabled: 'true' }),
  ]).toEqual([
    expect.stringContaining('uid is missing'),
    expect.stringContaining('uid must be a UID'),
    expect.stringContaining('redirectUrl'),
    'label must be text',
    expect.stringContaining('disabled is not a column'),
  ])
})

test('rows of an upload are kept in the order of the table, under their own numbers', async () => {
  const t = await open()
  const batches = batchesBy(t)
  const rows = Array.from({ length: 1200 }, (_, n) => ({ row: n + 1, uid: uidAt(((n * 7) % 1200) + 1) }))
  const id = await batches.uploaded('chips import', rows, { settings })
  expect(await batches.run(id)).toMatchObject({ state: 'done', changed: 1200 })
  expect(await t.chips()).toBe(1200)
  const reported = await batches.report(id)
  const uidsReported = reported.map(({ uid }) => String(uid))
  expect(uidsReported).toEqual([...uidsReported].sort())
  expect(
    reported.map(({ row, uid }) => [row, uid]).sort(([one], [other]) => Number(one) - Number(other)),
  ).toEqual(rows.map(({ row, uid }) => [row, decimal(uid)]))
})
