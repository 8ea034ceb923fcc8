import type { Db } from '../../store/database/database.ts'
import { type GuestbookFilter, listGuestbookEvents } from '../../store/guestbook/guestbook-events.ts'
import { teamNames } from '../access/teams.ts'

/** Events of guestbooks with their teams, newest first. */
export async function listGuestbooks({ db }: { db: Pick<Db, 'read'> }, filter: GuestbookFilter) {
  const [rows, names] = await Promise.all([listGuestbookEvents(db.read, filter), teamNames({ db })])
  return rows.map((row) => ({ ...row, team: names.get(row.teamId) ?? '' }))
}
