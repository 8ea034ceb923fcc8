import { afterEach, beforeEach, expect, test } from 'vitest'
import { cleanUp } from '../../src/daemon/domain/operations/housekeeping.ts'
import { CardGone } from '../../src/nfc/card.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { ageLeases } from '../support/engines.ts'
import { Chip, type Ended, inA, nfcSeed, talk } from '../support/nfc.ts'

let t: AdminApp
let clock: TestClock
beforeEach(async () => {
  clock = testClock()
  t = await openAdminApp({ seed: nfcSeed, clock })
})
afterEach(() => t.close())

const join = async (rows: number, more: object = {}) =>
  (await t.call('POST /admin/nfc/sheets', { team: 'Acme', id: 'sheet', rows, ...more })).body
const now = async (run: number) => (await t.call(`GET /admin/nfc/sheets/${run}`)).body

/** What a station says for a row: its label is the row's number. */
type Say = (next: { row: number | null }) => object
const labelled: Say = ({ row }) => ({ row, label: `J-${row}` })
const bare: Say = ({ row }) => ({ row })

const order = (run: number) => ({ ...inA, waitForDetails: true, sheet: { run } })
const setUp = (run: number, chip: Chip, say: Say = labelled, more: object = {}): Promise<Ended> =>
  talk(t.call, chip.put(), { ...order(run), ...more }, { onInspected: say })
const labelOf = async (chip: Chip) => (await t.call(`GET /admin/chips/${chip.uid}`)).body.label

