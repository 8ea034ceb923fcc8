import { chipsOfToken } from '../../store/chips.ts'
import type { Db } from '../../store/database.ts'
import type { TokenLocation } from '../../store/tokens.ts'
import { notFound } from '../errors.ts'
import { tokenAt } from './find-token.ts'

/** The UID of a token's chip; of several, one that is not disabled. @throws DomainError not_found */
export async function chipOfToken(deps: { db: Pick<Db, 'read'> }, ref: TokenLocation): Promise<string> {
  const token = await tokenAt(deps, ref)
  const chips = await chipsOfToken(deps.db.read, token.id)
  const chip = chips.find(({ disabledAt }) => disabledAt === null) ?? chips[0]
  if (!chip) throw notFound('chip')
  return chip.uid
}
