import { type ChipWithToken, withToken } from './chips.ts'
import { engineOf, type Queries } from './database.ts'
import type { ChipRow } from './schema.ts'
import { affected, type Statement, statement } from './statement.ts'

/** A chip with every value that can be applied. */
export interface AppliedChip extends ChipWithToken {
  chipGroupName: string
  revision: string
}

const withRevision = (db: Queries) =>
  withToken(db)
    .innerJoin('chipGroups', 'chipGroups.id', 'chips.chipGroupId')
    .select((e) => [
      'chipGroups.name as chipGroupName',
      engineOf(db)
        .revision({
          chipGroup: e.ref('chipGroups.name'),
          contractAddress: e.ref('contracts.address'),
          chainId: e.ref('contracts.chainId'),
          tokenId: e.ref('tokens.tokenId'),
        })
        .as('revision'),
    ])

/** Searches all teams. */
export const appliedChips = (db: Queries, uids: readonly string[]): Promise<AppliedChip[]> =>
  withRevision(db).where('chips.uid', 'in', engineOf(db).listed(uids)).execute()

export const chipsLabelled = (
  db: Queries,
  teamId: number,
  labels: readonly string[],
): Promise<AppliedChip[]> =>
  withRevision(db)
    .where('chips.teamId', '=', teamId)
    .where('chips.label', 'in', engineOf(db).listed(labels))
    .execute()

const appliedColumns = [
  'label',
  'chipGroupId',
  'keySetId',
  'redirectUrl',
  'itemId',
  'variantId',
  'tokenRow',
  'disabledAt',
  'disabledReason',
] as const
export type AppliedColumns = Pick<ChipRow, (typeof appliedColumns)[number]>

type Column = (typeof appliedColumns)[number]
type Values = { uid: string; teamId: number } & { [column in Column | `was ${Column}`]: ChipRow[Column] }

const updates = new Map<string, Statement<Values, unknown>>()

/** Sets only the columns that change, because each one may be in an index. */
const updateOf = (columns: readonly Column[]) =>
  statement<Values>()((db, p) => {
    const update = db
      .updateTable('chips')
      .set({ ...Object.fromEntries(columns.map((column) => [column, p[column]])), importBatch: null })
      .where('uid', '=', p.uid)
      .where('teamId', '=', p.teamId)
    return appliedColumns.reduce(
      (query, column) => query.where(column, 'is not distinct from', p[`was ${column}`]),
      update,
    )
  })

/** @returns false if one of its values was changed since it was read */
export function applyToChip(db: Queries, chip: ChipRow, change: Partial<AppliedColumns>): Promise<boolean> {
  const columns = appliedColumns.filter((column) => change[column] !== undefined)
  const key = columns.join()
  const update = updates.get(key) ?? updateOf(columns)
  updates.set(key, update)
  const was = Object.fromEntries(appliedColumns.map((column) => [`was ${column}`, chip[column]]))
  return update.once(db, { ...chip, ...change, ...was } as unknown as Values)
}

/** The labels of other chips must be free before they are given. */
export const clearLabels = (db: Queries, uids: readonly string[]) =>
  affected(
    db
      .updateTable('chips')
      .set({ label: null, importBatch: null })
      .where('uid', 'in', engineOf(db).listed(uids)),
  )
