import type { Queries } from './database.ts'
import type { ClaimRegistrationRow } from './schema.ts'
import { statement } from './statement.ts'

type Of = { tokenRow: number; recipient: string }

const find = statement<Of>()((db, p) =>
  db
    .selectFrom('claimRegistrations')
    .selectAll()
    .where('tokenRow', '=', p.tokenRow)
    .where('recipient', '=', p.recipient),
)
/** @param of the recipient as EIP-55 */
export const findClaimRegistration = (db: Queries, of: Of): Promise<ClaimRegistrationRow | undefined> =>
  find.first(db, of)

/** Registers, anew if there is a registration of the same recipient. */
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

const remove = statement<Of>()((db, p) =>
  db.deleteFrom('claimRegistrations').where('tokenRow', '=', p.tokenRow).where('recipient', '=', p.recipient),
)
/** @returns whether there was one */
export const deleteClaimRegistration = async (db: Queries, of: Of): Promise<boolean> =>
  (await remove.run(db, of)) === 1

const removeAll = statement<{ tokenRow: number }>()((db, p) =>
  db.deleteFrom('claimRegistrations').where('tokenRow', '=', p.tokenRow),
)
/** The token has moved: what was announced before is void. */
export const deleteClaimRegistrationsOf = (db: Queries, tokenRow: number) => removeAll.run(db, { tokenRow })
