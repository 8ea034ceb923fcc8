import { sql } from 'kysely'
import { type AssignedBadgeEvent, assignedBadgeEvents, ownBeforeShared } from './badge-events.ts'
import { findChip, findChipByPublicKey, type TappedChip, tapped } from './chips.ts'
import { type Engine, engineOf, type Queries } from './database.ts'
import { Groups } from './groups.ts'
import { assignedGuestbookEvents, type LocatedGuestbookEvent } from './guestbook-events.ts'
import { statement } from './statement.ts'

/** A chip that shows a tap. */
export interface CarriedChip extends TappedChip {
  /** Comes with the chip where each query is a round trip; undefined: to be read when it is needed. */
  carried?: Carried | undefined
}

/** What a tap may need besides its chip. */
interface Carried {
  /** Of the team; none where the chip redirects. */
  links: readonly { id: number }[]
  /** See badgeEventsOf. */
  badgeEvents: readonly AssignedBadgeEvent[]
  guestbookEvents: readonly LocatedGuestbookEvent[]
}

const tappedWithCarried = (db: Queries, rowsOf: NonNullable<Engine['rowsOf']>) => {
  const ofChip = <T>(column: 'uid' | 'teamId' | 'tokenRow' | 'redirectUrl') => sql.ref<T>(`chips.${column}`)
  const badges = assignedBadgeEvents(db)
  const links = db
    .selectFrom('links')
    .select('links.id')
    .where('links.teamId', '=', ofChip<number>('teamId'))
    .where(ofChip('redirectUrl'), 'is', null)
    .orderBy('links.id')
  const guestbooks = assignedGuestbookEvents(db)
  return tapped(db).select([
    rowsOf(links).as('links'),
    rowsOf(badges.where('badgeAssignments.chipUid', '=', ofChip<string>('uid'))).as('ownBadgeEvents'),
    rowsOf(badges.where('badgeAssignments.tokenRow', '=', ofChip<number>('tokenRow'))).as(
      'sharedBadgeEvents',
    ),
    rowsOf(guestbooks.where('guestbookAssignments.chipUid', '=', ofChip<string>('uid'))).as(
      'guestbookEvents',
    ),
  ])
}

// Made only where the engine has it.
const rowsOn = (db: Queries) => {
  const { rowsOf } = engineOf(db)
  if (!rowsOf) throw new Error('This engine gives no rows as a column')
  return rowsOf
}
const byUids = statement<{ uids: readonly string[] }>()((db, p) =>
  tappedWithCarried(db, rowsOn(db)).where('chips.uid', 'in', engineOf(db).listed(p.uids)),
)
const byPublicKey = statement<{ publicKey: string }>()((db, p) =>
  tappedWithCarried(db, rowsOn(db)).where('chips.publicKey', '=', p.publicKey),
)

type Row = Awaited<ReturnType<typeof byUids.first>>

function carriedChip(row: Row): CarriedChip | undefined {
  if (!row) return undefined
  const { links, ownBadgeEvents, sharedBadgeEvents, guestbookEvents, ...chip } = row
  const badgeEvents = ownBeforeShared(ownBadgeEvents, sharedBadgeEvents)
  return { ...chip, carried: { links, badgeEvents, guestbookEvents } }
}

const groups = new WeakMap<Queries, Groups<string, CarriedChip | undefined>>()

/** Where each query is a round trip, taps that come together are read together. */
function groupsOn(db: Queries): Groups<string, CarriedChip | undefined> {
  const known = groups.get(db)
  if (known) return known
  const made = new Groups(
    async (uids: string[]) => {
      const rows = await byUids.all(db, { uids })
      const chips = new Map(rows.map((row) => [row.uid, carriedChip(row)]))
      return uids.map((uid) => chips.get(uid))
    },
    { atOnce: 3, most: 64 },
  )
  groups.set(db, made)
  return made
}

/** As `findChip`, with all that its tap may need. */
export const findTapped = (db: Queries, uid: string): Promise<CarriedChip | undefined> =>
  engineOf(db).rowsOf ? groupsOn(db).ask(uid) : findChip(db, uid)

/** @param publicKey uncompressed pk2, upper-case hex */
export const findTappedByPublicKey = async (
  db: Queries,
  publicKey: string,
): Promise<CarriedChip | undefined> =>
  engineOf(db).rowsOf
    ? carriedChip(await byPublicKey.first(db, { publicKey }))
    : findChipByPublicKey(db, publicKey)
