import { encodeFunctionData, getAddress, type Hex } from 'viem'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import { type Claim, recordIntent } from '../../chain/relayer/record-intent.ts'
import type { Queries } from '../../store/database.ts'
import { type LocatedGuestbookEvent, setEventTransaction } from '../../store/guestbook-events.ts'
import type { ContractRow } from '../../store/schema.ts'
import type { Clock } from '../time.ts'

// What is sent for guestbooks. All of it has a gas limit of its own: behind a deployment that is not mined yet no
// node can estimate one. They are limits, not what is paid. See contracts/README.md.
const gas = { createEvent: 250_000, other: 100_000 }

/** Kinds of intents that a contract is owed, whatever becomes of its first deployment. */
export const owed = { mint: 'guestbook-mint', pause: 'guestbook-pause' } as const

type Deps = { clock: Clock }

export type EventToCreate = Pick<LocatedGuestbookEvent, 'id' | 'teamId' | 'tokenId' | 'address' | 'chainId'>

/**
 * Records the transaction that creates a guestbook event on its contract; one that is there already, on a contract
 * that was deployed elsewhere, has its metadata announced instead. @returns its id
 */
export async function recordEvent(
  trx: Queries,
  { clock }: Deps,
  event: EventToCreate,
  { idempotency, isThere = false }: { idempotency?: Claim | undefined; isThere?: boolean } = {},
): Promise<number> {
  const tokenId = BigInt(event.tokenId)
  const id = await recordIntent(trx, {
    ...ofContract(event),
    deed: {
      to: getAddress(event.address),
      data: isThere
        ? encodeFunctionData({ abi: guestbookAbi, functionName: 'refreshMetadata', args: [[tokenId]] })
        : encodeFunctionData({ abi: guestbookAbi, functionName: 'createEvent', args: [tokenId] }),
    },
    gasHint: gas.createEvent,
    kind: 'guestbook-event',
    subject: { eventId: event.id, contractAddress: event.address, tokenId: event.tokenId },
    idempotency,
    now: clock.now(),
  })
  await setEventTransaction(trx, event.id, id)
  return id
}

/** Records that marketplaces are told of an event's new metadata (ERC-1155 `URI`). @returns its id */
export const recordRefresh = (trx: Queries, { clock }: Deps, event: EventToCreate): Promise<number> =>
  recordIntent(trx, {
    ...ofContract(event),
    deed: {
      to: getAddress(event.address),
      data: encodeFunctionData({
        abi: guestbookAbi,
        functionName: 'refreshMetadata',
        args: [[BigInt(event.tokenId)]],
      }),
    },
    gasHint: gas.other,
    kind: 'guestbook-refresh',
    subject: { eventId: event.id, contractAddress: event.address, tokenId: event.tokenId },
    now: clock.now(),
  })

export interface Mint {
  /** EIP-55 */
  recipient: string
  /** 32 bytes: the contract does what has one name once, however often it is sent. */
  intentId: Hex
  gasHint: number
  idempotency: Claim | undefined
}

/** @returns its id */
export const recordMintOf = (
  trx: Queries,
  { clock }: Deps,
  event: EventToCreate,
  { recipient, intentId, gasHint, idempotency }: Mint,
): Promise<number> =>
  recordIntent(trx, {
    ...ofContract(event),
    deed: {
      to: getAddress(event.address),
      data: encodeFunctionData({
        abi: guestbookAbi,
        functionName: 'mint',
        args: [getAddress(recipient), BigInt(event.tokenId), intentId],
      }),
    },
    gasHint,
    kind: owed.mint,
    subject: { eventId: event.id, contractAddress: event.address, tokenId: event.tokenId, recipient },
    idempotency,
    now: clock.now(),
  })

/** @returns its id */
export const recordPause = (
  trx: Queries,
  { clock }: Deps,
  contract: ContractRow,
  { isPaused, idempotency }: { isPaused: boolean; idempotency: Claim | undefined },
): Promise<number> =>
  recordIntent(trx, {
    ...ofContract(contract),
    deed: {
      to: getAddress(contract.address),
      data: encodeFunctionData({ abi: guestbookAbi, functionName: 'setPaused', args: [isPaused] }),
    },
    gasHint: gas.other,
    kind: owed.pause,
    subject: { contractId: contract.id, contractAddress: contract.address, isPaused },
    idempotency,
    now: clock.now(),
  })

const ofContract = ({ chainId, teamId }: { chainId: number; teamId: number }) => ({
  chainId,
  signer: 'relayer',
  teamId,
})
