import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'

export interface SignerKey {
  chainId: number
  name: string
  publicKey: string
  host: string
}

export const signerKeysOf = statement<{ chainId: number }>()((db, p) =>
  db.selectFrom('signerKeys').selectAll().where('chainId', '=', p.chainId),
).all

/** Does nothing if another daemon was first. */
export const insertSignerKey = async (db: Queries, key: SignerKey): Promise<void> => {
  await db
    .insertInto('signerKeys')
    .values(key)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** @param was the host that listed the key before */
export const moveSignerKey = async (
  db: Queries,
  { chainId, name, publicKey, host }: SignerKey,
  was: string,
): Promise<void> => {
  await db
    .updateTable('signerKeys')
    .set({ publicKey, host })
    .where('chainId', '=', chainId)
    .where('name', '=', name)
    .where('host', '=', was)
    .execute()
}
