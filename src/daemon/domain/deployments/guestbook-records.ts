import { encodeFunctionData, getAddress, type Hex } from 'viem'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import type { Claim } from '../../chain/relayer/record-intent.ts'
import type { Queries } from '../../store/database.ts'
import { type LocatedGuestbookEvent, setEventTransaction } from '../../store/guestbook-events.ts'
import type { ContractRow } from '../../store/schema.ts'
import { type Counted, recordForTeam } from '../chain/budget.ts'
import type { BudgetClock } from '../time.ts'

// What is sent for guestbooks. All of it has a gas limit of its own: behind a deployment that is not mined yet no
// node can estimate one. They are limits, not what is paid. See contracts/README.md.
const gas = { createEvent: 250_000, other: 100_000 }

/** Kinds of intents that a contract is owed, whatever becomes of its first deployment. */
export const owed = { mint: 'guestbook-mint', pause: 'guestbook-pause' } as const

type Deps = { clock: BudgetClock }

export type EventToCreate = Pick<LocatedGuestbookEvent, 'id' | 'teamId' | 'tokenId' | 'address' | 'chainId'>

/**
 * Records the transaction that creates a guestbook event on its contract; one that is there already, on a contract
 * that was deployed elsewhere, has its metadata announced instead. @returns its id
 */
export async function recordEvent(
  trx: Queries,
  { clock }: Deps,
  event: EventToCreate,
  counted: Counted,
  { idempotency, isThere = false }: { idempotency?: Claim | undefined; isThere?: boolean } = {},
): Promise<number> {
  const tokenId = BigInt(event.tokenId)
  const intent = {
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
    settled: clock.settled(),
  }
  const id = await recordForTeam(trx, intent, counted)
  await setEventTransaction(trx, event.id, id)
  return id
}

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
  counted: Counted,
  { recipient, intentId, gasHint, idempotency }: Mint,
): Promise<number> =>
  recordForTeam(
    trx,
    {
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
      settled: clock.settled(),
    },
    counted,
  )

/** The latest one decides. */
export const pauseTopic = ({ chainId, address }: Pick<ContractRow, 'chainId' | 'address'>): string =>
  `pause:${chainId}/${address}`
export const pauseCall = (isPaused: boolean): Hex =>
  encodeFunctionData({ abi: guestbookAbi, functionName: 'setPaused', args: [isPaused] })

/** @returns its id */
export const recordPause = (
  trx: Queries,
  { clock }: Deps,
  contract: ContractRow,
  counted: Counted,
  { isPaused, idempotency }: { isPaused: boolean; idempotency: Claim | undefined },
): Promise<number> =>
  recordForTeam(
    trx,
    {
      ...ofContract(contract),
      deed: {
        to: getAddress(contract.address),
        data: pauseCall(isPaused),
      },
      gasHint: gas.other,
      kind: owed.pause,
      topic: pauseTopic(contract),
      subject: { contractId: contract.id, contractAddress: contract.address, isPaused },
      idempotency,
      now: clock.now(),
      settled: clock.settled(),
    },
    counted,
  )

const ofContract = ({ chainId, teamId }: { chainId: number; teamId: number }) => ({
  chainId,
  signer: 'relayer',
  teamId,
})
