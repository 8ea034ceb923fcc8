import { engineOf, type Queries } from '../database/database.ts'
import { Groups } from '../database/groups.ts'
import { affected, once, statement } from '../database/statement.ts'
import type { ChipRow } from '../schema/schema.ts'
import { eventsOfChip } from '../taps/events-of-chip.ts'

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

/** The columns of a chip that determine what a tap gives. Only these, because each ref reads them. */
export interface ChipWithEvents
  extends Pick<
    ChipWithToken,
    | 'uid'
    | 'teamId'
    | 'itemId'
    | 'tokenRow'
    | 'disabledAt'
    | 'claimsEndedTap'
    | 'linkedAddress'
    | 'linkedChainId'
    | 'linkedTokenId'
  > {
  /** See eventsOfChip. */
  events: string
}

export const carrying = (db: Queries) =>
  db
    .selectFrom('chips')
    .leftJoin('tokens', 'tokens.id', 'chips.tokenRow')
    .leftJoin('contracts', 'contracts.id', 'tokens.contractId')
    .select([
      'chips.uid',
      'chips.teamId',
      'chips.itemId',
      'chips.tokenRow',
      'chips.disabledAt',
      'chips.claimsEndedTap',
      'contracts.address as linkedAddress',
      'contracts.chainId as linkedChainId',
      'tokens.tokenId as linkedTokenId',
    ])
    .select(eventsOfChip.as('events'))

/** Includes the columns that a tap's verdict depends on. */
export interface TappedChip
  extends ChipWithEvents,
    Pick<
      ChipRow,
      | 'keySetId'
      | 'generation'
      | 'fileReadKey'
      | 'lastCounter'
      | 'catchesUp'
      | 'lastTap'
      | 'haloForm'
      | 'redirectUrl'
      | 'claimRound'
      | 'tagTamper'
      | 'tamper'
    > {
  chipGroup: string
}

const tapped = (db: Queries) =>
  carrying(db)
    .innerJoin('chipGroups', 'chipGroups.id', 'chips.chipGroupId')
    .select([
      'chipGroups.name as chipGroup',
      'chips.keySetId',
      'chips.generation',
      'chips.fileReadKey',
      'chips.lastCounter',
      'chips.catchesUp',
      'chips.lastTap',
      'chips.haloForm',
      'chips.redirectUrl',
      'chips.claimRound',
      'chips.tagTamper',
      'chips.tamper',
    ])

const byUid = statement<{ uid: string }>()((db, p) => tapped(db).where('chips.uid', '=', p.uid))
const byPublicKey = statement<{ publicKey: string }>()((db, p) =>
  tapped(db).where('chips.publicKey', '=', p.publicKey),
)

export const findChip = (db: Queries, uid: string): Promise<TappedChip | undefined> =>
  byUid.first(db, { uid })

const groups = new WeakMap<Queries, Groups<string, TappedChip | undefined>>()

/** If each query is a round trip, chips whose taps arrive together are read together. */
function groupsOn(db: Queries): Groups<string, TappedChip | undefined> {
  const known = groups.get(db)
  if (known) return known
  const made = new Groups(
    async (uids: string[]) => {
      const chips = new Map((await byUids.all(db, { uids })).map((chip) => [chip.uid, chip]))
      return uids.map((uid) => chips.get(uid))
    },
    { concurrency: 3, maxPerGroup: 64 },
  )
  groups.set(db, made)
  return made
}

const byUids = statement<{ uids: readonly string[] }>()((db, p) =>
  tapped(db).where('chips.uid', 'in', engineOf(db).listed(p.uids)),
)

/** The chip of a tap. */
export const findChipForTap = (db: Queries, uid: string): Promise<TappedChip | undefined> =>
  engineOf(db).isShared ? groupsOn(db).ask(uid) : findChip(db, uid)

/** @param publicKey uncompressed pk2, upper-case hex */
export const findChipByPublicKey = (db: Queries, publicKey: string): Promise<TappedChip | undefined> =>
  byPublicKey.first(db, { publicKey })

/** Only asked about replayed taps, so `tapped` is without it. */
export const lastTapOf = statement<{ uid: string }>()((db, p) =>
  db.selectFrom('chips').select(['lastCounter', 'lastTapAt']).where('uid', '=', p.uid),
).first

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

export const chipsWithMetaKey = (db: Queries) =>
  db.selectFrom('chips').select(['uid', 'metaReadKey']).where('metaReadKey', 'is not', null).execute()

export async function countMetaKeys(db: Queries): Promise<number> {
  const { chips } = await db
    .selectFrom('chips')
    .select((e) => e.fn.countAll<number>().as('chips'))
    .where('metaReadKey', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(chips)
}

const setUrl = statement<{ uid: string; teamId: number; redirectUrl: string | null; at: string }>()((db, p) =>
  db
    .updateTable('chips')
    .set({ redirectUrl: p.redirectUrl, changedAt: p.at, importBatch: null })
    .where('uid', '=', p.uid)
    .where('teamId', '=', p.teamId),
)

export async function setRedirect(
  db: Queries,
  chip: { uid: string; teamId: number; redirectUrl: string | null; at: string },
): Promise<boolean> {
  return (await setUrl.run(db, chip)) === 1
}

/** @param edit `uids` unique, sorted for speed @returns the number of chips found */
export const setRedirects = (
  db: Queries,
  edit: { teamId: number; uids: readonly string[]; redirectUrl: string | null; at: string },
) =>
  affected(
    db
      .updateTable('chips')
      .set({ redirectUrl: edit.redirectUrl, changedAt: edit.at, importBatch: null })
      .where('uid', 'in', engineOf(db).listed(edit.uids))
      .where('teamId', '=', edit.teamId),
  )

/** As an entry of the audit log shows them, in any order. @param uids must be unique */
export const redirectsOf = (db: Queries, uids: readonly string[]) =>
  db
    .selectFrom('chips')
    .select(['uid', 'redirectUrl as previous', 'changedAt as before'])
    .where('uid', 'in', engineOf(db).listed(uids))
    .execute()

const chipsWithUids = (db: Queries, uids: readonly string[]) =>
  db.selectFrom(engineOf(db).listed(uids).$castTo<{ value: string }>().as('given'))

/** @param uids must be unique */
export async function countOfTeam(db: Queries, teamId: number, uids: readonly string[]): Promise<number> {
  // A cross join stops SQLite from scanning all chips of the team.
  const { count } = await chipsWithUids(db, uids)
    .crossJoin('chips')
    .whereRef('chips.uid', '=', 'given.value')
    .where('chips.teamId', '=', teamId)
    .select((e) => e.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function notOfTeam(db: Queries, teamId: number, uids: readonly string[]): Promise<string[]> {
  const rows = await chipsWithUids(db, uids)
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
export const uidsOfToken = async (db: Queries, tokenRow: number): Promise<string[]> =>
  (await chipsOfToken(db, tokenRow)).map(({ uid }) => uid)

/** From then on, the chip is excluded from undoing the import that registered it. */
export const updateChip = (db: Queries, uid: string, change: Partial<Omit<ChipRow, 'uid' | 'importBatch'>>) =>
  once(
    db
      .updateTable('chips')
      .set({ ...change, importBatch: null })
      .where('uid', '=', uid),
  )
