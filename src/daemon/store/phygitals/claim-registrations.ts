import type { Queries } from '../database/database.ts'
import { once, statement } from '../database/statement.ts'
import type { ClaimRegistrationRow } from '../schema/schema.ts'

type RegistrationKey = { tokenRow: number; recipient: string }

/** @param of `recipient` as EIP-55 */
export const findClaimRegistration = statement<RegistrationKey>()((db, p) =>
  db
    .selectFrom('claimRegistrations')
    .selectAll()
    .where('tokenRow', '=', p.tokenRow)
    .where('recipient', '=', p.recipient),
).first

/** Newest first; few, since each takes a tap or a key of the team. */
export const claimRegistrationsOf = statement<{ tokenRow: number }>()((db, p) =>
  db
    .selectFrom('claimRegistrations')
    .selectAll()
    .where('tokenRow', '=', p.tokenRow)
    .orderBy('createdAt', 'desc')
    .limit(100),
).all

/**
 * Replaces a registration of the same recipient. @param keepsValid an existing one that is still valid is kept instead
 * @returns false if it was kept
 */
export const putClaimRegistration = (
  db: Queries,
  row: ClaimRegistrationRow,
  { keepsValid }: { keepsValid: boolean },
): Promise<boolean> => {
  const { tapId, allowedAt, expiresAt, createdAt } = row
  return once(
    db
      .insertInto('claimRegistrations')
      .values(row)
      .onConflict((conflict) => {
        const replaced = conflict
          .columns(['tokenRow', 'recipient'])
          .doUpdateSet({ tapId, allowedAt, expiresAt, createdAt })
        return keepsValid ? replaced.where('claimRegistrations.expiresAt', '<=', createdAt) : replaced
      }),
  )
}

export const deleteClaimRegistration = statement<RegistrationKey>()((db, p) =>
  db.deleteFrom('claimRegistrations').where('tokenRow', '=', p.tokenRow).where('recipient', '=', p.recipient),
).runOnce

const removeAll = statement<{ tokenRow: number }>()((db, p) =>
  db.deleteFrom('claimRegistrations').where('tokenRow', '=', p.tokenRow),
)
export const deleteClaimRegistrationsOf = (db: Queries, tokenRow: number) => removeAll.run(db, { tokenRow })

/** @returns false if the signature was already used */
export const useSignature = (db: Queries, signature: { digest: string; expiresAt: string }) =>
  once(
    db
      .insertInto('usedSignatures')
      .values(signature)
      .onConflict((conflict) => conflict.doNothing()),
  )
