import type { Queries } from './database.ts'
import type { ClaimRegistrationRow } from './schema.ts'
import { once, statement } from './statement.ts'

type Of = { tokenRow: number; recipient: string }

/** @param of the recipient as EIP-55 */
export const findClaimRegistration = statement<Of>()((db, p) =>
  db
    .selectFrom('claimRegistrations')
    .selectAll()
    .where('tokenRow', '=', p.tokenRow)
    .where('recipient', '=', p.recipient),
).first

/** Replaces an earlier registration of the same recipient. */
export async function putClaimRegistration(db: Queries, row: ClaimRegistrationRow): Promise<void> {
  const { tapId, allowedAt, expiresAt, createdAt } = row
  await db
    .insertInto('claimRegistrations')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['tokenRow', 'recipient']).doUpdateSet({ tapId, allowedAt, expiresAt, createdAt }),
    )
    .execute()
}

/** @returns whether there was one */
export const deleteClaimRegistration = statement<Of>()((db, p) =>
  db.deleteFrom('claimRegistrations').where('tokenRow', '=', p.tokenRow).where('recipient', '=', p.recipient),
).once

const removeAll = statement<{ tokenRow: number }>()((db, p) =>
  db.deleteFrom('claimRegistrations').where('tokenRow', '=', p.tokenRow),
)
/** After a transfer, which voids all registrations for the token. */
export const deleteClaimRegistrationsOf = (db: Queries, tokenRow: number) => removeAll.run(db, { tokenRow })

/** Takes a signature, once. @returns false where it was used before */
export const useSignature = (db: Queries, signature: { digest: string; expiresAt: string }) =>
  once(
    db
      .insertInto('usedSignatures')
      .values(signature)
      .onConflict((conflict) => conflict.doNothing()),
  )
