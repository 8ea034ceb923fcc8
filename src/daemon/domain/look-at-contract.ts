import { getAddress } from 'viem/utils'
import { phygitalAbi } from '../chain/artifacts/phygital.ts'
import type { Chain, Chains } from '../chain/chains.ts'
import type { ContractRow } from '../store/schema.ts'
import { asked, refusalOf } from './ask-chain.ts'
import { DomainError } from './errors.ts'

/** What a contract that is deployed already is good for. */
export interface ContractCheck {
  /** Whether it takes what this daemon signs; null: that could not be found out. */
  trustsSignVerifier: boolean | null
  warnings: string[]
}

/** Looks at a contract where its chain can be asked. Warns, and refuses nothing: the chain may come later. */
export async function lookAtContract(
  { chains }: { chains: Chains },
  { chainId, address }: Pick<ContractRow, 'chainId' | 'address'>,
): Promise<ContractCheck> {
  if (!chains.has(chainId))
    return unknown(
      `Chain ${chainId} is not configured here, so nobody looked at the contract. Set TAPCHIP_RPC_${chainId}.`,
    )
  const chain = chains.get(chainId)
  try {
    return await asked(chain, () => look(chain, getAddress(address)))
  } catch (error) {
    if (error instanceof DomainError)
      return unknown(
        `Chain ${chainId} does not answer, so nobody looked at the contract. See tapchip doctor.`,
      )
    throw error
  }
}

async function look(chain: Chain, address: `0x${string}`): Promise<ContractCheck> {
  if ((await chain.client.getCode({ address })) === undefined)
    return unknown(
      `There is no contract at ${address} on chain ${chain.id}. Check the address and the chain.`,
    )
  const verifier = await chain.client
    .readContract({ abi: phygitalAbi, address, functionName: 'getSignVerifier' })
    .catch((error: unknown) => {
      const reason = refusalOf(error)
      if (reason === undefined) throw error
      return { reason }
    })
  if (typeof verifier !== 'string')
    return unknown(
      `${address} speaks of no sign verifier (${verifier.reason}): tokens of it cannot be moved from here.`,
    )
  const ours = chain.signVerifier.address
  if (verifier === ours) return { trustsSignVerifier: true, warnings: [] }
  return {
    trustsSignVerifier: false,
    warnings: [
      `${address} trusts the sign verifier ${verifier}; this daemon signs with ${ours}. Have the contract's owner call setSignVerifier, or give the daemon that key (TAPCHIP_SIGN_VERIFIER_KEY_${chain.id}).`,
    ],
  }
}

const unknown = (warning: string): ContractCheck => ({ trustsSignVerifier: null, warnings: [warning] })
