import { isDeepStrictEqual } from 'node:util'
import type { ElementOf } from '../../client/types.ts'
import { clean, counted, shown } from '../../io/text.ts'
import { checkWithDaemon, refused, showChanges } from '../answers.ts'
import { isNumber, isStatus, isText, orAbsent, orNull, type Result, type Row, shape } from '../journal.ts'
import type { RowKind } from '../kind.ts'

type Item = ElementOf<'GET /admin/items'>
/** The fields that a sheet can set; the contract by its symbol. */
type Members = Partial<Omit<Item, 'id' | 'contract' | 'featuredMedia'>> & {
  readonly contract?: string | null
}

/** `previous` holds the values of the same fields before the batch. */
interface ItemRow extends Row {
  readonly id: string
  readonly team?: string | undefined
  readonly changes: Members
  /** The row fails unless these are the current values. */
  readonly expected?: Members | undefined
  readonly previous?: Members | undefined
}

interface ItemResult extends Result {
  readonly id: string
}

const members = ['name', 'description', 'imageUrl', 'contract', 'media', 'attributes', 'variants'] as const
type Member = (typeof members)[number]

const listOf = (isFit: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(isFit)
const lists = {
  media: listOf(shape<Item['media'][number]>({ mimeType: isText, url: isText })),
  attributes: listOf(shape<Item['attributes'][number]>({ name: isText, values: listOf(isText) })),
  variants: listOf(
    shape<Item['variants'][number]>({
      id: isText,
      attributes: listOf(shape<{ name: string; value: string }>({ name: isText, value: isText })),
    }),
  ),
}
const listForms: Readonly<Record<string, string>> = {
  media: '[{ "mimeType", "url" }]',
  attributes: '[{ "name", "values": [] }]',
  variants: '[{ "id", "attributes": [{ "name", "value" }] }]',
}
const isMembers = shape<Members>({
  name: orAbsent(isText),
  description: orAbsent(isText),
  imageUrl: orAbsent(isText),
  contract: orAbsent(orNull(isText)),
  media: orAbsent(lists.media),
  attributes: orAbsent(lists.attributes),
  variants: orAbsent(lists.variants),
})

/** The value of a cell, where an empty one clears, or the reason why it is invalid. */
const valueIn = (member: Member, cell: string): { readonly value: unknown } | { readonly why: string } => {
  if (member === 'name') return cell === '' ? { why: 'must not be empty' } : { value: cell }
  if (member === 'contract') return { value: cell || null }
  if (member === 'description' || member === 'imageUrl') return { value: cell }
  if (cell === '') return { value: [] }
  try {
    const value: unknown = JSON.parse(cell)
    return lists[member](value) ? { value } : { why: `must be a list like ${listForms[member]}` }
  } catch (error) {
    return { why: `is not JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}

type Known = Readonly<Record<Member, unknown>>

const pick = (item: Known, named: Members): Members => {
  const picked = Object.fromEntries(Object.keys(named).map((name) => [name, item[name as Member]]))
  return isMembers(picked) ? picked : {}
}

interface Found {
  readonly status: 'changed' | 'unchanged' | 'failed'
  readonly error?: string | undefined
  /** undefined if the team has no such item. */
  readonly item: Known | undefined
}

const find = ({ changes, expected }: ItemRow, item: Known | undefined): Found => {
  const fail = (error: string): Found => ({ status: 'failed', error, item })
  if (item === undefined) return fail('No such item. Check the id, and that it belongs to your team.')
  const now = pick(item, changes)
  if (isDeepStrictEqual(now, changes)) return { status: 'unchanged', item }
  return expected === undefined || isDeepStrictEqual(now, expected)
    ? { status: 'changed', item }
    : fail('The item was changed in the meantime, and is left as it is.')
}

const written = (value: unknown): string =>
  typeof value === 'string' ? value : value ? JSON.stringify(value) : ''

export const items: RowKind<ItemRow, ItemResult, ReadonlyMap<number, Found>> = {
  name: 'items edit',
  isAdmin: true,
  sheet: {
    columns: ['id', ...members],
    required: ['id'],
    anyOf: members,
    structured: new Set(Object.keys(lists)),
    parse: ({ flags: { team } }, problems) => {
      const rowOf = new Map<string, number>()
      return {
        row: (row, [id, ...cells]) => {
          if (!id) problems.add(row, 'id', 'is missing')
          else if (!/^[A-Za-z0-9._-]{1,64}$/.test(id))
            problems.add(row, 'id', `"${id}" is not a valid item ID`)
          else if (rowOf.has(id)) problems.add(row, 'id', `"${id}" is already in row ${rowOf.get(id)}`)
          else rowOf.set(id, row)
          const changes: Record<string, unknown> = {}
          for (const [i, member] of members.entries()) {
            const cell = cells[i]
            if (cell === undefined) continue
            const read = valueIn(member, cell ?? '')
            if ('why' in read) problems.add(row, member, read.why)
            else changes[member] = read.value
          }
          if (!id || problems.has(row)) return undefined
          if (Object.keys(changes).length === 0) problems.add(row, undefined, 'has nothing to change')
          return isMembers(changes)
            ? { row, id, ...(team === undefined ? {} : { team }), changes }
            : undefined
        },
      }
    },
  },
  isRow: shape<ItemRow>({
    row: isNumber,
    id: isText,
    team: orAbsent(isText),
    changes: isMembers,
    expected: orAbsent(isMembers),
    previous: orAbsent(isMembers),
  }),
  isResult: shape<ItemResult>({ row: isNumber, id: isText, status: isStatus, error: orAbsent(isText) }),
  check: (ctx, rows) =>
    checkWithDaemon(ctx, 'written', async () => {
      const listed = await ctx.call('GET /admin/items', { query: { team: rows[0]?.team } })
      const known = new Map(
        listed.map((item) => [item.id, { ...item, contract: item.contract?.symbol ?? null }]),
      )
      return new Map(rows.map((row) => [row.row, find(row, known.get(row.id))]))
    }),
  show: (ctx, rows, check = new Map()) =>
    showChanges(
      ctx,
      rows.flatMap((row) => {
        const { status, error, item } = check.get(row.row) ?? find(row, undefined)
        const changes =
          status === 'changed' && item
            ? Object.entries(row.changes).flatMap(([name, to]) => {
                const from = item[name as Member]
                return isDeepStrictEqual(from, to) ? [] : [[name, { from, to }] as const]
              })
            : []
        const words = changes.map(([name, { from, to }]) => `${name} ${shown(from)} → ${shown(to)}`)
        const line = {
          row: row.row,
          id: row.id,
          status,
          changes: changes.length === 0 ? undefined : Object.fromEntries(changes),
          error,
        }
        const start = `row ${row.row}  ${row.id}  ${status}`
        return [
          { status, line, forPeople: () => [start, ...words, ...(error ? [clean(error)] : [])].join('  ') },
        ]
      }),
    ),
  prepare: (row, check) => {
    const { item } = check.get(row.row) ?? {}
    return { ...row, previous: item && pick(item, row.changes) }
  },
  foreseen: ({ row }, check) => check.get(row),
  settle: ({ row, id }, check) =>
    check.get(row)?.status === 'unchanged' ? { row, id, status: 'unchanged' } : undefined,
  requests: { rows: 1, atOnce: 1, isOrdered: true },
  // If a row was written before a kill, the daemon finds the new values and accepts them as well.
  endpoint: 'PATCH /admin/items/:id',
  send: async function* (client, rows) {
    for (const { row, id, team, changes, expected, previous } of rows) {
      const body = { ...changes, team, expected: expected ?? previous }
      yield await client.call('PATCH /admin/items/:id', { params: { id }, body }).then(
        (): ItemResult => ({ row, id, status: 'changed' }),
        (error: unknown): ItemResult => ({ row, id, ...refused(error) }),
      )
    }
  },
  label: 'Editing',
  countedStatuses: ['changed', 'unchanged', 'failed'],
  next: (id, { changed }) => (changed > 0 ? `Undo it: tapchip batch undo ${id}` : ''),
  hint: () => 'See them: tapchip items list',
  describe: ({ row, id, status, error }, { changes }) =>
    clean(`row ${row}  ${id}  ${status}  ${error ?? Object.keys(changes).join(', ')}`),
  about: ({ id }) => ({ id }),
  pending: ({ id }) => `${id}  `,
  sheetOf: (rows, check) => {
    const columns = members.filter((name) => rows.some(({ changes }) => changes[name] !== undefined))
    return {
      heading: ['id', ...columns],
      // An empty cell would clear what the row left alone.
      cells: ({ row, id, changes }) => {
        const values: Partial<Known> = { ...check?.get(row)?.item, ...changes }
        return [id, ...columns.map((name) => written(values[name]))]
      },
    }
  },
  undo: {
    name: 'items undo',
    question: (count) => `Restore ${counted(count, 'item')}?`,
    nothing: 'The batch changed nothing.',
    row: ({ row, id, team, changes, previous }) =>
      previous && { row, id, team, changes: previous, expected: changes },
  },
}
