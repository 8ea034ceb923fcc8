import type { Logger } from 'pino'
import { getAddress } from 'viem/utils'
import type { Chain, Chains } from '../../chain/chains.ts'
import { guestbookAt, phygitalAt } from '../../chain/contract-state.ts'
import { deployedContracts, updateContract } from '../../store/contracts/contracts.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { readChain, unservedState } from '../chain/read-chain.ts'
import { DomainError } from '../errors/errors.ts'
import { whyNotOurs } from './deployed.ts'
import { type CallState, dryCalls } from './dry-call.ts'

/** A contract's state on its chain. Null: unknown, or the contract does not say. */
interface ContractCheck {
  /** `ours`: this version's code; `none`: no code at the address. */
  code: 'ours' | 'other' | 'none' | null
  /** keccak256 */
  codeHash: string | null
  owner: string | null
  signVerifier: string | null
  /** True if the contract accepts this daemon's signatures. */
  trustsSignVerifier: boolean | null
  /** Whether a dry call of the contract's own functions succeeds. */
  transfers: CallState | null
  mints: CallState | null
  warnings: string[]
}

type InspectedContract = Pick<
  ContractRow,
  'id' | 'kind' | 'chainId' | 'address' | 'status' | 'transactionId' | 'problem' | 'lastTokenId' | 'calls'
>

/** Only warns, since the chain may be configured later. */
export async function inspectContract(
  { db, chains }: { db: Pick<Db, 'read'>; chains: Chains },
  contract: InspectedContract,
): Promise<ContractCheck> {
  const { chainId } = contract
  const unserved = unservedState(chains, chainId)
  if (unserved !== undefined) {
    const next = unserved === 'not served yet' ? 'See tapchip doctor.' : `Set TAPCHIP_RPC_${chainId}.`
    return unknown(`Chain ${chainId} is ${unserved}, so the contract was not checked. ${next}`)
  }
  const chain = chains.get(chainId)
  try {
    return await readChain(chain, () => inspect(db.read, chain, contract))
  } catch (error) {
    if (error instanceof DomainError)
      return unknown(`Chain ${chainId} does not answer, so the contract was not checked. See tapchip doctor.`)
    throw error
  }
}

async function inspect(db: Queries, chain: Chain, contract: InspectedContract): Promise<ContractCheck> {
  const address = getAddress(contract.address)
  const standing =
    contract.kind === 'phygital'
      ? await phygitalAt(chain.client, address)
      : { signVerifier: undefined, ...(await guestbookAt(chain.client, address, chain.relayer)) }
  const { codeHash, isOurCode, owner, signVerifier } = standing
  const dry =
    codeHash === undefined
      ? { transfers: null, mints: null, warnings: [] }
      : await dryCalls(db, chain, contract)
  return {
    code: codeHash === undefined ? 'none' : isOurCode ? 'ours' : 'other',
    codeHash: codeHash ?? null,
    owner: owner ?? null,
    signVerifier: signVerifier ?? null,
    trustsSignVerifier: signVerifier === undefined ? null : signVerifier === chain.signVerifier.address,
    ...dry,
    warnings: [...(await warningsOf(chain, contract, standing)), ...dry.warnings],
  }
}

type OnChainState = Awaited<ReturnType<typeof phygitalAt>> | Awaited<ReturnType<typeof guestbookAt>>

async function warningsOf(
  chain: Chain,
  contract: InspectedContract,
  standing: OnChainState,
): Promise<string[]> {
  const { address, kind, status, transactionId, problem } = contract
  if (status === 'pending') return problem === null ? [] : [problem]
  if (transactionId !== null) {
    const reason = await whyNotOurs(chain, contract, { owner: true })
    return reason === undefined ? [] : [reason]
  }
  if (standing.codeHash === undefined)
    return [`There is no contract at ${address} on chain ${chain.id}. Check the address and the chain.`]
  const warnings: string[] = []
  // Its roles and approvals decide, not its owner or our signatures.
  if (contract.calls !== null) return warnings
  if (kind === 'phygital' && 'signVerifier' in standing)
    warnings.push(...verifierWarnings(chain, address, standing.signVerifier))
  if (kind === 'guestbook') warnings.push(...(await minterWarnings(chain, address)))
  if (!standing.isOurCode)
    warnings.push(
      `The code at ${address} is not what this version of Tapchip deploys (code hash ${standing.codeHash}), so Tapchip cannot tell what it does with tokens.`,
    )
  if (standing.owner !== undefined && standing.owner !== chain.relayer)
    warnings.push(
      `${address} belongs to ${standing.owner}, not to this daemon's relayer ${chain.relayer}: the owner can change at any time ${kind === 'phygital' ? 'whose signatures move its tokens' : 'who mints on it'}.`,
    )
  return warnings
}

async function minterWarnings({ client, id, relayers }: Chain, address: string): Promise<string[]> {
  const states = await Promise.all(
    relayers.map((relayer) => guestbookAt(client, getAddress(address), relayer.address)),
  )
  const others = relayers.filter((_, at) => states[at]?.isMinter === false)
  if (others.length === 0) return []
  const calls = others.map((relayer) => `setMinter(${relayer.address}, true)`).join(' and ')
  const what = others.length === relayers.length ? 'No relayer' : 'Not every relayer'
  return [
    `${what} of chain ${id} is a minter of the guestbook ${address}. Have the contract's owner call ${calls}.`,
  ]
}

function verifierWarnings(chain: Chain, address: string, verifier: string | undefined): string[] {
  const expected = chain.signVerifier.address
  if (verifier === expected) return []
  if (verifier === undefined)
    return [`${address} names no sign verifier, so its tokens cannot be moved from here.`]
  return [
    `${address} trusts the sign verifier ${verifier}; this daemon signs with ${expected}. Have the contract's owner call setSignVerifier, or give the daemon that key (TAPCHIP_SIGN_VERIFIER_KEY_${chain.id}).`,
  ]
}

const unknown = (warning: string): ContractCheck => ({
  code: null,
  codeHash: null,
  owner: null,
  signVerifier: null,
  trustsSignVerifier: null,
  transfers: null,
  mints: null,
  warnings: [warning],
})

/**
 * An earlier version trusted every mined deployment. If a chain does not answer, the next start checks its
 * contracts; they are also checked before each use.
 */
export async function verifyContracts(
  { db, chains, log }: { db: Db; chains: Chains; log: Pick<Logger, 'error'> },
  stopped?: AbortSignal,
): Promise<void> {
  await Promise.all(
    chains.all.map(async (chain) => {
      if (chain.isEmbedded) return
      for (const contract of await deployedContracts(db.read, chain.id)) {
        const { id, symbol, address, kind, isBound } = contract
        let problem: string | null
        try {
          const owner = kind === 'phygital' && isBound === 0
          problem = (await whyNotOurs(chain, contract, { owner })) ?? null
        } catch {
          return
        }
        if (stopped?.aborted) return
        if (problem !== null)
          log.error(
            { chainId: chain.id, symbol, address, problem },
            'a contract is not the one that was deployed',
          )
        if (problem !== contract.problem) await db.write((trx) => updateContract(trx, id, { problem }))
      }
    }),
  )
}
