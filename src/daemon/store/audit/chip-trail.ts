import { isJsonObject, type JsonObject, parseObject } from '../../../values/json.ts'
import type { Queries } from '../database/database.ts'

// An entry that changes many chips is found by its date, which each of its chips has: the one column more costs a
// batch nothing, and an index of entries by chip half of its speed. The entry has the chip's date before.

/** Part of a chip's row in an entry. */
export const changedBefore = (at: string | null | undefined): { before?: string } =>
  at == null ? {} : { before: at }

/** What an entry says of one of its chips; undefined: it does not name it. */
export function rowOfChip({ rows, uids }: JsonObject, uid: string): JsonObject | undefined {
  const row = Array.isArray(rows) ? rows.find((one) => isJsonObject(one) && one.uid === uid) : undefined
  if (isJsonObject(row)) return row
  return Array.isArray(uids) && uids.includes(uid) ? {} : undefined
}

const maxEntries = 1000

/** IDs of entries that changed the chip among others, newest first: those that the chip leads to. */
export async function entriesAmongOthers(db: Queries, uid: string): Promise<number[]> {
  const chip = await db
    .selectFrom('chips')
    .select(['changedAt', 'createdAt', 'teamId'])
    .where('uid', '=', uid)
    .executeTakeFirst()
  if (!chip) return []
  const ids: number[] = []
  const seen = new Set<string>()
  let next: string | undefined = chip.changedAt ?? undefined
  while (ids.length < maxEntries) {
    const at: string = next === undefined || seen.has(next) ? chip.createdAt : next
    if (seen.has(at)) break
    seen.add(at)
    next = undefined
    const entries = await db
      .selectFrom('audit')
      .select(['id', 'action', 'teamId', 'detail'])
      .where('at', '=', at)
      .orderBy('id', 'desc')
      .execute()
    for (const { id, action, teamId, detail } of entries) {
      const row = rowOfChip(parseObject(detail) ?? {}, uid)
      // The entry of an import names no chips.
      const isImport = action === 'chips.import' && teamId === chip.teamId && at === chip.createdAt
      if (row || isImport) ids.push(id)
      if (typeof row?.before === 'string' && !seen.has(row.before)) next = row.before
    }
  }
  return ids
}
