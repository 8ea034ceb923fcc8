import { getAddress } from 'viem'
import type { Chain, Chains } from '../../chain/chains.ts'
import { phygitalAt } from '../../chain/contract-state.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { changeContract } from '../../store/contracts/contracts.ts'
import type { Db } from '../../store/database/database.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { announceCollection } from '../chain/announcements.ts'
import { recordForTeam } from '../chain/budget.ts'
import { chainOf, isServed, readChain, withinTimeout } from '../chain/read-chain.ts'
import { type Names, resolveRecipient } from '../chain/recipients.ts'
import { newRoyalty, type Royalty } from '../chain/royalty.ts'
import { conflict, DomainError, invalid } from '../errors/errors.ts'
import { type BudgetClock, iso } from '../time/time.ts'
import { type CollectionColumns, contractIn, type TwoTap, twoTapColumns } from './contracts.ts'
import { phygitalCode } from './deployed.ts'

const texts = ['description', 'image', 'banner', 'externalLink'] as const

/** What marketplaces show of a collection. Null or empty: nothing; absent: as it is. */
export type CollectionFields = { [name in (typeof texts)[number]]?: string | null | undefined } & {
  /** In hundredths; 0: no royalty. */
  royaltyPercent?: number | undefined
  /** An address or a name. */
  royaltyTo?: string | undefined
}

const noRoyalty: Royalty = { royaltyBasisPoints: null, royaltyReceiver: null }

/** @param receiver of the royalty, if given @param before the contract's royalty @throws DomainError invalid_input */
export function collectionColumns(
  fields: CollectionFields,
  receiver: string | undefined,
  before = noRoyalty,
): Partial<CollectionColumns> {
  const columns: Partial<CollectionColumns> = {}
  for (const name of texts) if (fields[name] !== undefined) columns[name] = fields[name] || null
  const { royaltyPercent } = fields
  if (royaltyPercent === 0) return { ...columns, ...noRoyalty }
  if (royaltyPercent === undefined && receiver === undefined) return columns
  const royaltyBasisPoints = royaltyPercent ?? before.royaltyBasisPoints
  const royaltyReceiver = receiver ?? before.royaltyReceiver
  if (royaltyBasisPoints === null)
    throw invalid('royaltyPercent', 'is required, since there is no royalty yet')
  if (royaltyReceiver === null) throw invalid('royaltyTo', 'is required, since there is no royalty yet')
  return { ...columns, royaltyBasisPoints, royaltyReceiver }
}

/** EIP-55; undefined if none is given. @throws DomainError recipient_invalid, chain_unavailable */
export const receiverOf = async (
  { names }: { names: Names },
  { teamId, chainId }: Pick<ContractRow, 'teamId' | 'chainId'>,
  { royaltyTo }: CollectionFields,
): Promise<string | undefined> =>
  royaltyTo && resolveRecipient({ names }, { team: teamId }, chainId, royaltyTo, 'royaltyTo')

