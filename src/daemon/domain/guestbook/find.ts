import { getAddress } from 'viem/utils'
import { findContract, findContractAt } from '../../store/contracts/contracts.ts'
import type { Db } from '../../store/database/database.ts'
import {
  findEventAt,
  findGuestbookEvent,
  findGuestbookEventAt,
  type LocatedGuestbookEvent,
} from '../../store/guestbook/guestbook-events.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { notFound } from '../errors/errors.ts'

type Deps = { db: Pick<Db, 'read'> }

/** A reference from a caller; addresses in any case. */
export type ContractRef = { contractId: number } | { contractAddress: string; chainId: number }

export type EventRef = { eventId: number } | ({ tokenId: string } & ContractRef)

const asStored = (address: string): string => getAddress(address.toLowerCase())

/** @throws DomainError not_found */
export async function guestbookOfTeam({ db }: Deps, teamId: number, ref: ContractRef): Promise<ContractRow> {
  const contract =
    'contractId' in ref
      ? await findContract(db.read, ref.contractId)
      : await findContractAt(db.read, ref.chainId, asStored(ref.contractAddress))
  if (contract?.teamId !== teamId || contract.kind !== 'guestbook') throw notFound('guestbook contract')
  return contract
}

/** @throws DomainError not_found */
export async function eventOfTeam(
  { db }: Deps,
  teamId: number,
  ref: EventRef,
): Promise<LocatedGuestbookEvent> {
  const event = await findEvent(db, ref)
  if (event?.teamId !== teamId) throw notFound('guestbook event')
  return event
}

async function findEvent(
  { read }: Pick<Db, 'read'>,
  ref: EventRef,
): Promise<LocatedGuestbookEvent | undefined> {
  if ('eventId' in ref) return findGuestbookEvent(read, ref.eventId)
  const { tokenId } = ref
  if ('contractAddress' in ref) {
    const { chainId } = ref
    return findEventAt(read, { chainId, contractAddress: asStored(ref.contractAddress), tokenId })
  }
  const id = await findGuestbookEventAt(read, ref.contractId, tokenId)
  return id === undefined ? undefined : findGuestbookEvent(read, id)
}
