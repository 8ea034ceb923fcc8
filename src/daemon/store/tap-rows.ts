import type { Queries } from './database.ts'
import { insertOtp } from './otps.ts'
import { insertPageVisit } from './page-visits.ts'
import { insertRef } from './refs.ts'
import type { TapRows } from './tap-to-take.ts'

interface RecordedTap {
  tapId: number
  chipUid: string
  counter: number
  /** ISO 8601 */
  at: string
}

/** Belongs in the write that takes the tap. */
export async function insertTapRows(db: Queries, tap: RecordedTap, rows: TapRows): Promise<void> {
  const { tapId, chipUid, counter, at: createdAt } = tap
  for (const { code, ...ref } of rows.refs ?? [])
    await insertRef(db, code, { ...ref, chipUid, tapId, createdAt })
  for (const { code, ...otp } of rows.otps ?? [])
    await insertOtp(db, code, { ...otp, chipUid, tapId, createdAt })
  if (!rows.visit) return
  const { cookie, ...visit } = rows.visit
  await insertPageVisit(db, cookie, { ...visit, chipUid, counter })
}
