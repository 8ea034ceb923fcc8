import { type Address, getAddress, isAddressEqual } from 'viem'
import type { Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import { RecipientInvalid } from '../../chain/names/resolver.ts'
import { type PendingMove, tokenKey, tokensUnderWay } from '../../store/chain/listing.ts'
import type { Db } from '../../store/database/database.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import { type Names, resolveRecipient } from '../chain/recipients.ts'
import { DomainError } from '../errors/errors.ts'
import type { BudgetClock } from '../time/time.ts'
import { BatchCosts, type MoveCosts, type Pricing } from './batch-costs.ts'
import { type CurrentToken, chipOfTeam, isChip, mapConcurrently, type RowTarget } from './batch-row.ts'
import { assertUsable, checkMove } from './check-move.ts'
import { locationOf, type Target, targetOf, tokenInfoOf, tokenOfTeam } from './target.ts'

interface MoveRequest {
  row: number
  target: RowTarget
  recipient: string
}

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
