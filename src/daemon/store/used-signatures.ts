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

/** Deletes some that have expired: they are refused for that already. @returns how many */
export async function pruneUsedSignatures(db: Queries, now: string, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('usedSignatures')
    .where('digest', 'in', (of) =>
      of.selectFrom('usedSignatures').select('digest').where('expiresAt', '<=', now).limit(limit),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
