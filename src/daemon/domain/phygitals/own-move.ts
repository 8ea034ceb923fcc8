import { type Address, encodeFunctionData, getAddress } from 'viem'
import type { Chain } from '../../chain/chains.ts'
import { hasCode, ownerOf } from '../../chain/contract-state.ts'
import { revertOf } from '../../chain/node-answer.ts'
import {
  type ContractCall,
  type ContractCalls,
  invocationOf,
  refusalIn,
} from '../../chain/relayer/contract-call.ts'
import { type MoveArgs, moveBuilder } from '../../chain/relayer/contract-move.ts'
import { type ClaimArgs, claimGas } from '../../chain/relayer/phygital-claim.ts'
import { movesOfTokenUnderWay } from '../../store/chain/listing.ts'
import type { Queries } from '../../store/database/database.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import { readChain, ttlCached } from '../chain/read-chain.ts'
import { adviceOn } from '../contracts/dry-call.ts'
import { conflict, DomainError } from '../errors/errors.ts'

// Tokens of contracts that take no signed claims: the relayer calls the contract's own functions.

type Call = ClaimArgs['call']

export interface OwnMove {
  calls: ContractCalls
  /** When it was checked. */
  owner: Address | undefined
}

const maxAttempts = 3

/** @throws DomainError conflict, simulation_reverted, chain_unavailable */
export async function checkOwnMove(
  chain: Chain,
  calls: ContractCalls,
  token: TokenLocation,
  recipient: string,
): Promise<{ chain: Chain; call: Call; gas: number; own: OwnMove }> {
  const address = getAddress(token.contractAddress)
  const exists = await ttlCached(chain, `code ${address}`, 60_000, () =>
    readChain(chain, () => hasCode(chain.client, address)),
  )
  if (!exists) throw conflict(`There is no contract at ${address} on chain ${chain.id}. Nothing was used up.`)
  for (let left = maxAttempts; ; left -= 1) {
    const owner = await ownerNow(chain, token)
    const call = owner === undefined ? 'mintNFT' : 'claimNFT'
    const own = { calls, owner }
    try {
      const needed = await gasOfOwnMove(chain, own, token, recipient, call)
      const gas = gasLimitOf(chain, needed, (reason) => refusedMove(token, recipient, reason))
      return { chain, call, gas, own }
    } catch (error) {
      const revert = revertOf(error)
      if (!revert) throw error
      if (owner === recipient) throw belongsAlready(token.tokenId, recipient)
      // It was moved between the two reads.
      if (left > 1 && (await ownerNow(chain, token)) !== owner) continue
      const refusal = refusalIn(revert, calls.errors)
      const advice = await adviceOn(chain, refusal, { address, calls, owner })
      throw refusedMove(token, recipient, refusal.reason, advice)
    }
  }
}

const ownerNow = (chain: Chain, { contractAddress, tokenId }: TokenLocation) =>
  readChain(chain, () =>
    ownerOf(chain.client, getAddress(contractAddress), BigInt(tokenId), { isDeployed: true }),
  )

/** @throws the node's refusal, DomainError chain_unavailable */
export async function gasOfOwnMove(
  chain: Chain,
  { calls, owner }: OwnMove,
  token: Pick<TokenLocation, 'contractAddress' | 'tokenId'>,
  to: string,
  call: Call,
): Promise<bigint> {
  const address = getAddress(token.contractAddress)
  const values = { owner, recipient: getAddress(to), tokenId: BigInt(token.tokenId), baseUri: calls.baseUri }
  const invocation = invocationOf(functionFor({ calls }, call, address), values)
  try {
    encodeFunctionData(invocation)
  } catch (cause) {
    const reason = `its function ${invocation.functionName} does not take this token ID`
    throw refusedMove(token, to, reason, '', cause)
  }
  return readChain(chain, () =>
    chain.client.estimateContractGas({ ...invocation, address, account: chain.relayer }),
  )
}

/** @throws DomainError conflict */
function functionFor({ calls }: Pick<OwnMove, 'calls'>, call: Call, address: string): ContractCall {
  const [found, verb] = call === 'mintNFT' ? [calls.mint, 'mint'] : [calls.transfer, 'transfer']
  if (found) return found
  throw conflict(
    `The contract ${address} was registered without --${verb}, so its tokens cannot be ${verb === 'mint' ? 'minted' : 'transferred'} from here. Nothing was used up.`,
  )
}

/** @throws the error for a refusal */
export function gasLimitOf(
  chain: Pick<Chain, 'id' | 'maxGas'>,
  gas: bigint,
  refused: (reason: string) => DomainError,
): number {
  const needed = Number(gas)
  if (needed > chain.maxGas)
    throw refused(
      `it needs ${needed.toLocaleString('en-US')} gas, and TAPCHIP_MAX_GAS_${chain.id} allows ${chain.maxGas.toLocaleString('en-US')}`,
    )
  return Math.min(Math.max(claimGas, Math.ceil((needed * 5) / 4)), chain.maxGas)
}

/** @param advice for the operator */
export function refusedMove(
  { tokenId }: Pick<TokenLocation, 'tokenId'>,
  recipient: string,
  reason: string,
  advice = '',
  cause?: unknown,
): DomainError {
  const message = `The contract refuses to move token ${tokenId} to ${recipient}: ${reason}.`
  const forStrangers = `${message} Nothing was used up.`
  const words = advice === '' ? forStrangers : `${message} ${advice} Nothing was used up.`
  return new DomainError('simulation_reverted', words, { forStrangers, cause })
}

const belongsAlready = (tokenId: string, owner: string): DomainError =>
  conflict(`Token ${tokenId} belongs to ${owner} already. Nothing was used up.`)

/** One may be under way, so that a chain of transfers holds up no others. */
const maxUnderWay = 2

/**
 * The call of a transfer, built when it is signed.
 * @throws DomainError conflict if the token is there already, or too much is under way
 */
export async function ownCall(
  trx: Queries,
  { calls, owner }: OwnMove,
  token: TokenLocation,
  args: ClaimArgs,
): Promise<{ builder: string; args: MoveArgs }> {
  const underWay = await movesOfTokenUnderWay(trx, token)
  if (underWay.length >= maxUnderWay)
    throw conflict(
      `Transfers of token ${token.tokenId} are under way: ${underWay.map(({ transactionId }) => transactionId).join(', ')}. Nothing was used up; try again when they have ended.`,
    )
  if (underWay.length === 0 && owner === args.recipient) throw belongsAlready(token.tokenId, owner)
  const owners = [owner, ...underWay.map(({ recipient }) => recipient)].filter((one) => one !== undefined)
  const { baseUri } = calls
  const found = functionFor({ calls }, args.call, args.contract)
  return { builder: moveBuilder, args: { ...args, owners, with: found, baseUri } }
}
