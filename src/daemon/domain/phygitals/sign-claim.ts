import type { Hex } from 'viem'
import { getAddress } from 'viem/utils'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chain } from '../../chain/chains.ts'
import { type CounterValue, predict } from '../../chain/relayer/builder.ts'
import { claimCounter, claimHash } from '../../chain/relayer/phygital-claim.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import { readContract } from '../chain/read-chain.ts'

export interface SignedClaim {
  signature: Hex
  /** The signature is valid in blocks before this one. */
  blockExpiry: bigint
}

/** Uses the claim nonce that follows all pending transactions. @throws DomainError chain_unavailable */
export async function signClaim(
  chain: Chain,
  token: Pick<TokenLocation, 'contractAddress' | 'tokenId'>,
  to: string,
  pending: readonly CounterValue[],
): Promise<SignedClaim> {
  const contract = getAddress(token.contractAddress)
  const recipient = getAddress(to)
  const [latest, margin, onChain] = await readContract(chain, contract, () =>
    Promise.all([
      chain.latestBlock(),
      chain.expiryBlocks(),
      chain.client.readContract({
        abi: phygitalAbi,
        address: contract,
        functionName: 'claimNonces',
        args: [recipient],
      }),
    ]),
  )
  const nonce = predict(onChain, claimCounter(contract, recipient), pending)
  const blockExpiry = BigInt(latest + margin)
  const claim = { blockExpiry, recipient, tokenId: BigInt(token.tokenId), contract, nonce }
  return { signature: await chain.signVerifier.signMessage({ raw: claimHash(claim) }), blockExpiry }
}
