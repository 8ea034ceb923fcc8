import type { Queries } from './database.ts'

/** Takes a signature, once. @returns false where it was used before */
export async function useSignature(
  db: Queries,
  signature: { digest: string; expiresAt: string },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('usedSignatures')
    .values(signature)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}
