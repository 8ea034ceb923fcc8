import { type Address, getAddress } from 'viem'
import type { Chain } from '../../chain/chains.ts'
import { hasCode, ownerOf } from '../../chain/contract-state.ts'
import type { ContractCall, ContractCalls } from '../../chain/relayer/contract-call.ts'
import { type MoveArgs, moveBuilder } from '../../chain/relayer/contract-move.ts'
import { type ClaimArgs, claimGas } from '../../chain/relayer/phygital-claim.ts'
import { movesOfTokenUnderWay } from '../../store/chain/listing.ts'
import type { Queries } from '../../store/database/database.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import { readChain, ttlCached } from '../chain/read-chain.ts'
import { adviceOn, dryCall } from '../contracts/dry-call.ts'
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
): Promise<{ chain: Chain; call: Call; owner: Address | undefined; gas: number; own: OwnMove }> {
  const address = getAddress(token.contractAddress)
  const exists = await ttlCached(chain, `exists ${address}`, 60_000, () =>
    readChain(chain, () => hasCode(chain.client, address)),
  )
  if (!exists) throw conflict(`There is no contract at ${address} on chain ${chain.id}. Nothing was used up.`)
  const ownerNow = () =>
    readChain(chain, () => ownerOf(chain.client, address, BigInt(token.tokenId), { isDeployed: true }))
  for (let left = maxAttempts; ; left -= 1) {
    const owner = await ownerNow()
    const call = owner === undefined ? 'mintNFT' : 'claimNFT'
    const own = { calls, owner }
    const tried = await tryOwnMove(chain, own, token, recipient, call)
    if ('gas' in tried) {
      const gas = gasLimitOf(chain, tried.gas, (reason) => refusedMove(token, recipient, reason))
      return { chain, call, owner, gas, own }
    }
    const { refusal } = tried
    if (owner === recipient) throw belongsAlready(token.tokenId, recipient)
    // It may have been moved between the two reads.
    if (left > 1 && (await ownerNow()) !== owner) continue
    throw refusedMove(
      token,
      recipient,
      refusal.reason,
      await adviceOn(chain, refusal, { address, calls, owner }),
    )
  }
}

/** @throws DomainError conflict, chain_unavailable */
export function tryOwnMove(
  chain: Chain,
  { calls, owner }: OwnMove,
  { contractAddress, tokenId }: Pick<TokenLocation, 'contractAddress' | 'tokenId'>,
  recipient: string,
  call: Call,
) {
  const address = getAddress(contractAddress)
  const values = { owner, recipient: getAddress(recipient), tokenId: BigInt(tokenId) }
  return dryCall(chain, { address, calls, call: functionFor({ calls }, call, address), ...values })
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
): DomainError {
  const message = `The contract refuses to move token ${tokenId} to ${recipient}: ${reason}.`
  const forStrangers = `${message} Nothing was used up.`
  const words = advice === '' ? forStrangers : `${message} ${advice} Nothing was used up.`
  return new DomainError('simulation_reverted', words, { forStrangers })
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
  if (args.call === 'claimNFT' && owners.length === 0)
    throw new DomainError(
      'token_taken',
      `Token ${token.tokenId} was minted at the same moment. Nothing was used up; try again.`,
    )
  const { baseUri } = calls
  const found = functionFor({ calls }, args.call, args.contract)
  return { builder: moveBuilder, args: { ...args, owners, with: found, baseUri } }
}
