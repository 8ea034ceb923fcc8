import { getAddress } from 'viem/utils'
import {
  NameChainMissing,
  NameProblem,
  type NameResolver,
  NameUnavailable,
  RecipientInvalid,
  type Requester,
} from '../../chain/names/resolver.ts'
import type { Queries } from '../../store/database/database.ts'
import { insertName } from '../../store/database/settings.ts'
import { DomainError } from '../errors/errors.ts'

/** A step of a larger write: adds a name to the embedded chain's name service, unless it exists. Any case. */
export const ensureNameIn = (trx: Queries, name: string, address: string) =>
  insertName(trx, { name: name.toLowerCase(), address: getAddress(address.toLowerCase()) })

export type Names = NameResolver
export type { Requester as Asker } from '../../chain/names/resolver.ts'

/**
 * @param field of the request, for the message
 * @returns EIP-55; a name is resolved once
 * @throws DomainError recipient_invalid, chain_not_configured
 */
export async function resolveRecipient(
  { names }: { names: Names },
  requester: Requester,
  chainId: number,
  text: string,
  field = 'recipient',
): Promise<string> {
  try {
    return await names.resolve(requester, chainId, text)
  } catch (cause) {
    if (!(cause instanceof NameProblem)) throw cause
    const message = `${field}: ${cause.message}. Nothing was used up.`
    if (cause instanceof NameChainMissing) {
      const forStrangers = `${field}: ${cause.forStrangers}. Nothing was used up.`
      throw new DomainError('chain_not_configured', message, { forStrangers, cause })
    }
    if (cause instanceof NameUnavailable)
      throw new DomainError('chain_unavailable', message, { retryAfterSeconds: 10, cause })
    throw new DomainError('recipient_invalid', message, {
      errors: { [field]: cause instanceof RecipientInvalid ? 'is not valid' : 'is not known' },
      cause,
    })
  }
}
