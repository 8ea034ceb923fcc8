import { sql } from 'kysely'
import { type ChipWithToken, withToken } from './chips.ts'
import type { Queries } from './database.ts'
import type { Remembered } from './removed-chips.ts'
import type { ChipRow } from './schema.ts'

// Registering chips by the thousand, in SQLite's own words: a list goes in as one JSON parameter, so the text of a
// statement is the same for any number of rows, is prepared once, and runs faster than INSERTs of many rows do.

const values = (list: readonly unknown[]) =>
  sql<string>`(select value from json_each(${JSON.stringify(list)}))`

/** What all chips of one insert have in common. */
export interface Commons {
  teamId: number
  chipGroupId: number
  simulated: 0 | 1
  createdAt: string
}

/**
 * Inserts NTAG chips of which nothing but the UID is known.
 * @returns false, having inserted none, where one of them is there already or is named twice
 */
export async function insertBareChips(
  db: Queries,
  { teamId, chipGroupId, simulated, createdAt }: Commons,
  keySetId: number,
  uids: readonly string[],
): Promise<boolean> {
  const query = sql`
    insert into chips
      (uid, "teamId", "chipGroupId", family, "keySetId", generation, "lastCounter", simulated, "createdAt")
    select value, ${teamId}, ${chipGroupId}, 'ntag424', ${keySetId}, 0, -1, ${simulated}, ${createdAt}
    from json_each(${JSON.stringify(uids)})
  `
  try {
    await query.execute(db)
    return true
  } catch (error) {
    // A failed statement leaves nothing behind, and its transaction goes on.
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY')
      return false
    throw error
  }
}

export type NewChip = Pick<
  ChipRow,
  | 'uid'
  | 'family'
  | 'keySetId'
  | 'publicKey'
  | 'fileReadKey'
  | 'generation'
  | 'lastCounter'
  | 'redirectUrl'
  | 'itemId'
  | 'variantId'
  | 'tokenRow'
  | 'label'
>

/** Inserts chips that are known to be new. */
export async function insertChips(
  db: Queries,
  { teamId, chipGroupId, simulated, createdAt }: Commons,
  chips: readonly NewChip[],
): Promise<void> {
  const rows = chips.map((chip) => [
    chip.uid,
    chip.family,
    chip.keySetId,
    chip.publicKey,
    chip.fileReadKey === null ? null : Buffer.from(chip.fileReadKey).toString('hex'),
    chip.generation,
    chip.lastCounter,
    chip.redirectUrl,
    chip.itemId,
    chip.variantId,
    chip.tokenRow,
    chip.label,
  ])
  await sql`
    insert into chips
      (uid, family, "keySetId", "publicKey", "fileReadKey", generation, "lastCounter", "redirectUrl", "itemId",
       "variantId", "tokenRow", label, "teamId", "chipGroupId", simulated, "createdAt")
    select value->>0, value->>1, value->>2, value->>3, unhex(value->>4), value->>5, value->>6, value->>7, value->>8,
       value->>9, value->>10, value->>11, ${teamId}, ${chipGroupId}, ${simulated}, ${createdAt}
    from json_each(${JSON.stringify(rows)})
  `.execute(db)
}

/** The chips of these UIDs, whosesoever they are. */
export const chipsThere = (db: Queries, uids: readonly string[]): Promise<ChipWithToken[]> =>
  withToken(db).where('chips.uid', 'in', values(uids)).execute()

/** Which chip has which of these public keys. */
export const publicKeysThere = (
  db: Queries,
  keys: readonly string[],
): Promise<{ uid: string; publicKey: string | null }[]> =>
  db.selectFrom('chips').select(['uid', 'publicKey']).where('publicKey', 'in', values(keys)).execute()

/** Which chip of a team has which of these labels. */
export const labelsThere = (
  db: Queries,
  teamId: number,
  labels: readonly string[],
): Promise<{ uid: string; label: string | null }[]> =>
  db
    .selectFrom('chips')
    .select(['uid', 'label'])
    .where('teamId', '=', teamId)
    .where('label', 'in', values(labels))
    .execute()

/** What is remembered of chips that were removed. */
export const rememberedOf = (db: Queries, identities: readonly string[]): Promise<Remembered[]> =>
  db
    .selectFrom('removedChips')
    .select(['identity', 'lastCounter', 'generation'])
    .where('identity', 'in', values(identities))
    .execute()

/** The rows of tokens, made where they are missing. */
export async function ensureTokens(
  db: Queries,
  tokens: readonly { contractId: number; tokenId: string }[],
  createdAt: string,
): Promise<{ id: number; contractId: number; tokenId: string }[]> {
  const list = JSON.stringify(tokens.map(({ contractId, tokenId }) => [contractId, tokenId]))
  await sql`
    insert into tokens ("contractId", "tokenId", "createdAt")
    select value->>0, value->>1, ${createdAt} from json_each(${list}) where true
    on conflict do nothing
  `.execute(db)
  const { rows } = await sql<{ id: number; contractId: number; tokenId: string }>`
    select id, "contractId", "tokenId" from tokens
    where ("contractId", "tokenId") in (select value->>0, value->>1 from json_each(${list}))
  `.execute(db)
  return rows
}
