import { type JsonObject, parseObject } from '../../values/json.ts'
import { pagesOf } from '../../values/slices.ts'
import { type AuditFilter, type AuditRow, listAudit } from '../store/audit.ts'
import type { Db } from '../store/database.ts'

interface RecordedChange extends Omit<AuditRow, 'detail'> {
  detail: JsonObject
}

/** Newest first. */
export async function* listChanges(
  { db }: { db: Pick<Db, 'slow'> },
  filter: AuditFilter,
): AsyncGenerator<RecordedChange> {
  const page = (last: AuditRow | undefined, limit: number) =>
    listAudit(db.slow, { ...filter, before: last?.id ?? filter.before, limit })
  let left = filter.limit
  // The detail of a batch may be long.
  for await (const row of pagesOf(page, { least: 20, most: 20 })) {
    yield { ...row, detail: parseObject(row.detail) ?? {} }
    left -= 1
    if (left === 0) return
  }
}
