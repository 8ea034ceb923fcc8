import { getAddress } from 'viem/utils'
import * as z from 'zod'
import type { Chain } from '../../chain/chains.ts'
import { guestbookAt, phygitalAt } from '../../chain/standing.ts'
import type { ContractRow, TransactionRow } from '../../store/schema.ts'
import { readChain, ttlCached } from '../chain/read-chain.ts'
import { DomainError } from '../errors.ts'

/** Kinds of intents that deploy a contract. */
export const deployKind = { phygital: 'phygital-deploy', guestbook: 'guestbook-deploy' } as const

type DeployedContract = Pick<ContractRow, 'kind' | 'address'>

interface Strictness {
  /** Whether the owner has to be this daemon's relayer: whoever else it is may have put the contract there. */
  owner: boolean
  blockNumber?: bigint
}

/**
 * Why the contract at an address is not the one that this daemon deployed, or meant to: a sentence, or several.
 * @returns undefined where it is @throws what the way to the chain threw
 */
export async function whyNotOurs(
  chain: Chain,
  { kind, address: text }: DeployedContract,
  { owner: strict, ...at }: Strictness,
): Promise<string | undefined> {
  const address = getAddress(text)
  const location = `${address} on chain ${chain.id}`
  const standing =
    kind === 'phygital'
      ? await phygitalAt(chain.client, address, at)
      : await guestbookAt(chain.client, address, chain.relayer, at)
  const { codeHash, isOurCode, owner } = standing
  if (codeHash === undefined) return `Nothing stands at ${location}.`
  if (!isOurCode)
    return `At ${location} stands a contract that this daemon did not deploy: somebody else was there first (code hash ${codeHash}).`
  if (strict && owner !== chain.relayer)
    return `The contract ${location} belongs to ${owner ?? 'nobody'}, not to this daemon's relayer ${chain.relayer}, so somebody else decides who may move its tokens.`
  if ('pendingOwner' in standing) {
    const { pendingOwner, signVerifier } = standing
    if (strict && pendingOwner !== undefined && BigInt(pendingOwner) !== 0n)
      return `The contract ${location} becomes ${pendingOwner}'s as soon as they accept it, so somebody else decides who may move its tokens.`
    if (signVerifier !== chain.signVerifier.address)
      return `The contract ${location} trusts the sign verifier ${signVerifier ?? 'of nobody'}; this daemon signs with ${chain.signVerifier.address}.`
  } else if (strict && standing.isMinter !== true)
    return `The guestbook ${location} does not have this daemon's relayer ${chain.relayer} as a minter.`
  return undefined
}

const subject = z.object({ address: z.string() })

/**
 * Says of a deployment that was mined without failing why nothing of ours is there all the same: whoever knows an
 * address that does not bind what is deployed there can be first. @throws what the way to the chain threw
 */
export async function whyNotDeployed(
  chain: Chain,
  row: Pick<TransactionRow, 'kind' | 'subject'>,
  blockNumber: bigint,
): Promise<string | undefined> {
  const kind = row.kind === deployKind.phygital ? 'phygital' : 'guestbook'
  if (row.kind !== deployKind[kind]) return undefined
  const { address } = subject.parse(JSON.parse(row.subject))
  // Behind one URL can be several nodes, of which some lag: those that do not have the block say so.
  const at = chain.isEmbedded ? {} : { blockNumber }
  const reason = await whyNotOurs(chain, { kind, address }, { owner: true, ...at })
  if (reason === undefined) return undefined
  const next =
    chain.isEmbedded && kind === 'phygital'
      ? 'On the embedded chain an address comes from team and symbol alone: deploy it with another symbol.'
      : 'Start the daemon again: it deploys the contract where nobody else can put anything.'
  return `${reason} ${next}`
}

export type ContractState = Pick<ContractRow, 'kind' | 'address' | 'status' | 'problem' | 'isBound'>

/** What a token or an event says of its contract. */
interface OfContract {
  contractStatus: ContractRow['status']
  contractProblem: string | null
  contractIsBound: number
}

export const contractOf = (
  kind: ContractRow['kind'],
  address: string,
  { contractStatus: status, contractProblem: problem, contractIsBound: isBound }: OfContract,
): ContractState => ({ kind, address, status, problem, isBound })

/**
 * Makes sure of a contract that was deployed from here that it is: a daemon from before that was looked at, or another
 * chain behind the same URL, may have been wrong about it. Asked once a minute.
 * @throws DomainError conflict, chain_unavailable
 */
export async function assertOurs(chain: Chain, contract: ContractState): Promise<void> {
  const { kind, address, isBound } = contract
  // Where the address binds the first owner, only the first owner can have passed it on. The embedded chain's keys are public.
  const owner = kind === 'phygital' && isBound === 0 && !chain.isEmbedded
  await ttlCached(chain, `ours ${address}`, 60_000, async () => {
    const reason = await readChain(chain, () => whyNotOurs(chain, contract, { owner }))
    if (reason !== undefined) throw unusable(`${reason} See tapchip contracts show.`)
  })
}

/** @throws DomainError conflict: nothing is sent to what is not there, or is somebody else's */
export function assertDeployed({ address, status, problem }: ContractState): void {
  if (status === 'confirmed') return
  if (problem !== null) throw unusable(problem)
  throw new DomainError(
    'conflict',
    `The contract ${address} is not deployed yet. See tapchip transactions list, and try again.`,
  )
}

const unusable = (problem: string): DomainError =>
  new DomainError('conflict', `${problem} Nothing was used up.`)
