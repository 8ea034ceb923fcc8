import { type ItemMembers, isItemId, itemMembers, readItemMember } from '../../../../values/item-members.ts'
import { isJsonObject, type JsonObject } from '../../../../values/json.ts'
import { recordedAs } from '../../access/grants.ts'
import { decideItem, emptyItem, type ItemResult, type ItemRow, writeItem } from '../../chips/item-rows.ts'
import { iso } from '../../time/time.ts'
import type { BatchRun, WrittenKind } from '../kind.ts'
import { LineProblem, lineReader, refuseOthers } from './lines.ts'

type ItemKind = WrittenKind<ItemRow, ItemResult>

const known = new Set(['row', 'id', ...itemMembers, 'expected', 'remove'])

/** @throws LineProblem */
function membersIn(line: JsonObject): ItemMembers {
  const members: Record<string, unknown> = {}
  for (const member of itemMembers) {
    if (line[member] === undefined) continue
    const read = readItemMember(member, line[member])
    if ('problem' in read) throw new LineProblem(`${member} ${read.problem}`)
    members[member] = read.value
  }
  return members
}

const readRow = lineReader<ItemRow, unknown>((line, row) => {
  refuseOthers(line, known)
  const { id, expected, remove = false } = line
  if (typeof id !== 'string' || !isItemId(id))
    throw new LineProblem('id must be 1 to 64 letters, digits, dots, dashes or underscores')
  if (expected !== undefined && !isJsonObject(expected)) throw new LineProblem('expected must be an object')
  if (typeof remove !== 'boolean') throw new LineProblem('remove must be true or false')
  if (remove && expected === undefined)
    throw new LineProblem('expected is missing: an item is only removed as it was created')
  return { row, id, members: membersIn(line), expected: expected && membersIn(expected), remove }
})

const callerOf = ({ teamId, actor, scopes, kind }: BatchRun) => ({
  ...{ teamId, actor, mayCreate: kind === 'items apply' },
  holder: { ...recordedAs(actor, teamId), scopes },
})

const common = {
  how: 'written',
  isAdmin: true,
  scope: 'edit',
  readRow,
  async plan({ db }, run, rows, seen) {
    const caller = callerOf(run)
    const results: ItemResult[] = []
    for (const one of rows) {
      const { row, id } = one
      const before = seen.get(id)
      if (before === undefined) seen.set(id, row)
      if (before === undefined || before === row)
        results.push((await decideItem(db.read, caller, one)).result)
      else results.push({ row, id, status: 'failed', error: `The item is already in row ${before}.` })
    }
    return results
  },
  rowsPerWrite: { min: 5, max: 100 },
  async write(trx, { clock }, run, rows) {
    const caller = callerOf(run)
    const at = iso(clock.now())
    const results: ItemResult[] = []
    for (const { row, planned } of rows) results.push(await writeItem(trx, caller, row, { planned, at }))
    return results
  },
} satisfies Partial<ItemKind>

/** Leaves alone whatever somebody has changed since. */
const restoring = (kind: string): ItemKind['undo'] => ({
  kind,
  row: ({ row, id }, { status, changes = {} }) => {
    const side = (which: 'from' | 'to') =>
      Object.fromEntries(Object.entries(changes).map(([member, change]) => [member, change[which]]))
    if (status === 'changed') return { row, id, ...side('from'), expected: side('to') }
    if (status === 'created') return { row, id, remove: true, expected: { ...emptyItem, ...side('to') } }
    return status === 'removed' ? { row, id, ...side('from') } : undefined
  },
})

export const itemEdit: ItemKind = { ...common, names: ['items edit'], undo: restoring('items edit') }
export const itemApply: ItemKind = { ...common, names: ['items apply'], undo: restoring('items apply') }
