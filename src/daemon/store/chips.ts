import type { SqlBool } from 'kysely'
import { engineOf, type Queries } from './database.ts'
import type { ChipRow } from './schema.ts'
import { affected, once, statement } from './statement.ts'

export interface ChipWithToken extends ChipRow {
  linkedAddress: string | null
  linkedChainId: number | null
  linkedTokenId: string | null
}

export const withToken = (db: Queries) =>
  db
    .selectFrom('chips')
    .leftJoin('tokens', 'tokens.id', 'chips.tokenRow')
    .leftJoin('contracts', 'contracts.id', 'tokens.contractId')
    .selectAll('chips')
    .select([
      'contracts.address as linkedAddress',
      'contracts.chainId as linkedChainId',
      'tokens.tokenId as linkedTokenId',
    ])

/** Has only the columns that taps use, because every tap reads one. */
export interface TappedChip
  extends Pick<
    ChipWithToken,
    | 'uid'
    | 'teamId'
    | 'keySetId'
    | 'generation'
    | 'fileReadKey'
    | 'lastCounter'
    | 'catchesUp'
    | 'redirectUrl'
    | 'itemId'
    | 'tokenRow'
    | 'disabledAt'
    | 'claimsEndedTap'
    | 'tagTamper'
    | 'tamper'
    | 'linkedAddress'
    | 'linkedChainId'
    | 'linkedTokenId'
  > {
  /** False for most chips, which saves a query. */
  hasBadgeEvents: SqlBool
  hasGuestbookEvents: SqlBool
}

export const tapped = (db: Queries) =>
  db
    .selectFrom('chips')
    .leftJoin('tokens', 'tokens.id', 'chips.tokenRow')
    .leftJoin('contracts', 'contracts.id', 'tokens.contractId')
    .select([
      'chips.uid',
      'chips.teamId',
      'chips.keySetId',
      'chips.generation',
      'chips.fileReadKey',
      'chips.lastCounter',
      'chips.catchesUp',
      'chips.redirectUrl',
      'chips.itemId',
      'chips.tokenRow',
      'chips.disabledAt',
      'chips.claimsEndedTap',
      'chips.tagTamper',
      'chips.tamper',
      'contracts.address as linkedAddress',
      'contracts.chainId as linkedChainId',
      'tokens.tokenId as linkedTokenId',
    ])
    .select((eb) => {
      const badges = eb.selectFrom('badgeAssignments').select('badgeAssignments.id')
      const guestbooks = eb.selectFrom('guestbookAssignments').select('guestbookAssignments.chipUid')
      return [
        eb
          .or([
            eb.exists(badges.whereRef('badgeAssignments.chipUid', '=', 'chips.uid')),
            eb.exists(badges.whereRef('badgeAssignments.tokenRow', '=', 'chips.tokenRow')),
          ])
          .as('hasBadgeEvents'),
        eb
          .exists(guestbooks.whereRef('guestbookAssignments.chipUid', '=', 'chips.uid'))
          .as('hasGuestbookEvents'),
      ]
    })

const byUid = statement<{ uid: string }>()((db, p) => tapped(db).where('chips.uid', '=', p.uid))
const byPublicKey = statement<{ publicKey: string }>()((db, p) =>
  tapped(db).where('chips.publicKey', '=', p.publicKey),
)

export const findChip = (db: Queries, uid: string): Promise<TappedChip | undefined> =>
  byUid.first(db, { uid })

/** @param publicKey uncompressed pk2, upper-case hex */
export const findChipByPublicKey = (db: Queries, publicKey: string): Promise<TappedChip | undefined> =>
  byPublicKey.first(db, { publicKey })

/** Only asked about taps that are replayed, so `tapped` is without it. */
export const lastTapOf = statement<{ uid: string }>()((db, p) =>
  db.selectFrom('chips').select(['lastCounter', 'lastTapAt']).where('uid', '=', p.uid),
).first

/** Columns that affect a tap and can change between taps. */
const chipState = ['teamId', 'redirectUrl', 'itemId', 'tokenRow', 'disabledAt'] as const
export type ChipState = Pick<ChipRow, (typeof chipState)[number]>

const advance = statement<{ uid: string; counter: number; at: string }>()((db, p) =>
  db
    .updateTable('chips')
    .set({ lastCounter: p.counter, lastTapAt: p.at })
    .where('uid', '=', p.uid)
    .where('lastCounter', '<', p.counter)
    .where('catchesUp', '=', 0)
    .returning(chipState),
)
const catchUp = statement<{ uid: string; counter: number; at: string }>()((db, p) =>
  db
    .updateTable('chips')
    .set({ lastCounter: p.counter, lastTapAt: p.at, catchesUp: 0 })
    .where('uid', '=', p.uid)
    .where('lastCounter', '<', p.counter)
    .where('catchesUp', '=', 1)
    .returning(chipState),
)

