import type { Chains } from '../../chain/chains.ts'
import { NotSignedYet, TransactionRefused } from '../../chain/relayer/errors.ts'
import type { Db } from '../../store/database.ts'
import type { TokenLocation } from '../../store/tokens.ts'
import { findTransaction } from '../../store/transactions.ts'
import { DomainError } from '../errors.ts'

/** What an answer to a transfer says. */
export interface Transferred {
  hash: string
  token: TokenLocation
}

/**
 * Waits until a recorded transfer is on its way. @throws DomainError chain_unavailable (it is recorded, and goes out
 * later), transaction_refused
 */
export async function transferred(
  { chains, db }: { chains: Chains; db: Pick<Db, 'read'> },
  transactionId: number | null,
): Promise<Transferred> {
  if (transactionId === null) throw new Error('a transfer is a transaction')
  const hash = await broadcastHash(chains, transactionId)
  const row = await findTransaction(db.read, transactionId)
  // Written by recordClaim, in this shape.
  const subject: TokenLocation = JSON.parse(row?.subject ?? '{}')
  const { contractAddress, chainId, tokenId } = subject
  return { hash, token: { contractAddress, chainId, tokenId } }
}

/** The hash of the first attempt, once a node has it. @throws DomainError chain_unavailable, transaction_refused */
export async function broadcastHash(chains: Chains, transactionId: number): Promise<string> {
  try {
    return await chains.relayer.broadcasted(transactionId)
  } catch (cause) {
    if (cause instanceof NotSignedYet)
      throw new DomainError('chain_unavailable', cause.message, { retryAfterSeconds: 10, cause })
    if (cause instanceof TransactionRefused)
      throw new DomainError(
        'transaction_refused',
        `${cause.message}. See tapchip transactions show ${transactionId}.`,
        { cause },
      )
    throw cause
  }
}
