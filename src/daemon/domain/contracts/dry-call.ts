import { type Address, encodeFunctionData, getAddress, type Hex, isAddressEqual, parseAbi } from 'viem'
import type { Chain } from '../../chain/chains.ts'
import { isRefusal, ownerOf } from '../../chain/contract-state.ts'
import { revertOf } from '../../chain/node-answer.ts'
import {
  type ContractCall,
  type ContractCalls,
  callText,
  invocationOf,
  type Refusal,
  refusalIn,
  storedCalls,
} from '../../chain/relayer/contract-call.ts'
import type { Queries } from '../../store/database/database.ts'
import { someTokensOf } from '../../store/phygitals/tokens.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { readChain, ttlCached } from '../chain/read-chain.ts'
import { roleName } from './contract-calls.ts'

export interface OwnCall {
  address: Address
  calls: ContractCalls
  call: ContractCall
  owner: Address | undefined
  recipient: Address
  tokenId: bigint
}

const notErc721 =
  'by supportsInterface it is no ERC-721, so nobody could tell who has a token, and a mint could happen twice'

/** Runs a call from the relayer without sending it. @throws DomainError chain_unavailable */
export async function dryCall(
  chain: Chain,
  { address, calls, call, ...values }: OwnCall,
): Promise<{ gas: bigint; refusal?: never } | { refusal: Refusal }> {
  if (values.owner === undefined && !(await namesOwners(chain, address)))
    return { refusal: { reason: notErc721 } }
  const invocation = invocationOf(call, { ...values, baseUri: calls.baseUri })
  try {
    encodeFunctionData(invocation)
  } catch {
    return { refusal: { reason: `${call.name} does not take token ${values.tokenId}` } }
  }
  try {
    const estimate = { ...invocation, address, account: chain.relayer }
    return { gas: await readChain(chain, () => chain.client.estimateContractGas(estimate)) }
  } catch (error) {
    const revert = revertOf(error)
    if (!revert) throw error
    return { refusal: refusalIn(revert, calls.errors) }
  }
}

const approvalAbi = parseAbi([
  'function isApprovedForAll(address owner, address operator) view returns (bool)',
])
const missingRole = /account (0x[0-9a-f]{40}) is missing role (0x[0-9a-f]{64})/i

/** What the operator of the contract, or the token's owner, can do about a refusal. */
export async function adviceOn(
  chain: Chain,
  refusal: Refusal,
  { address, calls, owner }: Pick<OwnCall, 'address' | 'calls' | 'owner'>,
): Promise<string> {
  const { relayer } = chain
  const [, accountInText, roleInText] = missingRole.exec(refusal.reason) ?? []
  const isRole = /^(AccessControl|Permissions)UnauthorizedAccount$/.test(refusal.errorName ?? '')
  const [account, role] = isRole ? (refusal.args ?? []).map(String) : [accountInText, roleInText]
  if (account !== undefined && role !== undefined && account.toLowerCase() === relayer.toLowerCase())
    return `The relayer ${relayer} lacks the role ${roleName(role, calls)}. An admin of the contract grants it: cast send ${address} 'grantRole(bytes32,address)' ${role} ${relayer}`
  if (/^Ownable/.test(refusal.errorName ?? refusal.reason))
    return `Only the owner of the contract may call it, and that is not the relayer ${relayer}. Choose a function for a role, or make the relayer the owner.`
  if (owner === undefined || isAddressEqual(owner, relayer)) return ''
  const args = [owner, relayer] as const
  const isApproved = await chain.client
    .readContract({ abi: approvalAbi, address, functionName: 'isApprovedForAll', args })
    .catch(() => undefined)
  return isApproved === false
    ? `The owner ${owner} has not approved the relayer ${relayer}. The owner does it: cast send ${address} 'setApprovalForAll(address,bool)' ${relayer} true`
    : ''
}

const erc165Abi = parseAbi(['function supportsInterface(bytes4) view returns (bool)'])

/** Whether a contract says that it is an ERC-721, and not that it is everything. Without owners, a mint could be repeated. */
const namesOwners = (chain: Chain, address: Address): Promise<boolean> =>
  ttlCached(chain, `ERC-721 ${address}`, 60_000, async () => {
    const supports = (id: Hex) =>
      readChain(chain, () =>
        chain.client.readContract({
          abi: erc165Abi,
          address,
          functionName: 'supportsInterface',
          args: [id],
        }),
      ).catch((error: unknown) => {
        if (isRefusal(error)) return false
        throw error
      })
    const [isErc721, isEverything] = await Promise.all([supports('0x80ac58cd'), supports('0xffffffff')])
    return isErc721 && !isEverything
  })

export type CallState = 'works' | 'refused' | 'unknown'

interface DryCalls {
  transfers: CallState | null
  mints: CallState | null
  warnings: string[]
}

type Contract = Pick<ContractRow, 'id' | 'address' | 'lastTokenId' | 'calls'>

/** Tries both calls with tokens that exist, or do not yet. @throws DomainError chain_unavailable */
export async function dryCalls(db: Queries, chain: Chain, contract: Contract): Promise<DryCalls> {
  const calls = storedCalls(contract.calls)
  if (!calls) return { transfers: null, mints: null, warnings: [] }
  const address = getAddress(contract.address)
  const warnings: string[] = []
  const attempt = async (
    call: ContractCall | null,
    what: string,
    token: { tokenId: bigint; owner: Address | undefined } | undefined,
  ): Promise<CallState | null> => {
    if (call === null) {
      warnings.push(
        `No function to ${what} is given, so nothing can be ${what === 'mint' ? 'minted' : 'transferred'} from here.`,
      )
      return null
    }
    if (token === undefined) {
      warnings.push(
        `${callText(call)} was not tried: no token was found to try it with. Try again once one is linked: tapchip contracts show.`,
      )
      return 'unknown'
    }
    const of = { address, calls, call, recipient: chain.relayer, ...token }
    const { refusal } = await dryCall(chain, of)
    if (!refusal) return 'works'
    const advice = await adviceOn(chain, refusal, of)
    warnings.push(
      `The contract refuses ${callText(call)} for token ${token.tokenId}: ${refusal.reason}. ${advice}`.trim(),
    )
    return 'refused'
  }
  const transfers = await attempt(calls.transfer, 'transfer', await existingToken(db, chain, contract))
  const mints = await attempt(calls.mint, 'mint', await freeToken(chain, contract))
  return { transfers, mints, warnings }
}

async function existingToken(db: Queries, chain: Chain, { id, address }: Contract) {
  for (const tokenId of [...(await someTokensOf(db, id)), '1', '0'].map(BigInt)) {
    const owner = await ownerIn(chain, address, tokenId)
    if (owner !== undefined) return { tokenId, owner }
  }
  return undefined
}

/** Steps double, as when a token is minted. */
const maxAttempts = 20

async function freeToken(chain: Chain, { address, lastTokenId }: Contract) {
  let tokenId = BigInt(lastTokenId ?? 0) + 1n
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    if ((await ownerIn(chain, address, tokenId)) === undefined) return { tokenId, owner: undefined }
    tokenId += 2n ** BigInt(attempt)
  }
  return undefined
}

const ownerIn = (chain: Chain, address: string, tokenId: bigint) =>
  readChain(chain, () => ownerOf(chain.client, getAddress(address), tokenId))
