import { encodeFunctionData, getAddress, type Hex } from 'viem'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import { guestbookFactoryAbi } from '../../chain/artifacts/guestbook-factory.ts'
import type { Chain } from '../../chain/chains.ts'
import {
  factoryDeployment,
  guestbookAddress,
  guestbookFactory,
} from '../../chain/deterministic-deployment.ts'
import {
  type CallSpec,
  type Json,
  type KeyedRequest,
  recordIntent,
} from '../../chain/relayer/record-intent.ts'
import { findTransaction } from '../../store/chain/intents.ts'
import { listTransactions } from '../../store/chain/listing.ts'
import { sentToContract } from '../../store/contracts/contracts.ts'
import type { Queries } from '../../store/database/database.ts'
import { setSettingOnce, setting } from '../../store/database/settings.ts'
import { type LocatedGuestbookEvent, setEventTransaction } from '../../store/guestbook/guestbook-events.ts'
import type { ContractRow, TransactionRow } from '../../store/schema/schema.ts'
import { type ChargedTo, recordForTeam } from '../chain/budget.ts'
import type { BudgetClock, Clock } from '../time/time.ts'

// Gas limits, not the gas used: nodes cannot estimate calls to a contract that is not mined yet. See
// contracts/README.md.
const gas = { factory: 4_500_000, clone: 400_000, slot: 25_000, createEvent: 250_000, pause: 100_000 }

/** Intent kinds that must reach the contract even if its first deployment fails. */
export const owed = { mint: 'guestbook-mint', pause: 'guestbook-pause' } as const

type Deps = { clock: BudgetClock }

type EventToCreate = Pick<LocatedGuestbookEvent, 'id' | 'teamId' | 'tokenId' | 'address' | 'chainId'>

interface EventOptions {
  idempotency?: KeyedRequest | undefined
  /** The relayer that creates it; absent: the first one. */
  minter?: string | undefined
  exists?: boolean
}

/** Announces the metadata of an event that exists on a contract deployed elsewhere. @returns the transaction's ID */
export async function recordEvent(
  trx: Queries,
  { clock }: Deps,
  event: EventToCreate,
  counted: ChargedTo,
  { idempotency, minter, exists = false }: EventOptions = {},
): Promise<number> {
  const tokenId = BigInt(event.tokenId)
  const intent = {
    chainId: event.chainId,
    teamId: event.teamId,
    call: {
      to: getAddress(event.address),
      data: exists
        ? encodeFunctionData({ abi: guestbookAbi, functionName: 'refreshMetadata', args: [[tokenId]] })
        : encodeFunctionData({ abi: guestbookAbi, functionName: 'createEvent', args: [tokenId] }),
    },
    gasHint: gas.createEvent,
    kind: 'guestbook-event',
    candidates: minter === undefined ? undefined : [minter],
    subject: { eventId: event.id, contractAddress: event.address, tokenId: event.tokenId },
    idempotency,
  }
  const id = await recordForTeam(trx, clock, intent, counted)
  await setEventTransaction(trx, event.id, id)
  return id
}

export interface Mint {
  /** EIP-55 */
  recipient: string
  /** 32 bytes: the contract mints once per intent ID. */
  intentId: Hex
  gasHint: number
  /** The relayers that may send it, the best one first. */
  candidates: readonly string[]
  idempotency: KeyedRequest | undefined
}

/** @returns the transaction's ID */
export const recordMintOf = (
  trx: Queries,
  { clock }: Deps,
  event: EventToCreate,
  counted: ChargedTo,
  { recipient, intentId, gasHint, candidates, idempotency }: Mint,
): Promise<number> =>
  recordForTeam(
    trx,
    clock,
    {
      chainId: event.chainId,
      teamId: event.teamId,
      call: {
        to: getAddress(event.address),
        data: encodeFunctionData({
          abi: guestbookAbi,
          functionName: 'mint',
          args: [getAddress(recipient), BigInt(event.tokenId), intentId],
        }),
      },
      gasHint,
      kind: owed.mint,
      candidates,
      subject: { eventId: event.id, contractAddress: event.address, tokenId: event.tokenId, recipient },
      idempotency,
    },
    counted,
  )

/** Only the latest transaction of a topic takes effect. */
export const pauseTopic = ({ chainId, address }: Pick<ContractRow, 'chainId' | 'address'>): string =>
  `pause:${chainId}/${address}`
export const pauseCall = (isPaused: boolean): Hex =>
  encodeFunctionData({ abi: guestbookAbi, functionName: 'setPaused', args: [isPaused] })

