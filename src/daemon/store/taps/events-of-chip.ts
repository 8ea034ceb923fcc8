import { type RawBuilder, sql } from 'kysely'

/** Uses sums: building an ordered list would take SQLite as long as a whole tap. */
const changing = (column: string, from: RawBuilder<unknown>) => sql<string>`(
  select count(*) || ' ' || coalesce(sum(${sql.ref(column)}), 0) || ' ' ||
    coalesce(sum(${sql.ref(column)} * ${sql.ref(column)}), 0)
  from ${from})`

/** A text that changes with each assignment of badges and guestbooks to a chip or its token. */
export const eventsOfChip = sql<string>`(
  ${changing('id', sql`"badgeAssignments" where "chipUid" = chips.uid or "tokenRow" = chips."tokenRow"`)} || ';' ||
  ${changing('guestbookEventId', sql`"guestbookAssignments" where "chipUid" = chips.uid`)})`

/** @param events see eventsOfChip */
export const hasBadges = (events: string): boolean => !events.startsWith('0 ')
export const hasGuestbooks = (events: string): boolean => !events.includes(';0 ')
