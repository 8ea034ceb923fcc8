import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  encodePacked,
  type Hex,
  keccak256,
  parseAbiParameters,
  stringToHex,
} from 'viem'
import { phygitalAbi } from '../artifacts/phygital.ts'
import type { Builder } from './builder.ts'
import { CannotBuild } from './errors.ts'
import { type ClaimOptions, isExpired, maxSignings, parse, phygitalClaim } from './phygital-claim.ts'

interface Group {
  chainId: number
  contract: Address
  blockExpiry: bigint
  recipients: readonly Address[]
  tokenIds: readonly bigint[]
}

const groupType = keccak256(
  stringToHex(
    'MintMany(uint256 chainId,address contract,uint256 blockExpiry,address[] recipients,uint256[] tokenIds)',
  ),
)
const groupParameters = parseAbiParameters('bytes32, uint256, address, uint256, bytes32, bytes32')

/** The hash that our contract verifies for a group of mints. */
export const groupHash = ({ chainId, contract, blockExpiry, recipients, tokenIds }: Group): Hex =>
  keccak256(
    encodeAbiParameters(groupParameters, [
      ...([groupType, BigInt(chainId), contract, blockExpiry] as const),
      keccak256(encodePacked(['address[]'], [recipients])),
      keccak256(encodePacked(['uint256[]'], [tokenIds])),
    ]),
  )

/**
 * Mints the tokens of several claims by one call and one signature; its arguments are theirs. It uses no claim nonce,
 * since a token is minted only once.
 */
export const phygitalMints = (options: ClaimOptions): Builder => ({
  doneBy: async (call) => phygitalClaim(options).doneBy?.(call),

  async build(args, { chainId, blockNumber }) {
    const claims = Array.isArray(args) ? args.map(parse) : []
    const [{ contract } = {}] = claims
    if (contract === undefined || claims.some((claim) => claim.contract !== contract))
      throw new CannotBuild('a group is of one contract')
    const blockExpiry = BigInt(blockNumber + (await options.expiryBlocks(chainId)))
    const recipients = claims.map(({ recipient }) => recipient)
    const tokenIds = claims.map(({ tokenId }) => BigInt(tokenId))
    const raw = groupHash({ chainId, contract, blockExpiry, recipients, tokenIds })
    const sig = await options.signVerifier(chainId).signMessage({ raw })
    const call = [sig, blockExpiry, recipients, tokenIds] as const
    const data = encodeFunctionData({ abi: phygitalAbi, functionName: 'mintMany', args: call })
    return { to: contract, data }
  },

  /** The call is tried again before it is signed again, and members that fail are released. */
  afterRevert: async (_, reverted) =>
    reverted.signings < maxSignings || isExpired(reverted) ? 'resign' : 'give up',
})
