import { integer, text } from '../command/options.ts'
import { UsageError } from '../errors.ts'

export const tokenFlags = {
  contractAddress: text('--contract-address <address>', 'The contract of the token'),
  chainId: integer('--chain-id <id>', 'Its chain', [1, Number.MAX_SAFE_INTEGER]),
  tokenId: text('--token-id <id>', 'The token'),
}

export interface TokenOptions {
  readonly contractAddress: string | undefined
  readonly chainId: number | undefined
  readonly tokenId: string | undefined
}

export const hasTokenOptions = ({ contractAddress, chainId, tokenId }: TokenOptions): boolean =>
  contractAddress !== undefined || chainId !== undefined || tokenId !== undefined

/** @throws UsageError that names the missing flags */
export const readToken = ({ contractAddress, chainId, tokenId }: TokenOptions) => {
  if (contractAddress !== undefined && chainId !== undefined && tokenId !== undefined)
    return { contractAddress, chainId, tokenId }
  const missing = Object.entries({
    '--contract-address': contractAddress,
    '--chain-id': chainId,
    '--token-id': tokenId,
  }).flatMap(([flag, value]) => (value === undefined ? [flag] : []))
  throw new UsageError(
    `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing.`,
    'A token is --contract-address, --chain-id and --token-id together: tapchip contracts list',
  )
}

interface TokenLike {
  readonly contractAddress: string | null
  readonly chainId: number
  readonly tokenId: string
}

export const token = (linked: TokenLike | null | undefined): string | undefined =>
  linked
    ? `${linked.contractAddress ?? 'not deployed'} #${linked.tokenId} on chain ${linked.chainId}`
    : undefined
