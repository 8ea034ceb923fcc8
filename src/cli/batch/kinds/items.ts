import {
  type ItemMember,
  type ItemMembers,
  isItemId,
  itemLists,
  itemMembers,
  readItemMember,
} from '../../../values/item-members.ts'
import { isJsonObject } from '../../../values/json.ts'
import type { CliContext } from '../../context.ts'
import { clean, counted, shown } from '../../io/text.ts'
import { changedIn } from '../plan.ts'
import type { RowResult, SheetKind, SheetRow } from '../sheet-kind.ts'

interface ItemRow extends SheetRow {
  readonly id: string
  readonly members: ItemMembers
  /** Current values of members that the row does not name, and others do. */
  readonly others?: ItemMembers
}

/** The value of a cell, where an empty one clears. */
const valueIn = (member: ItemMember, cell: string): ReturnType<typeof readItemMember> => {
  const form = itemLists[member]
  if (form === undefined) return readItemMember(member, cell)
  if (cell === '') return { value: [] }
  try {
    const read = readItemMember(member, JSON.parse(cell))
    return 'problem' in read ? { problem: `must be a list like ${form}: ${read.problem}` } : read
  } catch (error) {
    return { problem: `is not JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}

const namedIn = (rows: readonly ItemRow[]): readonly ItemMember[] =>
  itemMembers.filter((name) => rows.some(({ members }) => members[name] !== undefined))

/** For --failed: in CSV, an empty cell for an omitted member would clear it. */
const completed = async (ctx: CliContext, rows: readonly ItemRow[]): Promise<readonly ItemRow[]> => {
  const named = namedIn(rows)
  if (rows.every(({ members }) => named.every((name) => members[name] !== undefined))) return rows
  const items = await ctx.call('GET /admin/items', { query: { team: ctx.flags.team } })
  const known = new Map(
    items.map((item): [string, ItemMembers] => [
      item.id,
      { ...item, contract: item.contract?.symbol ?? null },
    ]),
  )
  return rows.map((row) => ({ ...row, others: known.get(row.id) ?? {} }))
}

const written = (value: unknown): string =>
  typeof value === 'string' ? value : value ? JSON.stringify(value) : ''

const describe = ({ row, id, status, changes, error }: RowResult): string => {
  const parts = Object.entries(isJsonObject(changes) ? changes : {}).flatMap(([name, change]) =>
    isJsonObject(change) ? [`${name} ${shown(change.from)} → ${shown(change.to)}`] : [],
  )
  const end = error === undefined ? parts : [clean(error)]
  return clean([`row ${row}`, String(id), status ?? 'pending', ...end].join('  '))
}

export const itemEdit: SheetKind<ItemRow> = {
  name: 'items edit',
  isAdmin: true,
  sheet: {
    columns: ['id', ...itemMembers],
    required: ['id'],
    anyOf: itemMembers,
    structured: new Set(Object.keys(itemLists)),
    parse: (ctx, problems) => {
      const rowOf = new Map<string, number>()
      return {
        row: (row, [id, ...cells]) => {
          if (!id) problems.add(row, 'id', 'is missing')
          else if (!isItemId(id)) problems.add(row, 'id', `"${id}" is not a valid item ID`)
          else if (rowOf.has(id)) problems.add(row, 'id', `"${id}" is already in row ${rowOf.get(id)}`)
          else rowOf.set(id, row)
          const members: Record<string, unknown> = {}
          for (const [i, member] of itemMembers.entries()) {
            const cell = cells[i]
            if (cell === undefined) continue
            const read = valueIn(member, cell ?? '')
            if ('problem' in read) problems.add(row, member, read.problem)
            else members[member] = read.value
          }
          if (!id || problems.has(row)) return undefined
          if (Object.keys(members).length === 0) problems.add(row, undefined, 'has nothing to change')
          return { row, id, members }
        },
        complete: (rows) => completed(ctx, rows),
      }
    },
  },
  line: ({ id, members }) => ({ id, ...members }),
  label: 'Editing',
  describe,
  // A plan and a report have the values as well.
  shown: (result, where) => {
    const { row, id, status, error } = result
    return where === 'run' ? { row, id, status, error } : result
  },
  question: (totals) => `Edit ${counted(changedIn(totals), 'item')}?`,
  undoQuestion: (count) => `Restore ${counted(count, 'item')}?`,
  hint: () => 'See them: tapchip items list',
  sheetOf: (rows) => {
    const columns = namedIn(rows)
    return {
      heading: ['id', ...columns],
      cells: ({ id, members, others }) => [
        id,
        ...columns.map((name) => written(name in members ? members[name] : others?.[name])),
      ],
    }
  },
}

export const itemApply: SheetKind<ItemRow> = {
  ...itemEdit,
  name: 'items apply',
  label: 'Applying',
  question: (totals) => {
    const { created = 0 } = totals
    const note = created > 0 ? `, of which ${counted(created, 'item')} would be created` : ''
    return `Apply ${counted(changedIn(totals), 'row')}${note}?`
  },
}
