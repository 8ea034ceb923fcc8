import { CompiledQuery, sql } from 'kysely'
import { addToChipGroup } from './chip-groups.ts'
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
  const isDone = await insertedIfNew(() => query.execute(db))
  if (isDone) await addToChipGroup(db, chipGroupId, uids.length)
  return isDone
}

/** Whether an INSERT went through: a failed one leaves nothing behind, and its transaction goes on. */
async function insertedIfNew(insert: () => Promise<unknown>): Promise<boolean> {
  try {
    await insert()
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === 'SQLITE_CONSTRAINT_UNIQUE') return false
    throw error
  }
}

const columns = [
  'uid',
  'family',
  'keySetId',
  'publicKey',
  'fileReadKey',
  'generation',
  'lastCounter',
  'redirectUrl',
  'itemId',
  'variantId',
  'tokenRow',
  'label',
] as const

export type NewChip = Pick<ChipRow, (typeof columns)[number]>

/**
 * Inserts chips with all that they have.
 * @returns false, having inserted none, where one of them, its label or its public key is there already
 */
export async function insertChips(
  db: Queries,
  { teamId, chipGroupId, simulated, createdAt }: Commons,
  chips: readonly NewChip[],
): Promise<boolean> {
  const commons = [teamId, chipGroupId, simulated, createdAt]
  const insert = async (rows: readonly NewChip[]) => {
    const parameters: unknown[] = []
    for (const row of rows) {
      for (const column of columns) parameters.push(row[column])
      for (const common of commons) parameters.push(common)
    }
    await db.executeQuery(CompiledQuery.raw(insertOf(rows.length), parameters))
  }
  // Several statements, of which all or none count.
  await sql`savepoint register`.execute(db)
  const isDone = await insertedIfNew(async () => {
    let at = 0
    for (const size of sizes)
      for (; chips.length - at >= size; at += size) await insert(chips.slice(at, at + size))
  })
  if (!isDone) await sql`rollback to register`.execute(db)
  else await addToChipGroup(db, chipGroupId, chips.length)
  await sql`release register`.execute(db)
  return isDone
}

// Values by the thousand are faster as parameters than in JSON. Few sizes, so that each text is prepared once.
const sizes = [500, 50, 5, 1]
const texts = new Map<number, string>()

function insertOf(size: number): string {
  const names = [...columns, 'teamId', 'chipGroupId', 'simulated', 'createdAt']
  const row = `(${names.map(() => '?').join(', ')})`
  const text =
    texts.get(size) ??
    `insert into chips (${names.map((name) => `"${name}"`).join(', ')}) values ${new Array(size).fill(row).join(', ')}`
  texts.set(size, text)
  return text
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
export const rememberedOf = (
  db: Queries,
  by: { identities: readonly string[]; uids: readonly string[] },
): Promise<Remembered[]> =>
  db
    .selectFrom('removedChips')
    .select(['identity', 'uid', 'proof', 'lastCounter', 'generation', 'simulated'])
    .where((eb) => eb.or([eb('identity', 'in', values(by.identities)), eb('uid', 'in', values(by.uids))]))
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
