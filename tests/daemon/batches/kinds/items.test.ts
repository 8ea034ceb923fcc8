import { expect, onTestFinished, test } from 'vitest'
import { itemApply, itemEdit } from '../../../../src/daemon/domain/batches/kinds/items.ts'
import type { Scope } from '../../../../src/values/scopes.ts'
import { openAdminApp } from '../../../support/admin.ts'
import { kindRunner, problemOf } from '../../../support/batch-kinds.ts'
import { jacketItem, seed, uids } from '../../../support/seeds.ts'

type Kind = typeof itemEdit
const scarf = {
  id: 'scarf',
  name: 'Scarf',
  description: 'Warm',
  media: [{ mimeType: 'image/png', url: 'https://img.example/scarf.png' }],
  attributes: [{ name: 'Size', values: ['S', 'M'] }],
  variants: [{ id: 's', attributes: [{ name: 'Size', value: 'S' }] }],
}

async function open() {
  const t = await openAdminApp({ seed })
  onTestFinished(() => t.close())
  const { open: openRun, undoOf } = kindRunner(t.ctx, 1)
  const run = async (kind: Kind, rows: readonly object[], isPlanned = true) => {
    const batch = openRun(kind, rows)
    const planned = isPlanned ? await batch.plan() : undefined
    const results = await batch.write()
    if (planned) expect(results).toEqual(planned)
    const undone = undoOf(kind, batch, results)
    const undo = () => run(undone.kind === 'items edit' ? itemEdit : itemApply, undone.lines)
    return { results, statuses: results.map(({ status }) => status), undo }
  }
  const items = async () => (await t.call('GET /admin/items?team=Acme')).body as { id: string }[]
  const item = async (id: string) => (await items()).find((one) => one.id === id)
  const edit = (id: string, body: object) => t.call(`PATCH /admin/items/${id}`, { team: 'Acme', ...body })
  return { ...t, openRun, run, items, item, edit }
}

test('a sheet creates items that are missing and changes others, and is taken back whole', async () => {
  const t = await open()
  const before = await t.items()
  const rows = [scarf, { id: 'jacket', name: 'Winter jacket', description: '' }, { id: 'hat' }]
  const ran = await t.run(itemApply, rows)
  expect(ran.results).toMatchObject([
    { row: 1, id: 'scarf', status: 'created', changes: { name: { from: null, to: 'Scarf' } } },
    { row: 2, status: 'changed', changes: { name: { from: 'Jacket', to: 'Winter jacket' } } },
    { row: 3, status: 'failed', error: expect.stringContaining('needs a name') },
  ])
  expect(await t.item('scarf')).toMatchObject({ ...scarf, contract: null, imageUrl: '' })
  expect(await t.item('jacket')).toMatchObject({ name: 'Winter jacket', description: '' })
  expect((await t.run(itemApply, rows.slice(0, 2))).statuses).toEqual(['unchanged', 'unchanged'])
  const undone = await ran.undo()
  expect(undone.statuses).toEqual(['removed', 'changed'])
  expect(await t.items()).toEqual(before)
  expect((await undone.undo()).statuses).toEqual(['created', 'changed'])
  expect(await t.item('scarf')).toMatchObject(scarf)
  const audited = t.ctx.db.read.selectFrom('audit').select('action').where('batch', 'is not', null)
  expect((await audited.orderBy('id').execute()).map(({ action }) => action)).toEqual([
    ...['items.create', 'items.edit', 'items.delete', 'items.edit', 'items.create', 'items.edit'],
  ])
})

test('an edit creates nothing, and says why a row cannot be', async () => {
  const t = await open()
  const variants = [{ id: 'l', attributes: [] }]
  const rows = [
    scarf,
    { id: 'jacket', contract: 'NONE' },
    { id: 'jacket', imageUrl: 'javascript:alert(1)' },
    { id: 'jacket', variants },
  ]
  const ran = await t.run(itemEdit, rows, false)
  expect(ran.statuses).toEqual(Array(4).fill('failed'))
  expect(ran.results.map(({ error }) => error)).toEqual([
    expect.stringContaining('No such item'),
    expect.stringContaining('contract must be the symbol'),
    expect.stringContaining('must not use the scheme'),
    expect.stringContaining('bound to variants'),
  ])
  expect(await t.item('scarf')).toBeUndefined()
})

test('an undo leaves what somebody has used or changed since', async () => {
  const t = await open()
  const ran = await t.run(itemApply, [
    scarf,
    { ...scarf, id: 'shawl' },
    { ...scarf, id: 'stole' },
    { id: 'jacket', name: 'Winter jacket' },
  ])
  await t.call(`POST /admin/chips/${uids.blank}/link`, { item: 'scarf' })
  await t.edit('shawl', { description: 'Mine' })
  await t.edit('jacket', { description: 'Another member' })
  const undone = await ran.undo()
  expect(undone.results).toMatchObject([
    { id: 'scarf', status: 'failed', error: expect.stringContaining('Chips are bound to') },
    { id: 'shawl', status: 'failed', error: expect.stringContaining('in the meantime') },
    { id: 'stole', status: 'removed' },
    { id: 'jacket', status: 'changed' },
  ])
  expect(await t.item('jacket')).toMatchObject({ name: jacketItem.name, description: 'Another member' })
})

test('what changed since the plan is a conflict, what was planned to fail is not tried, an item comes once', async () => {
  const t = await open()
  const batch = t.openRun(itemApply, [
    { id: 'jacket', name: 'Winter jacket' },
    scarf,
    { id: 'hat' },
    { id: 'jacket', description: 'Again' },
  ])
  expect(await batch.plan()).toMatchObject([
    { status: 'changed' },
    { status: 'created' },
    { status: 'failed' },
    { status: 'failed', error: 'The item is already in row 1.' },
  ])
  await t.edit('jacket', { name: 'Mine' })
  await t.call('POST /admin/items', { team: 'Acme', id: 'hat', name: 'Hat' })
  expect((await batch.write()).map(({ status }) => status)).toEqual([
    ...['conflict', 'created', 'failed', 'failed'],
  ])
  expect(await t.item('jacket')).toMatchObject({ name: 'Mine' })
})

test('a contract for an item with chips takes the scope "transfer"', async () => {
  const t = await open()
  const scopes: readonly Scope[] = ['edit']
  const row = { id: 'jacket', contract: 'JKT' }
  await t.edit('jacket', { contract: null })
  const batch = t.openRun(itemEdit, [row], { scopes })
  expect(await batch.write()).toMatchObject([
    { status: 'failed', error: expect.stringContaining('lacks the scope "transfer"') },
  ])
})

test('lines that make no sense are refused with the reason', () => {
  const problem = (line: object) => problemOf(itemApply, { row: 1, id: 'hat', ...line })
  expect(problem({ ...scarf, contract: null })).toBeUndefined()
  expect([
    problem({ id: 'a b' }),
    problem({ name: ' ' }),
    problem({ media: [{ mimeType: 'image/png' }] }),
    problem({ attributes: [{ name: 'Size', values: [1] }] }),
    problem({ variants: 'none' }),
    problem({ colour: 'red' }),
    problem({ remove: true }),
  ]).toEqual([
    expect.stringContaining('id must be 1 to 64'),
    'name must not be empty',
    'media element 1: url must be text',
    'attributes element 1: values element 1: must be text',
    'variants must be a list',
    expect.stringContaining('colour is not a known field'),
    expect.stringContaining('expected is missing'),
  ])
})
