import { getAddress, isAddress } from 'viem/utils'
import { devChainId } from '../../chain/dev-chain/dev-keys.ts'
import { type ContractCalls, callText, storedCalls } from '../../chain/relayer/contract-call.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import {
  contractsOfTeam,
  contractUses,
  deleteContract,
  findContract,
  findContractAt,
  findContractOfSymbol,
  insertContract,
} from '../../store/contracts/contracts.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ContractRow, TeamRow } from '../../store/schema/schema.ts'
import { assertTeamIn } from '../access/teams.ts'
import { alreadyExists, conflict, type DomainError, inUse, invalid, ownOf } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { futureAddress } from './contract-address.ts'
import { contractCallsOf, type NewCalls } from './contract-calls.ts'
import { baseUriOf } from './service-url.ts'

export interface NewContract {
  kind: ContractRow['kind']
  symbol: string
  name: string
  chainId: number
  /** The address of an existing contract, in any case; absent: to be deployed. */
  address?: string | undefined
  twoTap?: TwoTap | null | undefined
  calls?: ContractCalls | undefined
  collection?: Partial<CollectionColumns> | undefined
}

/** What marketplaces show. */
export type CollectionColumns = Pick<
  ContractRow,
  'description' | 'image' | 'banner' | 'externalLink' | 'royaltyBasisPoints' | 'royaltyReceiver'
>

export interface TwoTap {
  delaySeconds: number
  windowSeconds: number
}

/** Null: one tap is enough. */
export const twoTapColumns = (twoTap: TwoTap | null | undefined) => ({
  twoTapDelaySeconds: twoTap?.delaySeconds ?? null,
  twoTapWindowSeconds: twoTap?.windowSeconds ?? null,
})

export type { ContractRow }

interface Deps {
  db: Db
  clock: Clock
}

export const listContracts = ({ db }: { db: Pick<Db, 'read'> }, teamId: number): Promise<ContractRow[]> =>
  contractsOfTeam(db.read, teamId)

/** False if the address is still unknown: except on the embedded chain, it depends on the chain's keys. */
export const isPlaced = (
  { config }: { config: { chains: readonly { chainId: number }[] } },
  { chainId, status }: Pick<ContractRow, 'chainId' | 'status'>,
): boolean =>
  status === 'confirmed' || chainId === devChainId || config.chains.some((chain) => chain.chainId === chainId)

/** An address with its checksum; the case of the input is ignored. @throws DomainError invalid_input */
export function contractAddress(text: string): string {
  const lower = text.toLowerCase()
  if (!isAddress(lower)) throw invalid('address', 'must be an address: 0x and 40 hex digits')
  if (/^0x0+$/.test(lower)) throw invalid('address', 'must not be the zero address')
  return getAddress(lower)
}

/** A step of a larger write. @throws DomainError already_exists, invalid_input */
export async function createContractIn(
  trx: Queries,
  team: Pick<TeamRow, 'id' | 'name'>,
  fields: NewContract,
  at: string,
): Promise<ContractRow> {
  const { kind, symbol, name, chainId, twoTap, calls } = fields
  const address =
    fields.address === undefined
      ? futureAddress({ chainId, team: team.name, symbol })
      : contractAddress(fields.address)
  if (await findContractOfSymbol(trx, team.id, symbol)) {
    throw alreadyExists(`The team "${team.name}" already has a contract with the symbol ${symbol}.`)
  }
  if (await findContractAt(trx, chainId, address)) {
    throw alreadyExists(`The contract ${address} on chain ${chainId} is already registered.`)
  }
  return insertContract(trx, {
    teamId: team.id,
    kind,
    symbol,
    name,
    chainId,
    address,
    status: fields.address === undefined ? 'pending' : 'confirmed',
    ...twoTapColumns(twoTap),
    calls: calls === undefined ? null : JSON.stringify(calls),
    ...fields.collection,
    createdAt: at,
  })
}

/** Registers an existing token contract. @throws DomainError already_exists, invalid_input */
export async function registerContract(
  { db, clock, baseUrl }: Deps & { baseUrl: string },
  caller: { team: TeamRow; actor: Actor },
  { abi, transfer, mint, ...fields }: Omit<NewContract, 'kind' | 'address'> & { address: string } & NewCalls,
): Promise<ContractRow> {
  const at = iso(clock.now())
  const address = contractAddress(fields.address)
  const calls = contractCallsOf({ abi, transfer, mint }, baseUriOf(baseUrl, { ...fields, address }))
  const { team, actor } = caller
  return db.write(async (trx) => {
    await assertTeamIn(trx, team.id)
    const contract = await createContractIn(trx, team, { ...fields, calls, kind: 'phygital' }, at)
    const { symbol, chainId } = contract
    const functions = calls && { transfer: transfer ?? null, mint: mint ?? null }
    const detail = { chainId, address, twoTap: fields.twoTap ?? null, ...functions }
    await recordChange(trx, {
      at,
      actor,
      teamId: team.id,
      action: 'contracts.create',
      target: symbol,
      detail,
    })
    return contract
  })
}

/** The contract's own functions, as they were given. */
export function functionsOf({ calls }: Pick<ContractRow, 'calls'>) {
  const { transfer = null, mint = null } = storedCalls(calls) ?? {}
  return { transfer: callText(transfer), mint: callText(mint) }
}

/** @throws DomainError not_found */
export const contractIn = async (
  db: Queries,
  of: { readonly ofTeam?: number | undefined },
  id: number,
): Promise<ContractRow> => ownOf(of, await findContract(db, id), 'contract')

/** Only if not deployed from here and not in use. @throws DomainError not_found, conflict, in_use */
export async function removeContract(
  { db, clock }: { db: Db; clock: Clock },
  { actor, id }: { actor: Actor; id: number },
): Promise<void> {
  await db.write(async (trx) => {
    const contract = await contractIn(trx, actor, id)
    if (contract.transactionId !== null) throw alreadyOurs(contract)
    const uses = Object.entries(await contractUses(trx, id)).filter(([, count]) => count > 0)
    if (uses.length > 0)
      throw inUse(
        `${contract.symbol} is in use: ${uses.map(([what, count]) => `${words[what]} (${count})`).join(', ')}. Remove these first.`,
      )
    await deleteContract(trx, id)
    const { teamId, symbol, kind, name, chainId, address } = contract
    await recordChange(trx, {
      at: iso(clock.now()),
      actor,
      teamId,
      action: 'contracts.delete',
      target: symbol,
      detail: { kind, name, chainId, address },
    })
  })
}

const words: Record<string, string> = {
  chips: 'chips with its tokens',
  items: 'items that mint on it',
  events: 'events',
  assignments: 'assignments to its tokens',
  transactions: 'transactions under way to it',
}

function alreadyOurs({ symbol, status, transactionId }: ContractRow): DomainError {
  return conflict(
    status === 'pending'
      ? `${symbol} is being deployed. Cancel that first if it has not been sent: tapchip transactions cancel ${transactionId}.`
      : `${symbol} was deployed from here and stays on its chain. Nothing was removed.`,
  )
}
