import { type AuditFilter, type AuditRow, listAudit } from '../store/audit.ts'
import type { Db } from '../store/database.ts'

/** A change as it was recorded, opened. */
export interface RecordedChange extends Omit<AuditRow, 'detail'> {
  detail: Record<string, unknown>
}

/** Newest first. */
export async function listChanges(
  { db }: { db: Pick<Db, 'read'> },
  filter: AuditFilter,
): Promise<RecordedChange[]> {
  return (await listAudit(db.read, filter)).map((row) => ({ ...row, detail: opened(row.detail) }))
}

function opened(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json)
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
