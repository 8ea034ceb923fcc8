import type { Queries } from './database.ts'
import type { TokenLocation } from './tokens.ts'

/** Names a token among those of its chain. @param token its address as EIP-55 */
export const tokenKey = ({
  contractAddress,
  tokenId,
}: Pick<TokenLocation, 'contractAddress' | 'tokenId'>): string => `${contractAddress}/${tokenId}`

/** The tokens of a chain that something is on its way for, by `tokenKey`. */
export async function tokensUnderWay(db: Queries, chainId: number): Promise<Set<string>> {
  const rows = await db
    .selectFrom('transactions')
    .select('subject')
    .where('chainId', '=', chainId)
    .where('kind', 'in', ['phygital-transfer', 'phygital-mint'])
    .where('settledAt', 'is', null)
    .execute()
  return new Set(
    rows.map(({ subject }) => {
      // Written by recordClaim, in this shape.
      const token: TokenLocation = JSON.parse(subject)
      return tokenKey(token)
    }),
  )
}
