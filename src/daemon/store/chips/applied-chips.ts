import type { AliasableExpression } from 'kysely'
import { chipColumns } from '../../../values/chip-columns.ts'
import { engineOf, type Queries } from '../database/database.ts'
import { affected, type Statement, statement } from '../database/statement.ts'
import type { ChipRow } from '../schema/schema.ts'
import type { ChipWithToken } from './chips.ts'

/** Columns to which rows of sheets are compared. Few, because a sheet may have 100,000 rows. */
export interface AppliedChip
  extends Pick<
    ChipWithToken,
    (typeof compared)[number] | 'linkedAddress' | 'linkedChainId' | 'linkedTokenId'
  > {
  chipGroupName: string
  /** Null unless requested. */
  revision: string | null
}

const compared = [
  'uid',
  'teamId',
  'chipGroupId',
  'keySetId',
  'publicKey',
  'lastCounter',
  'redirectUrl',
  'itemId',
  'variantId',
  'tokenRow',
  'label',
  'disabledAt',
  'replacedBy',
  'changedAt',
] as const

const comparedChips = (db: Queries, withRevision: boolean) =>
  db
    .selectFrom('chips')
    .innerJoin('chipGroups', 'chipGroups.id', 'chips.chipGroupId')
    .leftJoin('tokens', 'tokens.id', 'chips.tokenRow')
    .leftJoin('contracts', 'contracts.id', 'tokens.contractId')
    .select(compared.map((column) => `chips.${column}` as const))
    .select((e) => {
      const revision: AliasableExpression<string | null> = withRevision
        ? engineOf(db).revision((column) => e.ref(chipColumns[column].stored))
        : e.lit(null).$castTo<string | null>()
      return [
        'chipGroups.name as chipGroupName',
        'contracts.address as linkedAddress',
        'contracts.chainId as linkedChainId',
        'tokens.tokenId as linkedTokenId',
        revision.as('revision'),
      ]
    })

/** Searches all teams. */
export const appliedChips = (
  db: Queries,
  uids: readonly string[],
  withRevision: boolean,
): Promise<AppliedChip[]> =>
  comparedChips(db, withRevision).where('chips.uid', 'in', engineOf(db).listed(uids)).execute()

export const chipsLabelled = (
  db: Queries,
  teamId: number,
  labels: readonly string[],
): Promise<AppliedChip[]> =>
  comparedChips(db, true)
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
type Values = Record<string, string | number | null>

const updates = new Map<string, Statement<Values, unknown>>()

/** Sets only the columns that change, because each one may be in an index. */
const updateOf = (columns: readonly Column[], unchanged: readonly Column[]) =>
  statement<Values>()((db, p) => {
    const update = db
      .updateTable('chips')
      .set({
        ...Object.fromEntries(columns.map((column) => [column, p[column]])),
        changedAt: p.at as string,
        importBatch: null,
      })
      .where('uid', '=', p.uid as string)
      .where('teamId', '=', p.teamId as number)
    return unchanged.reduce(
      (query, column) => query.where(column, 'is not distinct from', p[`was ${column}`] as never),
      update,
    )
  })

/**
 * @param isWhole true: no value may have changed; false: only the values to be set are checked
 * @returns false if one of them was changed since the chip was read
 */
export function applyToChip(
  db: Queries,
  chip: AppliedChip,
  change: Partial<AppliedColumns>,
  { isWhole, at }: { isWhole: boolean; at: string },
): Promise<boolean> {
  const values: Values = { uid: chip.uid, teamId: chip.teamId, at }
  const columns: Column[] = []
  const unchanged: Column[] = []
  for (const column of appliedColumns) {
    const value = change[column]
    if (value !== undefined) {
      columns.push(column)
      values[column] = value
    }
    if (column === 'disabledReason' || (value === undefined && !isWhole)) continue
    unchanged.push(column)
    values[`was ${column}`] = chip[column]
  }
  const key = `${columns.join()} ${isWhole}`
  const update = updates.get(key) ?? updateOf(columns, unchanged)
  updates.set(key, update)
  return update.runOnce(db, values)
}

/** Labels of other chips must be released before they are assigned. */
export const clearLabels = (db: Queries, uids: readonly string[]) =>
  affected(
    db
      .updateTable('chips')
      .set({ label: null, importBatch: null })
      .where('uid', 'in', engineOf(db).listed(uids)),
  )
