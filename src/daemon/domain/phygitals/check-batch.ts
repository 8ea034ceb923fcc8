import { type Address, getAddress, isAddressEqual } from 'viem'
import type { Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import { RecipientInvalid } from '../../chain/names/resolver.ts'
import { storedCalls } from '../../chain/relayer/contract-call.ts'
import { type PendingMove, tokenKey, tokensUnderWay } from '../../store/chain/listing.ts'
import { findContractAt } from '../../store/contracts/contracts.ts'
import type { Db } from '../../store/database/database.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { budgetLeft } from '../chain/budget.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import { type Names, resolveRecipient } from '../chain/recipients.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import type { BudgetClock } from '../time/time.ts'
import { type ChainTotals, Costs } from './batch-costs.ts'
import { chipOfTeam, isChip, mapConcurrently, type RowTarget } from './batch-row.ts'
import { assertUsable, checkMove } from './check-move.ts'
import { futureTokenOf } from './mint-token.ts'
import { locationOf, type Target, targetOf, tokenInfoOf, tokenOfTeam } from './target.ts'

interface MoveRequest {
  row: number
  target: RowTarget
  recipient: string
}

/** `tokenId` is null if the token has not been minted yet. */
export type CurrentToken = Omit<TokenLocation, 'tokenId'> & { tokenId: string | null }

export type CheckedMove =
  | {
      row: number
      status: 'transfer' | 'mint' | 'unchanged'
      token: CurrentToken
      /** After any pending transfer. */
      owner: string | null
      recipient: string
      note?: string
    }
  /** `invalid`: can never succeed; `refused`: not in the current state. */
  | {
      row: number
      status: 'refused' | 'invalid'
      token?: CurrentToken
      owner?: string | null
      recipient?: never
      error: string
    }

type CheckDeps = { db: Db; chains: Chains; names: Names; clock: BudgetClock }
type Pricing = { teamId: number; feeCap: (chainId: number) => bigint | undefined }

const batchSize = 200

/** A dry run, with the total cost at the end. @param feeCap wei per gas; the relayer's maximum */
export async function* checkMoves(
  deps: CheckDeps,
  pricing: Pricing,
  rows: AsyncIterable<MoveRequest>,
): AsyncGenerator<CheckedMove | MoveCosts> {
  const costs = new BatchCosts(deps)
  for await (const move of checkEachMove(deps, pricing.teamId, rows)) {
    await costs.add(move)
    yield move
  }
  yield costs.totals(pricing)
}

/** @throws DomainError chain_unavailable */
export function checkEachMove(
  deps: CheckDeps,
  teamId: number,
  rows: AsyncIterable<MoveRequest> | Iterable<MoveRequest>,
): AsyncGenerator<CheckedMove> {
  const check = new Check(deps, teamId)
  return mapConcurrently(rows, batchSize, (row) => check.row(row))
}

/** @throws DomainError chain_unavailable */
export const checkOneMove = (deps: CheckDeps, teamId: number, row: MoveRequest): Promise<CheckedMove> =>
  new Check(deps, teamId).row(row)

/** `budget` is present if the team's budget is too small. */
export interface MoveCosts {
  totals: ChainTotals[]
  budget?: RemainingBudget
}

interface PricedMove {
  readonly status: string
  readonly token?: CurrentToken | undefined
  readonly recipient?: string | undefined
}

/** Sums up the cost of checked transfers. */
export class BatchCosts {
  readonly #deps: CheckDeps
  readonly #costs: Costs
  /** The next token ID, by contract, for tokens that are yet to be minted. */
  readonly #nextIds = new Map<number, Promise<string>>()
  readonly #contracts = new Map<string, Promise<ContractRow>>()
  /** @param inGroups mints share transactions */
  constructor(deps: CheckDeps, inGroups = false) {
    this.#deps = deps
    this.#costs = new Costs(deps.chains, inGroups)
  }

  /** @throws DomainError chain_unavailable */
  async add(move: PricedMove): Promise<void> {
    const { token, recipient, status } = move
    if ((status !== 'transfer' && status !== 'mint') || !token || recipient === undefined) return
    const contract = await this.#contractOf(token)
    const tokenId = token.tokenId ?? (await this.#nextId(contract))
    const call = status === 'mint' ? 'mintNFT' : 'claimNFT'
    this.#costs.add({ ...token, tokenId }, recipient, call, storedCalls(contract.calls))
  }

  /** @throws DomainError chain_unavailable */
  async totals({ teamId, feeCap }: Pricing): Promise<MoveCosts> {
    const totals = await this.#costs.totals(feeCap)
    const budget = await remainingBudget(this.#deps, teamId, totals, await this.#costs.charged())
    return { totals, ...(budget && { budget }) }
  }

  #contractOf({ chainId, contractAddress }: CurrentToken): Promise<ContractRow> {
    return memoized(this.#contracts, `${chainId}/${contractAddress}`, async () => {
      const contract = await findContractAt(this.#deps.db.read, chainId, contractAddress)
      if (!contract) throw notFound('contract')
      return contract
    })
  }

  #nextId(contract: ContractRow): Promise<string> {
    return memoized(
      this.#nextIds,
      contract.id,
      async () => (await futureTokenOf(this.#deps, contract)).tokenId,
    )
  }
}

/** A team's remaining budget for today; null: unlimited. */
interface RemainingBudget {
  transactionsLeft: number | null
  gasLeft: number | null
}

/** @returns undefined if it is enough */
async function remainingBudget(
  { db, chains, clock }: CheckDeps,
  teamId: number,
  totals: readonly ChainTotals[],
  needed: { transactions: number; gas: number },
): Promise<RemainingBudget | undefined> {
  const isFree = totals.every(({ chainId }) => chains.get(chainId).isEmbedded)
  const { transactions, gas } = await budgetLeft(db.read, { teamId, isFree, settled: clock.confirmedTime() })
  const isEnough =
    (transactions === null || needed.transactions <= transactions) && (gas === null || needed.gas <= gas)
  return isEnough ? undefined : { transactionsLeft: transactions, gasLeft: gas }
}

/** Caches lookups for one request. */
class Check {
  readonly #deps: CheckDeps
  readonly #teamId: number
  readonly #recipients = new Map<string, Promise<string>>()
  readonly #codes = new Map<string, Promise<boolean>>()
  readonly #underWay = new Map<number, Promise<ReadonlyMap<string, PendingMove>>>()
  constructor(deps: CheckDeps, teamId: number) {
    this.#deps = deps
    this.#teamId = teamId
  }

  async row(move: MoveRequest): Promise<CheckedMove> {
    const { row } = move
    let seen: { token?: CurrentToken; owner?: string | null } = {}
    try {
      const target = await this.#targetOf(move.target)
      const location = tokenInfoOf(target)
      const token = { ...locationOf(location), tokenId: 'token' in target ? location.tokenId : null }
      seen = { token }
      const recipient = await this.#recipient(location.chainId, move.recipient)
      const chain = chainOf(this.#deps.chains, location.chainId)
      const contract = getAddress(location.contractAddress)
      // Read before the owner, so that a transfer that settles in between appears in one of the two.
      const pending = (await this.#tokensUnderWay(location.chainId)).get(tokenKey(location))
      const isDeployed = location.contractStatus === 'confirmed' && location.contractTransactionId !== null
      const ownerNow =
        token.tokenId === null
          ? undefined
          : await readChain(chain, () =>
              ownerOf(chain.client, contract, BigInt(location.tokenId), { isDeployed }),
            )
      const owner = pending?.recipient ?? ownerNow
      seen = { token, owner: owner ?? null }
      const result = { row, token, owner: owner ?? null, recipient }
      const isKnown = pending === undefined || pending.recipient !== undefined
      if (owner !== undefined && isKnown && isAddressEqual(getAddress(owner), getAddress(recipient))) {
        const note = pending && `already under way: transaction ${pending.transactionId}`
        return { ...result, status: 'unchanged', ...(note === undefined ? {} : { note }) }
      }
      // Our own contract needs no simulation for recipients without code.
      if (
        location.contractTransactionId === null ||
        (await this.#hasCode(location.chainId, getAddress(recipient)))
      )
        await checkMove(this.#deps, location, recipient)
      else await assertUsable(chain, location)
      const isMint = ownerNow === undefined && pending === undefined
      return { ...result, status: isMint ? 'mint' : 'transfer' }
    } catch (error) {
      // An unreachable chain is not the row's fault.
      if (!(error instanceof DomainError) || error.code === 'chain_unavailable') throw error
      const isInvalid = error.code === 'recipient_invalid' && error.detail.cause instanceof RecipientInvalid
      return { row, status: isInvalid ? 'invalid' : 'refused', ...seen, error: error.message }
    }
  }

  async #targetOf(target: RowTarget): Promise<Target> {
    if (!isChip(target)) return { token: await tokenOfTeam(this.#deps, this.#teamId, target) }
    return targetOf(this.#deps, await chipOfTeam(this.#deps, this.#teamId, target.uid))
  }

  #recipient(chainId: number, text: string): Promise<string> {
    return memoized(this.#recipients, `${chainId}/${text}`, () =>
      resolveRecipient(this.#deps, { team: this.#teamId }, chainId, text),
    )
  }

  #hasCode(chainId: number, address: Address): Promise<boolean> {
    return memoized(this.#codes, `${chainId}/${address}`, async () => {
      const chain = chainOf(this.#deps.chains, chainId)
      return (await readChain(chain, () => chain.client.getCode({ address }))) !== undefined
    })
  }

  #tokensUnderWay(chainId: number): Promise<ReadonlyMap<string, PendingMove>> {
    return memoized(this.#underWay, chainId, () => tokensUnderWay(this.#deps.db.read, chainId))
  }
}

function memoized<K, T>(known: Map<K, Promise<T>>, key: K, ask: () => Promise<T>): Promise<T> {
  const pending = known.get(key) ?? ask()
  known.set(key, pending)
  return pending
}
