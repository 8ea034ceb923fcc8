import { encodeFunctionData, type Hex } from 'viem'
import { getAddress } from 'viem/utils'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chains } from '../../chain/chains.ts'
import {
  contractsWithDeferred,
  deferAnnouncements,
  deferredOf,
  forgetDeferred,
} from '../../store/chain/announcements.ts'
import { lastOfTopic } from '../../store/chain/intents.ts'
import { contractsToRefresh, findContract, updateContract } from '../../store/contracts/contracts.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import type { BudgetClock } from '../time/time.ts'
import { recordIfRoom } from './budget.ts'
import { knownRelayers } from './candidates.ts'

// Announcing changed metadata (ERC-4906, ERC-1155 `URI`) takes 25,000 gas for the first token and 1,300 for each
// further one, or 1,700 if its ID has 77 digits.
const gasOfFirst = 25_000
const gasOfNext = 1_700

/** Approximate gas used to announce this many tokens in one transaction. */
export const announceGas = (tokens: number): number => gasOfFirst + (tokens - 1) * gasOfNext
/** A gas limit, not the gas used. */
export const announceGasLimit = (tokens: number): number => 60_000 + (tokens - 1) * 2 * gasOfNext
/** A guestbook announces a whole URL per event. */
const gasLimitOf = (kind: ContractRow['kind'], tokens: number): number =>
  kind === 'guestbook' ? 100_000 + (tokens - 1) * 30_000 : announceGasLimit(tokens)

/** Tokens or events of one contract with changed metadata. */
interface Announcement {
  contractId: number
  kind: ContractRow['kind']
  address: string
  chainId: number
  teamId: number
  tokenIds: readonly string[]
  /** For a guestbook: the relayer that sends it. */
  candidates?: readonly string[] | undefined
}

/** Records an announcement, or postpones it if the daily budget has no room. @returns true if recorded */
export async function announceTokens(
  trx: Queries,
  { chains, clock }: { chains: Pick<Chains, 'get'>; clock: BudgetClock },
  announcement: Announcement,
): Promise<boolean> {
  const { contractId, kind, address, chainId, teamId } = announcement
  const tokenIds = [...new Set(announcement.tokenIds)]
  const { length } = tokenIds
  const chain = chains.get(chainId)
  const about = length === 1 ? { tokenId: tokenIds[0] ?? '' } : { tokens: length }
  const intent = {
    chainId,
    call: { to: getAddress(address), data: announceData(kind, tokenIds.map(BigInt)) },
    gasHint: gasLimitOf(kind, length),
    kind: `${kind}-refresh`,
    // That of a guestbook's event has to follow the event's creation.
    candidates: kind === 'phygital' ? await knownRelayers(trx, chain, contractId) : announcement.candidates,
    subject: { contractAddress: address, chainId, ...about },
    teamId,
  }
  const id = await recordIfRoom(trx, clock, intent, chain)
  if (id === undefined) await deferAnnouncements(trx, { contractId, tokenIds })
  else await forgetDeferred(trx, { contractId, tokenIds })
  return id !== undefined
}

/**
 * Announces a collection's own metadata (ERC-7572), or postpones that. One that is not signed yet covers later changes.
 * @returns true if recorded
 */
export async function announceCollection(
  trx: Queries,
  { chains, clock }: { chains: Pick<Chains, 'get'>; clock: BudgetClock },
  { id: contractId, address, chainId, teamId, symbol }: ContractRow,
): Promise<boolean> {
  const topic = `collection:${chainId}/${address}`
  if ((await lastOfTopic(trx, topic))?.state === 'queued') return false
  const intent = {
    chainId,
    call: {
      to: getAddress(address),
      data: encodeFunctionData({ abi: phygitalAbi, functionName: 'refreshContractURI' }),
    },
    gasHint: announceGasLimit(1),
    kind: 'collection-refresh',
    topic,
    subject: { contractAddress: address, chainId, symbol },
    teamId,
  }
  const id = await recordIfRoom(trx, clock, intent, chains.get(chainId))
  await updateContract(trx, contractId, { isRefreshPostponed: id === undefined ? 1 : null })
  return id !== undefined
}

export function announceData(kind: ContractRow['kind'], ids: readonly bigint[]): Hex {
  if (kind === 'guestbook')
    return encodeFunctionData({ abi: guestbookAbi, functionName: 'refreshMetadata', args: [ids] })
  const [first = 0n] = ids
  return ids.length === 1
    ? encodeFunctionData({ abi: phygitalAbi, functionName: 'refreshMetadata', args: [first] })
    : encodeFunctionData({ abi: phygitalAbi, functionName: 'refreshMetadataBatch', args: [ids] })
}

/** Fits easily into a block. */
export const maxPerAnnouncement = 100

/** Sends postponed announcements as far as budgets allow: hourly, and after a budget is raised. */
export async function announceDeferred({
  db,
  clock,
  chains,
}: {
  db: Db
  clock: BudgetClock
  chains: Pick<Chains, 'get' | 'has' | 'relayer'>
}): Promise<void> {
  for (const { id: contractId } of await contractsWithDeferred(db.read)) {
    const contract = await findContract(db.read, contractId)
    if (!contract || !chains.has(contract.chainId)) continue
    const { kind, address, chainId, teamId } = contract
    const isMore = () =>
      db.write(async (trx) => {
        const tokenIds = await deferredOf(trx, contractId, maxPerAnnouncement)
        if (tokenIds.length === 0) return false
        const announcement = { contractId, kind, address, chainId, teamId, tokenIds }
        return announceTokens(trx, { chains, clock }, announcement)
      })
    while (await isMore()) chains.relayer.wake()
  }
  for (const contract of await contractsToRefresh(db.read)) {
    if (!chains.has(contract.chainId)) continue
    if (await db.write((trx) => announceCollection(trx, { chains, clock }, contract))) chains.relayer.wake()
  }
}
