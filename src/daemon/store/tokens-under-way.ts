import type { Queries } from './database.ts'
import type { TokenLocation } from './tokens.ts'

/** Names a token among those of its chain. @param token its address as EIP-55 */
export const tokenKey = ({
  contractAddress,
  tokenId,
}: Pick<TokenLocation, 'contractAddress' | 'tokenId'>): string => `${contractAddress}/${tokenId}`

/** The latest that is to happen with a token. */
export interface UnderWay {
  transactionId: number
  /** Who gets it, EIP-55; undefined: somebody asked for the end of it, so that is open. */
  recipient: string | undefined
}

/** The tokens of a chain that something is on its way for, by `tokenKey`, each with the last of it. */
export async function tokensUnderWay(db: Queries, chainId: number): Promise<Map<string, UnderWay>> {
  const rows = await db
    .selectFrom('transactions')
    .select(['id', 'subject', 'abandonedBecause'])
    .where('chainId', '=', chainId)
    .where('kind', 'in', ['phygital-transfer', 'phygital-mint'])
    .where('settledAt', 'is', null)
    .orderBy('id')
    .execute()
  return new Map(
    rows.map(({ id: transactionId, subject, abandonedBecause }) => {
      // Written by recordClaim, in this shape.
      const { recipient, ...token }: TokenLocation & { recipient: string } = JSON.parse(subject)
      return [
        tokenKey(token),
        { transactionId, recipient: abandonedBecause === null ? recipient : undefined },
      ]
    }),
  )
}
