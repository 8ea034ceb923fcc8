import { engineOf, type Queries } from './database.ts'
import type { ChipRow } from './schema.ts'
import { statement } from './statement.ts'

/**
 * What a chip's taps are proved by. A chip that comes back under another UID with the same public key, or under
 * the same UID with the same key set, makes the same taps.
 */
export const chipIdentity = (chip: Pick<ChipRow, 'uid' | 'keySetId' | 'publicKey'>): string =>
  chip.publicKey ?? `${chip.keySetId}/${chip.uid}`

/** What a removed chip left behind. */
export interface Remembered {
  identity: string
  uid: string
  proof: string | null
  lastCounter: number
  generation: number
  /** 0: it was a physical chip. */
  simulated: number
}

export async function rememberChip(
  db: Queries,
  chip: ChipRow,
  proof: string | null,
  removedAt: string,
): Promise<void> {
  const { uid, lastCounter, generation, simulated } = chip
  const left = { uid, proof, lastCounter, generation, simulated, removedAt }
  await db
    .insertInto('removedChips')
    .values({ identity: chipIdentity(chip), ...left })
    .onConflict((conflict) => conflict.column('identity').doUpdateSet(left))
    .execute()
}

const one = statement<Record<never, never>>()((db) => db.selectFrom('removedChips').select('uid').limit(1))

/** Whether any chip was ever removed: where none was, nothing needs looking up. */
export const anyRemembered = async (db: Queries): Promise<boolean> => (await one.first(db, {})) !== undefined

export function rememberedOf(
  db: Queries,
  by: { identities: readonly string[]; uids: readonly string[] },
): Promise<Remembered[]> {
  const { listed } = engineOf(db)
  return db
    .selectFrom('removedChips')
    .select(['identity', 'uid', 'proof', 'lastCounter', 'generation', 'simulated'])
    .where((e) => e.or([e('identity', 'in', listed(by.identities)), e('uid', 'in', listed(by.uids))]))
    .execute()
}