/** Atomic. @returns the state of the chip, or undefined if the counter is not above the last accepted one */
export const takeCounter = (
  db: Queries,
  tap: { uid: string; counter: number; at: string },
): Promise<ChipState | undefined> => advance.first(db, tap)

/** Atomic, for the first tap after a restore. @returns undefined as takeCounter does, or if the chip has caught up */
export const takeCatchUp = (
  db: Queries,
  tap: { uid: string; counter: number; at: string },
): Promise<ChipState | undefined> => catchUp.first(db, tap)

const setSeal = statement<{ uid: string; tamper: 'closed' | 'open'; openedAt: string | null }>()((db, p) =>
  db
    .updateTable('chips')
    .set({ tagTamper: 1, tamper: p.tamper, openedAt: p.openedAt })
    .where('uid', '=', p.uid)
    // What was open once stays so.
    .where('openedAt', 'is', null),
)

/** @returns false if the seal is known to be open already */
export const noteSeal = (
  db: Queries,
  seen: { uid: string; tamper: 'closed' | 'open'; at: string },
): Promise<boolean> =>
  setSeal.once(db, { uid: seen.uid, tamper: seen.tamper, openedAt: seen.tamper === 'open' ? seen.at : null })

const rowsAt = 500

/** Unordered. Batched, because databases limit the number of parameters. */
export async function findChips(db: Queries, uids: readonly string[]): Promise<ChipRow[]> {
  const found: ChipRow[] = []
  for (let at = 0; at < uids.length; at += rowsAt) {
    const piece = uids.slice(at, at + rowsAt)
    found.push(...(await db.selectFrom('chips').selectAll().where('uid', 'in', piece).execute()))
  }
  return found
}

const setUrl = statement<{ uid: string; teamId: number; redirectUrl: string | null }>()((db, p) =>
  db
    .updateTable('chips')
    .set({ redirectUrl: p.redirectUrl, importBatch: null })
    .where('uid', '=', p.uid)
    .where('teamId', '=', p.teamId),
)

export async function setRedirect(
  db: Queries,
  chip: { uid: string; teamId: number; redirectUrl: string | null },
): Promise<boolean> {
  return (await setUrl.run(db, chip)) === 1
}

/** @param edit `uids` unique, sorted for speed @returns the number of chips found */
export const setRedirects = (
  db: Queries,
  edit: { teamId: number; uids: readonly string[]; redirectUrl: string | null },
) =>
  affected(
    db
      .updateTable('chips')
      .set({ redirectUrl: edit.redirectUrl, importBatch: null })
      .where('uid', 'in', engineOf(db).listed(edit.uids))
      .where('teamId', '=', edit.teamId),
  )

const given = (db: Queries, uids: readonly string[]) =>
  db.selectFrom(engineOf(db).listed(uids).$castTo<{ value: string }>().as('given'))

/** @param uids must be unique */
export async function countOfTeam(db: Queries, teamId: number, uids: readonly string[]): Promise<number> {
  // A cross join stops SQLite from scanning all chips of the team.
  const { count } = await given(db, uids)
    .crossJoin('chips')
    .whereRef('chips.uid', '=', 'given.value')
    .where('chips.teamId', '=', teamId)
    .select((e) => e.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function notOfTeam(db: Queries, teamId: number, uids: readonly string[]): Promise<string[]> {
  const rows = await given(db, uids)
    .select('given.value as uid')
    .where((e) => {
      const chip = e.selectFrom('chips').select('chips.uid').whereRef('chips.uid', '=', 'given.value')
      return e.not(e.exists(chip.where('chips.teamId', '=', teamId)))
    })
    .execute()
  return rows.map((row) => row.uid)
}

/** Ordered by UID. */
export const chipsOfItem = (
  db: Queries,
  of: { teamId: number; itemId: string; after: string; limit: number },
): Promise<ChipWithToken[]> =>
  withToken(db)
    .where('chips.teamId', '=', of.teamId)
    .where('chips.itemId', '=', of.itemId)
    .where('chips.uid', '>', of.after)
    .orderBy('chips.uid')
    .limit(of.limit)
    .execute()

const ofToken = statement<{ tokenRow: number }>()((db, p) =>
  db
    .selectFrom('chips')
    .select(['uid', 'teamId', 'redirectUrl', 'disabledAt'])
    .where('tokenRow', '=', p.tokenRow)
    .orderBy('uid'),
)
export const chipsOfToken = (db: Queries, tokenRow: number) => ofToken.all(db, { tokenRow })

/** From then on, the import that registered the chip cannot be undone for it. */
export const updateChip = (db: Queries, uid: string, change: Partial<Omit<ChipRow, 'uid' | 'importBatch'>>) =>
  once(
    db
      .updateTable('chips')
      .set({ ...change, importBatch: null })
      .where('uid', '=', uid),
  )
