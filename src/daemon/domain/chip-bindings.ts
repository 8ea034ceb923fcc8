import { getAddress, isAddress } from 'viem/utils'
import { findContractAt } from '../store/contracts.ts'
import type { Queries } from '../store/database.ts'
import { findItem } from '../store/items.ts'
import type { TokenLocation } from '../store/tokens.ts'
import type { Refusal } from './chip-input.ts'

/**
 * What chips of a team can be bound to: its items and their variants, and the tokens of its contracts. Remembers
 * its answers, so it must not outlive the write that it was made in.
 */
export class Bindings {
  readonly #db: Queries
  readonly #teamId: number
  readonly #items = new Map<string, Promise<ReadonlySet<string> | undefined>>()
  readonly #contracts = new Map<string, Promise<number | Refusal>>()

  constructor(db: Queries, teamId: number) {
    this.#db = db
    this.#teamId = teamId
  }

  /** Why a chip cannot be bound to an item, or undefined where it can. */
  async refuseItem(item: string, variant: string | undefined): Promise<Refusal | undefined> {
    const known = this.#items.get(item) ?? this.#variantsOf(item)
    this.#items.set(item, known)
    const variants = await known
    if (!variants)
      return { reason: `item ${item} is not known: the team has no such item. Create it, or correct the id` }
    if (variant === undefined || variants.has(variant)) return undefined
    const has = variants.size > 0 ? `it has ${[...variants].slice(0, 20).join(', ')}` : 'it has none'
    return { reason: `variant ${variant} is not known: the item ${item} has no such variant (${has})` }
  }

  /** The row of the contract of a token. */
  async contractOf(token: TokenLocation): Promise<number | Refusal> {
    const key = `${token.chainId}/${token.contractAddress.toLowerCase()}`
    const known = this.#contracts.get(key) ?? this.#findContract(token)
    this.#contracts.set(key, known)
    return known
  }

  async #variantsOf(item: string): Promise<ReadonlySet<string> | undefined> {
    const row = await findItem(this.#db, this.#teamId, item)
    if (!row) return undefined
    // Written by us from validated input.
    const variants: { id: string }[] = JSON.parse(row.variants)
    return new Set(variants.map(({ id }) => id))
  }

  async #findContract({ contractAddress, chainId }: TokenLocation): Promise<number | Refusal> {
    const lower = contractAddress.toLowerCase()
    if (!isAddress(lower)) return { reason: 'contractAddress must be an address: 0x and 40 hex digits' }
    const address = getAddress(lower)
    const contract = await findContractAt(this.#db, chainId, address)
    if (contract?.teamId !== this.#teamId) {
      return {
        reason: `contractAddress ${address} on chain ${chainId} is no contract of the team. Register it first: tapchip contracts create`,
      }
    }
    if (contract.kind !== 'phygital') {
      return {
        reason: `contractAddress ${address} on chain ${chainId} is a guestbook's (${contract.symbol}), not one of phygitals`,
      }
    }
    return contract.id
  }
}
