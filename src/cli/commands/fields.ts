interface TokenLike {
  readonly contractAddress: string | null
  readonly chainId: number
  readonly tokenId: string
}

/** A token in one cell: the contract, the token, and the chain. */
export const token = (held: TokenLike | null | undefined): string | undefined =>
  held ? `${held.contractAddress ?? 'not deployed'} #${held.tokenId} on chain ${held.chainId}` : undefined