/** A transaction sets the royalty; the rest is served. @throws DomainError not_found, conflict, invalid_input */
export async function editContract(
  deps: { db: Db; clock: BudgetClock; chains: Chains; names: Names },
  { actor, id }: { actor: Actor; id: number },
  { twoTap, ...fields }: CollectionFields & { twoTap?: TwoTap | null | undefined },
): Promise<{ contract: ContractRow; transactionId: number | null; warnings: string[] }> {
  if ([twoTap, ...Object.values(fields)].every((value) => value === undefined))
    throw new DomainError('invalid_input', 'Specify what to change: twoTap, the royalty, or what is shown.')
  const known = await contractIn(deps.db.read, actor, id)
  if (twoTap !== undefined && known.kind !== 'phygital')
    throw conflict(`${known.symbol} is a guestbook contract, which has no second tap.`)
  const setsRoyalty = fields.royaltyPercent !== undefined || fields.royaltyTo !== undefined
  const chain = setsRoyalty ? await royaltyChain(deps.chains, known) : undefined
  const receiver = await receiverOf(deps, known, fields)
  const isShown = known.status === 'confirmed' && texts.some((name) => fields[name] !== undefined)
  const silence = isShown ? await whyNotAnnounced(deps.chains, known) : undefined
  const edited = await deps.db.write(async (trx) => {
    const before = await contractIn(trx, actor, id)
    const columns = collectionColumns(fields, receiver, before)
    const change = { ...columns, ...(twoTap === undefined ? {} : twoTapColumns(twoTap)) }
    if (!(await changeContract(trx, id, change)))
      return { contract: before, transactionId: null, warnings: [] }
    const contract = { ...before, ...change }
    const intent = chain && newRoyalty(contract, before)
    const transactionId = intent ? await recordForTeam(trx, deps.clock, intent, chain) : null
    // Setting the royalty announces all of it.
    if (isShown && silence === undefined && !intent) await announceCollection(trx, deps, contract)
    await recordChange(trx, {
      at: iso(deps.clock.now()),
      actor,
      teamId: contract.teamId,
      action: 'contracts.edit',
      target: contract.symbol,
      detail: {
        ...columns,
        ...(twoTap === undefined ? {} : { twoTap }),
        ...(intent ? { transaction: transactionId } : {}),
      },
    })
    return { contract, transactionId, warnings: silence === undefined ? [] : [silence] }
  })
  deps.chains.relayer.wake()
  return edited
}

/** @throws DomainError conflict if it takes no royalty from here, chain_not_configured, chain_unavailable */
async function royaltyChain(chains: Chains, contract: ContractRow): Promise<Chain> {
  const { symbol, kind, status, address, chainId } = contract
  const refused = (why: string) => conflict(`${symbol} ${why} Nothing was changed.`)
  if (kind === 'guestbook') throw refused('is a guestbook contract, which has no royalty.')
  if (status === 'pending') throw refused('is not deployed yet. Set its royalty when it is.')
  const chain = chainOf(chains, chainId)
  const state = await readChain(chain, () => phygitalAt(chain.client, getAddress(address)))
  if (!state.isOurCode)
    throw refused('was not deployed by Tapchip, so only its own functions can set a royalty.')
  if (!state.isCurrent)
    throw refused(
      `was deployed by an earlier version, whose contracts have no royalty (ERC-2981). Its owner ${state.owner} can set one for ${address} in the Royalty Registry (royaltyregistry.xyz), which marketplaces read as well. Contracts that are deployed now can have one.`,
    )
  if (state.owner !== chain.relayer)
    throw refused(
      `belongs to ${state.owner}, who has to call setRoyalty(receiver, hundredths of a percent) on ${address}.`,
    )
  return chain
}

/** @throws DomainError chain_unavailable */
async function whyNotAnnounced(
  chains: Chains,
  { symbol, kind, address, chainId, transactionId }: ContractRow,
): Promise<string | undefined> {
  if (transactionId === null || !isServed(chains, chainId))
    return `${symbol} is not announced from here, so marketplaces see the change when they next read it.`
  if (kind === 'phygital' && (await phygitalCode(chains.get(chainId), address)).isCurrent) return undefined
  return `${symbol} cannot announce this change by itself. To announce all of its metadata: tapchip contracts set-url ${symbol} --force`
}

/** What our contracts can do that earlier ones cannot. Null: unknown. Never throws. */
export async function featuresOf(
  { chains }: { chains: Chains },
  { kind, status, address, chainId }: ContractRow,
): Promise<('royalty' | 'group-mints')[] | null> {
  if (kind === 'guestbook') return []
  if (status === 'pending' || !chains.has(chainId)) return null
  const code = await withinTimeout(phygitalCode(chains.get(chainId), address), undefined)
  if (!code?.isOurCode) return null
  return code.isCurrent ? ['royalty', 'group-mints'] : []
}
