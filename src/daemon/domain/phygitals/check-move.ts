import type { Address } from 'viem'
import { getAddress } from 'viem/utils'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chain, Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import { storedCalls } from '../../chain/relayer/contract-call.ts'
import { type ClaimArgs, claimGas } from '../../chain/relayer/phygital-claim.ts'
import type { LocatedToken } from '../../store/phygitals/tokens.ts'
import { candidatesFor } from '../chain/candidates.ts'
import { claimSample, l1FeeOf } from '../chain/l1-fee.ts'
import { balancesOf, feesOf } from '../chain/prices.ts'
import { chainOf, readChain, readContract, refusalOf, ttlCached } from '../chain/read-chain.ts'
import { assertDeployed, assertOurs, contractOf } from '../contracts/deployed.ts'
import { conflict, DomainError } from '../errors/errors.ts'
import { checkOwnMove, gasLimitOf, type OwnMove, refusedMove } from './own-move.ts'
import { signClaim } from './sign-claim.ts'

type CheckedToken = Pick<
  LocatedToken,
  | 'contractAddress'
  | 'chainId'
  | 'tokenId'
  | 'contractStatus'
  | 'contractTransactionId'
  | 'contractProblem'
  | 'contractIsBound'
  | 'contractCalls'
>

export interface Move {
  chain: Chain
  call: ClaimArgs['call']
  /** Whose the token was when it was checked. */
  owner: Address | undefined
  /** The gas limit, if the call involves foreign contracts that may need more than a usual claim. */
  gas: number
  /** The relayers that may send it, the best one first; undefined: the first one alone. */
  candidates?: readonly string[] | undefined
  /** For a contract that takes no signed claims. */
  own?: OwnMove
}

/** Only reads. @throws DomainError chain_unavailable, conflict (contract missing or not ours), simulation_reverted */
export async function checkMove(
  { chains }: { chains: Chains },
  token: CheckedToken,
  recipient: string,
): Promise<Move> {
  const chain = chainOf(chains, token.chainId)
  await assertUsable(chain, token)
  const contract = getAddress(token.contractAddress)
  const calls = storedCalls(token.contractCalls)
  if (calls) {
    await assertCanSend(chain)
    return checkOwnMove(chain, calls, token, recipient)
  }
  // Confirmed contracts exist.
  const isOurs = token.contractTransactionId !== null
  const [owner, code] = await readChain(chain, () =>
    Promise.all([
      ownerOf(chain.client, contract, BigInt(token.tokenId), { isDeployed: isOurs }),
      chain.client.getCode({ address: getAddress(recipient) }),
    ]),
  )
  const call = owner === undefined ? 'mintNFT' : 'claimNFT'
  // Our own contract accepts a signed claim for any recipient without code.
  await assertOurSignature(chain, contract)
  await assertCanSend(chain)
  const gas = isOurs && code === undefined ? claimGas : await gasOf(chain, token, recipient, call)
  // Contracts of others may also look at who sends.
  return { chain, call, owner, gas, candidates: isOurs ? await candidatesFor(chains, chain) : undefined }
}

/** @throws DomainError conflict if a contract deployed from here is missing or not ours */
export async function assertUsable(chain: Chain, token: CheckedToken): Promise<void> {
  const contract = contractOf('phygital', token.contractAddress, token)
  assertDeployed(contract)
  if (token.contractTransactionId !== null) await assertOurs(chain, contract)
}

/** @throws DomainError conflict if the contract would reject our signature */
async function assertOurSignature(chain: Chain, address: Address): Promise<void> {
  const expected = chain.signVerifier.address
  const verifier = await ttlCached(chain, `verifier ${address}`, 60_000, () => signVerifierOf(chain, address))
  if (verifier === expected) return
  throw conflict(
    `The contract ${address} trusts the sign verifier ${verifier}; this daemon signs with ${expected}. Have the contract's owner set it, or give the daemon that key. Nothing was used up.`,
  )
}

async function signVerifierOf(chain: Chain, address: Address): Promise<Address> {
  try {
    return await readContract(chain, address, () =>
      chain.client.readContract({ abi: phygitalAbi, address, functionName: 'getSignVerifier' }),
    )
  } catch (error) {
    throw notAPhygital(chain, address, error)
  }
}

const notAPhygital = (chain: Chain, address: Address, error: unknown): unknown => {
  const reason = refusalOf(error)
  return reason === undefined
    ? error
    : conflict(
        `The contract at ${address} on chain ${chain.id} does not transfer tokens by signature (${reason}).`,
      )
}

/** Refuses before anything is recorded; the embedded chain is free. @throws DomainError chain_unavailable */
async function assertCanSend(chain: Chain): Promise<void> {
  if (chain.isEmbedded) return
  const [{ isOverCap, maxFeePerGas }, balances, l1Fee = 0n] = await ttlCached(chain, 'price', 1000, () =>
    Promise.all([feesOf(chain, chain.maxFeePerGas), balancesOf(chain), l1FeeOf(chain, claimSample())]),
  )
  if (isOverCap)
    throw new DomainError(
      'chain_unavailable',
      `Chain ${chain.id} asks for higher gas fees than this daemon may pay. Nothing was used up; try again later.`,
      { retryAfterSeconds: 60 },
    )
  if (balances.every((balance) => balance < BigInt(claimGas) * maxFeePerGas + l1Fee))
    throw new DomainError(
      'chain_unavailable',
      `The relayer of chain ${chain.id} cannot pay for this at the moment. Nothing was used up; try again later.`,
      { retryAfterSeconds: 60 },
    )
}

/** @returns the gas limit @throws DomainError simulation_reverted */
async function gasOf(
  chain: Chain,
  token: CheckedToken,
  recipient: string,
  call: ClaimArgs['call'],
): Promise<number> {
  const address = getAddress(token.contractAddress)
  const { signature, blockExpiry } = await signClaim(chain, token, recipient, []).catch((error: unknown) => {
    throw notAPhygital(chain, address, error)
  })
  const from = { address, account: chain.relayer }
  const args = [signature, blockExpiry, getAddress(recipient), BigInt(token.tokenId)] as const
  let needed: bigint
  try {
    needed = await readChain(chain, () =>
      chain.client.estimateContractGas({ abi: phygitalAbi, functionName: call, args, ...from }),
    )
  } catch (error) {
    const reason = refusalOf(error)
    throw reason === undefined ? error : refusedMove(token, recipient, reason)
  }
  return gasLimitOf(chain, needed, (reason) => refusedMove(token, recipient, reason))
}
