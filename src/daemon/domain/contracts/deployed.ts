import { getAddress } from 'viem/utils'
import * as z from 'zod'
import type { Chain } from '../../chain/chains.ts'
import { guestbookAt, phygitalAt, phygitalCodeAt } from '../../chain/contract-state.ts'
import type { ContractRow, TransactionRow } from '../../store/schema/schema.ts'
import { readChain, ttlCached } from '../chain/read-chain.ts'
import { conflict, type DomainError } from '../errors/errors.ts'

/** Intent kinds that deploy a contract. */
export const deployKind = { phygital: 'phygital-deploy', guestbook: 'guestbook-deploy' } as const

type DeployedContract = Pick<ContractRow, 'kind' | 'address'>

interface Strictness {
  /** Require this daemon's relayer as the owner: any other owner may have deployed the contract. */
  owner: boolean
  blockNumber?: bigint
}

/** @returns a problem in one or more sentences, undefined if there is none @throws errors of the chain's client */
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
  if (codeHash === undefined) return `There is no contract at ${location}.`
  if (!isOurCode)
    return `The contract at ${location} was not deployed by this daemon: someone else was there first (code hash ${codeHash}).`
  if (strict && owner !== chain.relayer)
    return `The contract ${location} belongs to ${owner ?? 'nobody'}, not to this daemon's relayer ${chain.relayer}, so someone else decides who may move its tokens.`
  if ('pendingOwner' in standing) {
    const { pendingOwner, signVerifier } = standing
    if (strict && pendingOwner !== undefined && BigInt(pendingOwner) !== 0n)
      return `The contract ${location} will belong to ${pendingOwner} as soon as they accept it, so someone else decides who may move its tokens.`
    if (signVerifier !== chain.signVerifier.address)
      return `The contract ${location} trusts the sign verifier ${signVerifier ?? '(none)'}; this daemon signs with ${chain.signVerifier.address}.`
  } else if (strict && standing.isMinter !== true)
    return `The guestbook ${location} does not have this daemon's relayer ${chain.relayer} as a minter.`
  return undefined
}

const subject = z.object({ address: z.string() })

/**
 * Anyone who knows an address that does not bind its code can deploy there first. @throws errors of the chain's
 * client
 */
export async function whyNotDeployed(
  chain: Chain,
  row: Pick<TransactionRow, 'kind' | 'subject'>,
  blockNumber: bigint,
): Promise<string | undefined> {
  const kind = row.kind === deployKind.phygital ? 'phygital' : 'guestbook'
  if (row.kind !== deployKind[kind]) return undefined
  const { address } = subject.parse(JSON.parse(row.subject))
  // One URL can lead to several nodes; those that lack the block say so.
  const at = chain.isEmbedded ? {} : { blockNumber }
  const reason = await whyNotOurs(chain, { kind, address }, { owner: true, ...at })
  if (reason === undefined) return undefined
  const next =
    chain.isEmbedded && kind === 'phygital'
      ? 'On the embedded chain, the address depends only on the team and the symbol: deploy it with another symbol.'
      : 'Restart the daemon: it will deploy the contract to an address that no one else can use.'
  return `${reason} ${next}`
}

export type ContractState = Pick<ContractRow, 'kind' | 'address' | 'status' | 'problem' | 'isBound'>

/** Columns of a token or event that describe its contract. */
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
 * An earlier version, or another chain behind the same URL, may have recorded it wrongly. Cached for a minute.
 * @throws DomainError conflict, chain_unavailable
 */
export async function assertOurs(chain: Chain, contract: ContractState): Promise<void> {
  const { kind, address, isBound } = contract
  // If the address binds the first owner, only that owner can have transferred it. The embedded chain's keys are
  // public.
  const owner = kind === 'phygital' && isBound === 0 && !chain.isEmbedded
  await ttlCached(chain, `ours ${address}`, 60_000, async () => {
    const reason = await readChain(chain, () => whyNotOurs(chain, contract, { owner }))
    if (reason !== undefined) throw unusable(`${reason} See tapchip contracts show.`)
  })
}

/** @throws DomainError conflict: nothing is sent to a contract that is missing or not ours */
export function assertDeployed({ address, status, problem }: ContractState): void {
  if (status === 'confirmed') return
  if (problem !== null) throw unusable(problem)
  throw conflict(`The contract ${address} is not deployed yet. See tapchip transactions list, and try again.`)
}

const unusable = (problem: string): DomainError => conflict(`${problem} Nothing was used up.`)

/** It never changes, but a node may not have it yet. @throws DomainError chain_unavailable */
export const phygitalCode = (chain: Chain, address: string) =>
  ttlCached(chain, `code ${address}`, 600_000, () =>
    readChain(chain, async () => {
      const code = await phygitalCodeAt(chain.client, getAddress(address))
      if (code.codeHash === undefined) throw new Error(`no code at ${address}`)
      return code
    }),
  )