interface PauseChange {
  isPaused: boolean
  /** The relayer that owns the contract; undefined: the first one. */
  owner: string | undefined
  idempotency: KeyedRequest | undefined
}

/** @returns the transaction's ID */
export const recordPause = (
  trx: Queries,
  { clock }: Deps,
  contract: ContractRow,
  counted: ChargedTo,
  { isPaused, owner, idempotency }: PauseChange,
): Promise<number> =>
  recordForTeam(
    trx,
    clock,
    {
      chainId: contract.chainId,
      teamId: contract.teamId,
      call: {
        to: getAddress(contract.address),
        data: pauseCall(isPaused),
      },
      gasHint: gas.pause,
      kind: owed.pause,
      candidates: owner === undefined ? undefined : [owner],
      topic: pauseTopic(contract),
      subject: { contractId: contract.id, contractAddress: contract.address, isPaused },
      idempotency,
    },
    counted,
  )

/** A guestbook's deployment and its address. */
export function guestbookDeployment(
  serviceURL: string,
  chain: Chain,
  { name, symbol }: ContractRow,
  salt: Hex,
) {
  const deployment = { salt, name, symbol, serviceURL, admin: chain.relayer, minter: chain.relayer }
  const data = encodeFunctionData({ abi: guestbookFactoryAbi, functionName: 'deploy', args: [deployment] })
  const call: CallSpec = { to: guestbookFactory, data }
  const slots = [name, symbol, serviceURL].map((text) => Math.ceil(Buffer.byteLength(text) / 32) + 1)
  const gasHint = gas.clone + gas.slot * slots.reduce((sum, count) => sum + count, 0)
  return { call, address: guestbookAddress(deployment), gasHint }
}

/** Once per chain: all guestbooks are clones of one implementation. */
export async function recordFactory(trx: Queries, { clock }: { clock: Clock }, chain: Chain): Promise<void> {
  const key = `guestbookFactory:${chain.id}`
  if (await isPending(trx, chain.id, await setting(trx, key))) return
  const id = await recordIntent(trx, {
    chainId: chain.id,
    call: factoryDeployment(),
    gasHint: gas.factory,
    kind: 'guestbook-factory',
    subject: { address: guestbookFactory },
    teamId: null,
    now: clock.now(),
  })
  await setSettingOnce(trx, key, String(id))
}

/** A missing or cancelled factory is deployed again: calls to an empty address would seem to succeed. */
async function isPending(trx: Queries, chainId: number, first: string | undefined): Promise<boolean> {
  if (first === undefined) return false
  const isGone = (row: { state: string } | undefined) =>
    row === undefined || row.state === 'cancelled' || row.state === 'reverted'
  if (!isGone(await findTransaction(trx, Number(first)))) return true
  const [last] = await listTransactions(trx, { chainId, kind: 'guestbook-factory', limit: 1 })
  return !isGone(last)
}

/** Cancelled, or could never be sent. */
const isGivenUp = ({
  state,
  abandonedBecause,
}: Pick<TransactionRow, 'state' | 'abandonedBecause'>): boolean =>
  state === 'cancelled' || abandonedBecause !== null

/**
 * Records again the transactions sent to an address where the guestbook was missing: they had no effect but seemed
 * to succeed. Cancelled ones stay cancelled, and intent IDs prevent double mints. @param before the contract as it
 * was
 */
export async function recordResends(
  trx: Queries,
  { clock }: { clock: BudgetClock },
  { before, address }: { before: ContractRow; address: string },
  counted: ChargedTo,
): Promise<number[]> {
  const { chainId, teamId } = before
  const sent = await sentToContract(trx, { chainId, address: before.address, kinds: Object.values(owed) })
  // Keeps the last of identical transactions: of several pause changes, the latest counts.
  const resends = new Map<string, (typeof sent)[number]>()
  for (const row of sent) {
    resends.delete(row.data ?? '')
    resends.set(row.data ?? '', row)
  }
  const ids: number[] = []
  for (const [data, row] of resends) {
    const { kind, subject, gas } = row
    if (isGivenUp(row)) continue
    // Written above in these shapes.
    const about: { readonly [name: string]: Json } = JSON.parse(subject)
    const intent = {
      chainId,
      call: { to: getAddress(address), data: data as Hex },
      ...(gas === null ? { maxGas: 0 } : { gasHint: gas }),
      kind,
      ...(kind === owed.pause ? { topic: pauseTopic({ chainId, address }) } : {}),
      subject: { ...about, contractAddress: address },
      teamId,
    }
    ids.push(await recordForTeam(trx, clock, intent, counted))
  }
  return ids
}
