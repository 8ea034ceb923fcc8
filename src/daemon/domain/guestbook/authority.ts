import type { Address } from 'viem'
import { getAddress } from 'viem/utils'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import type { Chain } from '../../chain/chains.ts'
import { isRefusal } from '../../chain/contract-state.ts'
import type { Db } from '../../store/database/database.ts'
import type { LocatedGuestbookEvent } from '../../store/guestbook/guestbook-events.ts'
import { knownRelayers } from '../chain/candidates.ts'
import { readChain, readContract, refusalOf } from '../chain/read-chain.ts'
import { assertOurs, type ContractState, contractOf } from '../contracts/deployed.ts'
import { conflict } from '../errors/errors.ts'

export interface Guestbook extends ContractState {
  id: number
  transactionId: number | null
}

/** Registered by address but deployed by someone else. The relayer owns and mints on all others. */
export const isForeign = ({ status, transactionId }: Pick<Guestbook, 'status' | 'transactionId'>): boolean =>
  status === 'confirmed' && transactionId === null

export const guestbookOf = (event: LocatedGuestbookEvent): Guestbook => ({
  ...contractOf('guestbook', event.address, event),
  id: event.contractId,
  transactionId: event.contractTransactionId,
})

/**
 * Checks that the chain answers and a relayer may mint. @returns those that may, in their order; the first one sends what
 * others depend on @throws DomainError chain_unavailable, conflict
 */
export async function assertMinter(
  { read }: Pick<Db, 'read'>,
  chain: Chain,
  guestbook: Guestbook,
): Promise<readonly string[]> {
  if (!isForeign(guestbook)) {
    await assertReachable(chain, guestbook)
    return knownRelayers(read, chain, guestbook.id)
  }
  const address = getAddress(guestbook.address)
  const { relayer } = chain
  const contract = { abi: guestbookAbi, address, functionName: 'isMinter' } as const
  const may = await ofGuestbook(chain, address, () =>
    Promise.all(chain.relayers.map((one) => chain.client.readContract({ ...contract, args: [one.address] }))),
  )
  const minters = chain.relayers.filter((_, at) => may[at]).map(({ name }) => name)
  if (minters.length > 0) return minters
  throw conflict(
    `This daemon's relayer ${relayer} is not a minter of the guestbook ${address} on chain ${chain.id}, which was deployed elsewhere. Have the contract's owner call setMinter(${relayer}, true), or deploy one from here (POST /events/contracts). Nothing was used up.`,
  )
}

/**
 * For actions reserved to a guestbook's owner. @returns the relayer that is the owner; undefined: the first one
 * @throws DomainError chain_unavailable, conflict
 */
export async function assertOwner(chain: Chain, guestbook: Guestbook): Promise<string | undefined> {
  if (!isForeign(guestbook)) {
    await assertReachable(chain, guestbook)
    return undefined
  }
  const address = getAddress(guestbook.address)
  const { relayer } = chain
  const owner = await ofGuestbook(chain, address, () =>
    chain.client.readContract({ abi: guestbookAbi, address, functionName: 'owner' }),
  )
  const own = chain.relayers.find((one) => one.address === owner)
  if (own) return own.name
  throw conflict(
    `The guestbook ${address} on chain ${chain.id} was deployed elsewhere and belongs to ${owner}, not to this daemon's relayer ${relayer}. Only its owner can pause it. Nothing was changed.`,
  )
}

/** False if the contract does not exist yet. */
export async function eventExists(chain: Chain, contract: string, tokenId: string): Promise<boolean> {
  const address = getAddress(contract)
  try {
    return await readContract(chain, address, () =>
      chain.client.readContract({
        abi: guestbookAbi,
        address,
        functionName: 'eventExists',
        args: [BigInt(tokenId)],
      }),
    )
  } catch (error) {
    if (isRefusal(error)) return false
    throw error
  }
}

/** Refuses before anything is recorded: a 503 means that nothing changed, and nothing goes to an empty address. */
async function assertReachable(chain: Chain, guestbook: Guestbook): Promise<void> {
  await readChain(chain, () => chain.client.getBlockNumber())
  if (guestbook.status === 'confirmed') await assertOurs(chain, guestbook)
}

async function ofGuestbook<T>(chain: Chain, address: Address, read: () => Promise<T>): Promise<T> {
  try {
    return await readContract(chain, address, read)
  } catch (error) {
    const reason = refusalOf(error)
    if (reason === undefined) throw error
    throw conflict(`There is no guestbook contract at ${address} on chain ${chain.id} (${reason}).`)
  }
}
