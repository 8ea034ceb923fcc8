import { CompiledQuery, type Insertable } from 'kysely'
import { engineOf, type Queries } from '../database/database.ts'
import type { ChipRow, ChipsTable } from '../schema/schema.ts'
import { newestTap } from '../taps/taps.ts'
import { addToChipGroup } from './chip-groups.ts'
import { type ChipWithToken, withToken } from './chips.ts'

export interface SharedColumns {
  teamId: number
  chipGroupId: number
  simulated: 0 | 1
  createdAt: string
  importBatch: string | null
}

/** @returns false, without any insert, if a UID is repeated or already registered */
export async function insertBareChips(
  db: Queries,
  { teamId, chipGroupId, simulated, createdAt, importBatch }: SharedColumns,
  keySetId: number,
  uids: readonly string[],
): Promise<boolean> {
  const endedTap = await newestTap(db)
  const list = engineOf(db).listed(uids).$castTo<{ value: string }>()
  const insert = db
    .insertInto('chips')
    .columns([
      'uid',
      'teamId',
      'chipGroupId',
      'family',
      'keySetId',
      'generation',
      'lastCounter',
      'simulated',
      'createdAt',
      'importBatch',
      'endedTap',
    ])
    .expression(
      db
        .selectFrom(list.as('given'))
        .select((e) => [
          'given.value',
          e.val(teamId).as('teamId'),
          e.val(chipGroupId).as('chipGroupId'),
          e.val('ntag424').as('family'),
          e.val(keySetId).as('keySetId'),
          e.val(0).as('generation'),
          e.val(-1).as('lastCounter'),
          e.val(simulated).as('simulated'),
          e.val(createdAt).as('createdAt'),
          e.val(importBatch).as('importBatch'),
          e.val(endedTap).as('endedTap'),
        ])
        // Without WHERE, SQLite parses ON CONFLICT as a join condition.
        .where((e) => e.lit(true)),
    )
    .onConflict((conflict) => conflict.doNothing())
  return insertAllOrNone(db, chipGroupId, uids.length, async () => {
    const { numInsertedOrUpdatedRows } = await insert.executeTakeFirstOrThrow()
    return Number(numInsertedOrUpdatedRows)
  })
}

/** Compares counts because a failed INSERT would abort the whole transaction on engines other than SQLite. */
async function insertAllOrNone(
  db: Queries,
  chipGroupId: number,
  chips: number,
  insert: () => Promise<number>,
): Promise<boolean> {
  await db.executeQuery(CompiledQuery.raw('savepoint register'))
  const isDone = (await insert()) === chips
  if (isDone) await addToChipGroup(db, chipGroupId, chips)
  else await db.executeQuery(CompiledQuery.raw('rollback to savepoint register'))
  await db.executeQuery(CompiledQuery.raw('release savepoint register'))
  return isDone
}

const columns = [
  'uid',
  'family',
  'keySetId',
  'publicKey',
  'fileReadKey',
  'metaReadKey',
  'generation',
  'lastCounter',
  'lastTap',
  'haloForm',
  'catchesUp',
  'redirectUrl',
  'itemId',
  'variantId',
  'tokenRow',
  'label',
] as const

export type NewChip = Pick<ChipRow, (typeof columns)[number]>

/** @returns false, without any insert, if a UID, label, or public key already exists */
export async function insertChips(
  db: Queries,
  commons: SharedColumns,
  chips: readonly NewChip[],
): Promise<boolean> {
  const { teamId, chipGroupId, simulated, createdAt, importBatch } = commons
  // A chip may be registered again: its earlier taps are then void.
  const shared = [teamId, chipGroupId, simulated, createdAt, importBatch, await newestTap(db)]
  const insert = async (rows: readonly NewChip[]) => {
    const parameters: unknown[] = []
    for (const row of rows) {
      for (const column of columns) parameters.push(row[column])
      for (const value of shared) parameters.push(value)
    }
    const { numAffectedRows } = await db.executeQuery({ ...insertOf(db, rows.length), parameters })
    return Number(numAffectedRows)
  }
  return insertAllOrNone(db, chipGroupId, chips.length, async () => {
    let inserted = 0
    for (const size of sizes)
      for (; chips.length - inserted >= size; inserted += size)
        if ((await insert(chips.slice(inserted, inserted + size))) !== size) return inserted
    return inserted
  })
}

// Thousands of values are faster as parameters than as JSON. Few sizes keep the number of prepared statements small.
const sizes = [500, 50, 5, 1]
const compiled = new Map<string, CompiledQuery>()

/** The parameters are `columns` and then the shared values, row by row. */
function insertOf(db: Queries, size: number): CompiledQuery {
  const key = `${engineOf(db).name} ${size}`
  const known = compiled.get(key)
  if (known) return known
  // Placeholder values, since only the names and their order matter.
  const names = [...columns, 'teamId', 'chipGroupId', 'simulated', 'createdAt', 'importBatch', 'endedTap']
  const row = Object.fromEntries(names.map((name) => [name, ''])) as unknown as Insertable<ChipsTable>
  const query = db
    .insertInto('chips')
    .values(new Array<typeof row>(size).fill(row))
    .onConflict((conflict) => conflict.doNothing())
    .compile()
  compiled.set(key, query)
  return query
}

/** Searches all teams. */
export const existingChips = (db: Queries, uids: readonly string[]): Promise<ChipWithToken[]> =>
  withToken(db).where('chips.uid', 'in', engineOf(db).listed(uids)).execute()

export const existingPublicKeys = (
  db: Queries,
  keys: readonly string[],
): Promise<{ uid: string; publicKey: string | null }[]> =>
  db
    .selectFrom('chips')
    .select(['uid', 'publicKey'])
    .where('publicKey', 'in', engineOf(db).listed(keys))
    .execute()

export const existingLabels = (
  db: Queries,
  teamId: number,
  labels: readonly string[],
): Promise<{ uid: string; label: string | null }[]> =>
  db
    .selectFrom('chips')
    .select(['uid', 'label'])
    .where('teamId', '=', teamId)
    .where('label', 'in', engineOf(db).listed(labels))
    .execute()
