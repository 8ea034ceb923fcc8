import { getAddress } from 'viem/utils'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chain, Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/owner-of.ts'
import type { ClaimArgs } from '../../chain/relayer/phygital-claim.ts'
import type { LocatedToken } from '../../store/tokens.ts'
import { asked, chainOf, refusalOf } from '../ask-chain.ts'
import { DomainError } from '../errors.ts'
import { signClaim } from './sign-claim.ts'

type Place = Pick<
  LocatedToken,
  'contractAddress' | 'chainId' | 'tokenId' | 'contractStatus' | 'contractTransactionId'
>

export interface Move {
  chain: Chain
  call: ClaimArgs['call']
}

/**
 * Finds out by the chain how a token gets to a recipient, and whether it can. Reads alone: nothing is used up yet.
 * @throws DomainError chain_unavailable, conflict (no contract, or not one of this daemon's), simulation_reverted
 */
export async function checkMove(
  { chains }: { chains: Chains },
  token: Place,
  recipient: string,
): Promise<Move> {
  const chain = chainOf(chains, token.chainId)
  if (token.contractStatus === 'pending')
    throw new DomainError(
      'conflict',
      `The contract ${token.contractAddress} is not deployed yet. See tapchip transactions list, and try again.`,
    )
  const contract = getAddress(token.contractAddress)
  const [owner, code] = await asked(chain, () =>
    Promise.all([
      ownerOf(chain.client, contract, BigInt(token.tokenId)),
      chain.client.getCode({ address: getAddress(recipient) }),
    ]),
  )
  const call = owner === undefined ? 'mintNFT' : 'claimNFT'
  // Our own contract lets a signed claim through to anybody who runs no code of their own.
  const isOurs = token.contractTransactionId !== null
  if (!isOurs) await assertOurSignature(chain, contract)
  if (!isOurs || code !== undefined) await simulate(chain, token, recipient, call)
  return { chain, call }
}

async function assertOurSignature(chain: Chain, address: `0x${string}`): Promise<void> {
  const ours = chain.signVerifier.address
  const verifier = await asked(chain, () =>
    chain.client.readContract({ abi: phygitalAbi, address, functionName: 'getSignVerifier' }),
  ).catch((error: unknown) => {
    const reason = refusalOf(error)
    if (reason === undefined) throw error
    throw new DomainError(
      'conflict',
      `At ${address} on chain ${chain.id} is no contract that speaks of a sign verifier (${reason}).`,
    )
  })
  if (verifier === ours) return
  throw new DomainError(
    'conflict',
    `The contract ${address} trusts the sign verifier ${verifier}; this daemon signs with ${ours}. Have the contract's owner set it, or give the daemon that key.`,
  )
}

async function simulate(
  chain: Chain,
  token: Place,
  recipient: string,
  call: ClaimArgs['call'],
): Promise<void> {
  const address = getAddress(token.contractAddress)
  const { signature, blockExpiry } = await signClaim(chain, token, recipient, [])
  try {
    await asked(chain, () =>
      chain.client.simulateContract({
        abi: phygitalAbi,
        address,
        functionName: call,
        args: [signature, blockExpiry, getAddress(recipient), BigInt(token.tokenId)],
        account: chain.relayer,
      }),
    )
  } catch (error) {
    const reason = refusalOf(error)
    if (reason === undefined) throw error
    throw new DomainError(
      'simulation_reverted',
      `The contract refuses to move token ${token.tokenId} to ${recipient}: ${reason}. Nothing was used up.`,
    )
  }
}
