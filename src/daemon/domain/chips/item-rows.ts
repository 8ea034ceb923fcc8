import { isDeepStrictEqual } from 'node:util'
import { byPlan } from '../../../values/batch.ts'
import { type ItemMember, type ItemMembers, itemMembers } from '../../../values/item-members.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { deleteItem, findItem, isItemBound } from '../../store/chips/items.ts'
import type { Queries } from '../../store/database/database.ts'
import type { Grantor } from '../access/grants.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import { changeItemIn, ensureItemIn, type ItemChange, itemChange } from './item-edits.ts'
import { toView } from './items.ts'

export interface ItemRow {
  readonly row: number
  readonly id: string
  readonly members: ItemMembers
  /** The row fails unless these are the current values. */
  readonly expected?: ItemMembers | undefined
  /** For an undo: remove the item if it is as expected. */
  readonly remove: boolean
}

export type ItemChanges = { [member in ItemMember]?: { from: unknown; to: unknown } }

export interface ItemResult {
  readonly row: number
  readonly id: string
  readonly status: 'changed' | 'created' | 'removed' | 'unchanged' | 'failed' | 'conflict'
  readonly changes?: ItemChanges
  readonly error?: string
}

interface Caller {
  readonly teamId: number
  readonly actor: Actor
  readonly holder: Grantor
  /** Missing items are created. */
  readonly mayCreate: boolean
}

/** An item of which only the ID is known. */
export const emptyItem: Required<Omit<ItemMembers, 'name'>> = {
  description: '',
  imageUrl: '',
  contract: null,
  media: [],
  attributes: [],
  variants: [],
}

type Decision = { readonly result: ItemResult; readonly change?: ItemChange }

const asError = (error: unknown): string => {
  if (error instanceof DomainError) return error.message
  throw error
}

/** Decides on a row by the current state of the database. */
export async function decideItem(db: Queries, caller: Caller, row: ItemRow): Promise<Decision> {
  const { id, members, expected, remove } = row
  const { teamId } = caller
  const about = { row: row.row, id }
  const fail = (error: string): Decision => ({ result: { ...about, status: 'failed', error } })
  const item = await findItem(db, teamId, id)
  if (!item) {
    if (remove) return { result: { ...about, status: 'unchanged' } }
    if (!caller.mayCreate) return fail(notFound('item').message)
    return decideNew(db, caller, row)
  }
  const view = toView(item)
  const now: ItemMembers = { ...view, contract: view.contract?.symbol ?? null }
  const picked = (named: ItemMembers) => pick(now, named)
  if (!remove && isDeepStrictEqual(picked(members), members))
    return { result: { ...about, status: 'unchanged' } }
  if (expected && !isDeepStrictEqual(picked(expected), expected))
    return fail('The item was changed in the meantime, and is left as it is.')
  if (remove) {
    if (await isItemBound(db, teamId, id))
      return fail(`Chips are bound to the item ${id}. Unlink them first.`)
    return { result: { ...about, status: 'removed', changes: changesBetween(now, {}) } }
  }
  try {
    const change = await itemChange(db, caller, item, members)
    return { result: { ...about, status: 'changed', changes: changesBetween(now, members) }, change }
  } catch (error) {
    return fail(asError(error))
  }
}

async function decideNew(db: Queries, { teamId }: Caller, row: ItemRow): Promise<Decision> {
  const about = { row: row.row, id: row.id }
  const { name } = row.members
  if (name === undefined)
    return {
      result: {
        ...about,
        status: 'failed',
        error: 'The team has no such item; to create it, the row needs a name.',
      },
    }
  try {
    await itemChange(db, { teamId, holder: undefined }, undefined, row.members)
    return { result: { ...about, status: 'created', changes: changesBetween({}, row.members) } }
  } catch (error) {
    return { result: { ...about, status: 'failed', error: asError(error) } }
  }
}

const pick = (of: ItemMembers, named: ItemMembers): ItemMembers =>
  Object.fromEntries(itemMembers.flatMap((name) => (named[name] === undefined ? [] : [[name, of[name]]])))

/** @param to absent members stay; all are absent if the item is removed */
function changesBetween(from: ItemMembers, to: ItemMembers): ItemChanges {
  const named = Object.keys(to).length === 0 ? from : to
  const changes: ItemChanges = {}
  for (const name of itemMembers) {
    const [before, is] = [from[name] ?? null, to[name] ?? null]
    if (named[name] !== undefined && !isDeepStrictEqual(before, is)) changes[name] = { from: before, to: is }
  }
  return changes
}

/** A step of a larger write. */
export async function writeItem(
  trx: Queries,
  caller: Caller,
  row: ItemRow,
  { planned, at }: { planned: ItemResult | undefined; at: string },
): Promise<ItemResult> {
  const { result, change } = await decideItem(trx, caller, row)
  const verdict = byPlan(result.status, planned?.status, () =>
    isDeepStrictEqual(result.changes, planned?.changes),
  )
  if (verdict === 'as planned' && planned) return planned
  if (verdict === 'conflict') {
    const error = 'The item was changed since the batch was planned, and is left as it is.'
    return { row: result.row, id: result.id, status: 'conflict', error }
  }
  const { teamId, actor } = caller
  const { id, members } = row
  const record = (action: string, detail?: Record<string, unknown>) =>
    recordChange(trx, { at, actor, teamId, action, target: id, ...(detail ? { detail } : {}) })
  if (result.status === 'changed' && change) await changeItemIn(trx, caller, id, change, at)
  else if (result.status === 'created') {
    await ensureItemIn(trx, teamId, { ...members, id, name: members.name ?? id }, at)
    await record('items.create', { name: members.name, contract: members.contract ?? null })
  } else if (result.status === 'removed') {
    await deleteItem(trx, teamId, id)
    await record('items.delete')
  }
  return result
}
