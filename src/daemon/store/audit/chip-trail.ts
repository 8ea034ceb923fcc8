import { isJsonObject, type JsonObject, parseObject } from '../../../values/json.ts'
import type { Queries } from '../database/database.ts'
import type { ChipRow } from '../schema/schema.ts'

// An entry that changes many chips is found by its date, which each of its chips has: the one column more costs a
// batch nothing, and an index of entries by chip half of its speed. The entry has the chip's date before.

/** Part of a chip's row in an entry. */
export const changedBefore = (at: string | null | undefined): { before?: string } =>
  at == null ? {} : { before: at }

/** Part of the entry of a removal, which takes the chip's own dates away. */
export const trailOf = ({ changedAt, createdAt }: Pick<ChipRow, 'changedAt' | 'createdAt'>) => ({
  ...changedBefore(changedAt),
  registeredAt: createdAt,
})

/** What an entry says of one of its chips; undefined: it does not name it. */
export function rowOfChip({ rows, uids }: JsonObject, uid: string): JsonObject | undefined {
  const row = Array.isArray(rows) ? rows.find((one) => isJsonObject(one) && one.uid === uid) : undefined
  if (isJsonObject(row)) return row
  return Array.isArray(uids) && uids.includes(uid) ? {} : undefined
}

const maxEntries = 1000

/** Where a chip's trail begins: its last change. */
type Trail = Pick<ChipRow, 'changedAt' | 'createdAt' | 'teamId'>

/** IDs of entries that changed the chip among others, newest first: those that the chip leads to, and its removals. */
export async function entriesAmongOthers(db: Queries, uid: string): Promise<number[]> {
  const chip = await db
    .selectFrom('chips')
    .select(['changedAt', 'createdAt', 'teamId'])
    .where('uid', '=', uid)
    .executeTakeFirst()
  const ids: number[] = []
  for (const trail of [...(chip ? [chip] : []), ...(await removedTrails(db, uid))])
    ids.push(...(await entriesOf(db, uid, trail, maxEntries - ids.length)))
  return ids
}

async function entriesOf(db: Queries, uid: string, trail: Trail, limit: number): Promise<number[]> {
  const ids: number[] = []
  const seen = new Set<string>()
  let next: string | undefined = trail.changedAt ?? undefined
  while (ids.length < limit) {
    const at: string = next === undefined || seen.has(next) ? trail.createdAt : next
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
      const isImport = action === 'chips.import' && teamId === trail.teamId && at === trail.createdAt
      if (row || isImport) ids.push(id)
      if (typeof row?.before === 'string' && !seen.has(row.before)) next = row.before
    }
  }
  return ids
}

const removals = ['chips.remove', 'chips.apply', 'chips.undo-import']

/** The trails of the chips that had the UID, newest first. Versions before did not record them. */
async function removedTrails(db: Queries, uid: string): Promise<Trail[]> {
  const removed = db
    .selectFrom('audit')
    .select(['id', 'teamId', 'detail'])
    // So written that it does not make the database choose the index of actions.
    .where((e) => e(e.fn.coalesce('action', e.val('')), 'in', removals))
    .orderBy('id', 'desc')
    .limit(maxEntries)
  const byTarget = await removed.where('target', '=', uid).execute()
  const amongOthers = await removed
    .where('id', 'in', (e) => e.selectFrom('auditChips').select('auditId').where('uid', '=', uid))
    .execute()
  const entries = [...byTarget, ...amongOthers].sort((a, b) => b.id - a.id)
  return entries.flatMap(({ teamId, detail }) => {
    const about = parseObject(detail) ?? {}
    const { before, registeredAt } = { ...about, ...rowOfChip(about, uid) }
    if (teamId === null || typeof registeredAt !== 'string') return []
    return [{ teamId, createdAt: registeredAt, changedAt: typeof before === 'string' ? before : null }]
  })
}