test('ten chips at once at two stations get ten rows, each once, and the sheet is done', async () => {
  const { run } = await join(10)
  expect(await join(10)).toMatchObject({ run, taken: 0, closedAt: null })
  const chips = Array.from({ length: 10 }, () => new Chip())
  const ended = await Promise.all(
    chips.map((chip, at) => setUp(run, chip, labelled, { station: at % 2 ? 'left' : 'right' })),
  )
  expect(ended.map(({ status }) => status)).toEqual(Array(10).fill('provisioned'))
  expect(ended.map(({ row }) => row).sort((a = 0, b = 0) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  for (const [at, chip] of chips.entries()) expect(await labelOf(chip)).toBe(`J-${ended[at]?.row}`)
  expect(await now(run)).toMatchObject({ rows: 10, taken: 10, held: 0, closedAt: expect.any(String) })

  // A chip that comes again has its row; a new one has none.
  expect(await setUp(run, chips[3] as Chip)).toMatchObject({ status: 'unchanged', row: ended[3]?.row })
  const seen: unknown[] = []
  const refused = await setUp(run, new Chip(), ({ row, ...rest }) => {
    seen.push({ row, ...rest })
    return { row: 1 }
  })
  expect(seen).toMatchObject([{ row: null, sheet: { rows: 10, taken: 10 } }])
  expect(refused).toMatchObject({ status: 'failed', code: 'conflict' })
  // The next start is another run, in which the labels' chips have their rows already.
  const again = await join(10)
  expect(again.run).toBeGreaterThan(run)
  const other = new Chip()
  expect(await setUp(again.run, other, (next) => (next.row === null ? {} : labelled(next)))).toMatchObject({
    status: 'failed',
  })
  expect(await now(again.run)).toMatchObject({ taken: 10 })
  expect(other.versions).toEqual([0, 0, 0, 0, 0])
})

test('ten stations that begin at once have one run; other rows are refused, starting over makes a new one', async () => {
  const runs = new Set((await Promise.all(Array.from({ length: 10 }, () => join(3)))).map(({ run }) => run))
  expect(runs.size).toBe(1)
  const [run = 0] = runs
  const group = (await t.call('GET /admin/chip-groups?team=Acme')).body[0]
  const named = await join(3, { keySet: 201, chipGroup: group.name })
  expect(named.run).not.toBe(run)
  expect((await join(3, { keySet: 201, chipGroup: String(group.id) })).run).toBe(named.run)
  expect((await join(3, { keySet: 202, chipGroup: group.name })).run).not.toBe(named.run)
  expect((await t.call('POST /admin/nfc/sheets', { team: 'Acme', id: 'sheet', rows: 4 })).status).toBe(409)
  expect((await join(3, { startOver: true })).run).toBe(run)
  await setUp(run, new Chip(), bare)
  const next = await join(3, { startOver: true })
  expect(next).toMatchObject({ taken: 0 })
  expect(next.run).not.toBe(run)
  expect(await setUp(run, new Chip(), bare)).toMatchObject({ status: 'failed', code: 'conflict' })
  expect((await t.call('POST /admin/nfc/sessions', { ...order(run), team: 'Other' })).status).toBe(404)
  const items = [{ item: 'jacket', variant: 's' }, { item: 'jacket', variant: 'x' }, { item: 'nosuch' }]
  const about = { team: 'Acme', id: 'other', rows: 2 }
  const wrong = await t.call('POST /admin/nfc/sheets', { ...about, items })
  expect(wrong.status).toBe(400)
  expect(wrong.body.message).toMatch(/variant x does not exist.*; item nosuch does not exist/)
  expect((await t.call('POST /admin/nfc/sheets', { ...about, items: items.slice(0, 1) })).status).toBe(200)
  expect((await t.call('POST /admin/nfc/sessions', { ...order(99) })).status).toBe(404)
  expect((await t.call('GET /admin/nfc/sheets/99')).status).toBe(404)
})

test('a failure frees its row, its own station at once, and a dead client once no other row is left', async () => {
  const { run } = await join(2)
  const [torn, second, third] = [new Chip(), new Chip(), new Chip()]
  const rowAt = async (chip: Chip, station: string) => {
    let row: number | null = null
    const dead = talk(
      t.call,
      chip.put(),
      { ...order(run), station },
      {
        onInspected: (next) => {
          row = next.row
          throw new Error('killed')
        },
      },
    )
    await expect(dead).rejects.toThrow('killed')
    return row
  }
  expect(await rowAt(torn, 'left')).toBe(1)
  expect(await rowAt(second, 'left')).toBe(2)
  expect(await now(run)).toMatchObject({ taken: 0, held: 2 })
  expect(await rowAt(third, 'right')).toBeNull()
  // The chip that comes again replaces its own dead session.
  expect(await rowAt(torn, 'left')).toBe(1)
  await ageLeases(t.ctx.db, 5000)
  expect(await rowAt(third, 'right')).toBeNull()
  await ageLeases(t.ctx.db, 5000)
  await expect(
    talk(
      t.call,
      third.put({ apdu: 14, when: 'after' }),
      { ...order(run), station: 'right' },
      { onInspected: labelled },
    ),
  ).rejects.toThrow(CardGone)
  expect(await setUp(run, second)).toMatchObject({ status: 'provisioned', row: 1 })
  // Its row went to another chip, so a recovered one has none of it.
  expect(await talk(t.call, third.put(), { purpose: 'recover' })).toMatchObject({
    status: 'provisioned',
    warning: expect.stringContaining('J-1'),
  })
  expect(await labelOf(third)).toBeNull()
  // Without another chip in between, a recovered one has its row.
  await expect(
    talk(t.call, torn.put({ apdu: 14, when: 'after' }), order(run), { onInspected: labelled }),
  ).rejects.toThrow(CardGone)
  await talk(t.call, torn.put(), { purpose: 'recover' })
  expect(await labelOf(torn)).toBe('J-2')
  expect(await now(run)).toMatchObject({ taken: 2, closedAt: expect.any(String) })
})

test('stations whose requests are slow do not end each other: rows that are held are passed over', async () => {
  const { run } = await join(2)
  const slow = new Chip()
  const others: Promise<Ended>[] = []
  const ended = await talk(
    t.call,
    slow.put(),
    { ...order(run), station: 'left' },
    {
      onInspected: labelled,
      onStep: async ({ body }) => {
        if (body.next.phase !== 'set-up' || others.length > 0) return
        await ageLeases(t.ctx.db, 30_000)
        others.push(setUp(run, new Chip(), labelled, { station: 'right' }))
        expect(await others[0]).toMatchObject({ row: 2 })
      },
    },
  )
  expect(ended).toMatchObject({ status: 'provisioned', row: 1 })
})

test('a label that is on another chip is passed over, and a row may be chosen', async () => {
  const earlier = new Chip()
  await talk(t.call, earlier.put(), { ...inA, label: 'J-1' })
  const { run } = await join(5)
  const asked: object[] = []
  const chip = new Chip()
  const ended = await setUp(run, chip, ({ row, ...next }: { row: number | null; passed?: object }) => {
    asked.push([row, next.passed])
    return labelled({ row })
  })
  expect(ended).toMatchObject({ row: 2, sheet: { rows: 5, taken: 2 } })
  const passed = { row: 1, uid: earlier.uid, chipGroup: 'Jackets' }
  expect(asked).toEqual([
    [1, undefined],
    [2, passed],
  ])
  // The first chip comes to the table later: its row is the one of its label.
  expect(await setUp(run, earlier)).toMatchObject({ status: 'unchanged', row: 1 })
  const chosen = await setUp(run, new Chip(), ({ row }) => (row === 3 ? { row: 5, label: 'J-5' } : {}))
  expect(chosen).toMatchObject({ row: 5 })
  // One that is taken is not given: the daemon offers again.
  const rows: (number | null)[] = []
  await setUp(run, new Chip(), ({ row }) => {
    rows.push(row)
    return rows.length === 1 ? { row: 5, label: 'J-5' } : labelled({ row })
  })
  expect(rows).toEqual([3, 3])
  expect(await setUp(run, new Chip(), () => ({ row: 6 }))).toMatchObject({ code: 'invalid_input' })
  expect(await setUp(run, new Chip(), () => ({}))).toMatchObject({ code: 'invalid_input' })
  expect(await setUp(run, new Chip())).toMatchObject({ row: 4, sheet: { taken: 5 } })
})

test('what is kept has an end', async () => {
  const { run } = await join(1)
  await setUp(run, new Chip(), bare)
  const { run: empty } = await join(9, { id: 'empty' })
  const open = await join(7)
  await setUp(open.run, new Chip(), bare)
  clock.advance('31d')
  await cleanUp(t.ctx)
  expect((await t.call(`GET /admin/nfc/sheets/${empty}`)).status).toBe(404)
  expect((await t.call(`GET /admin/nfc/sheets/${run}`)).status).toBe(404)
  expect(await now(open.run)).toMatchObject({ rows: 7 })
  clock.advance('180d')
  await cleanUp(t.ctx)
  expect((await t.call(`GET /admin/nfc/sheets/${open.run}`)).status).toBe(404)
  expect(await t.ctx.db.read.selectFrom('nfcSheetRows').selectAll().execute()).toEqual([])
})
