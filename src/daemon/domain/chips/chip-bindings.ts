import { getAddress, isAddress } from 'viem/utils'
import { findContractAt } from '../../store/contracts.ts'
import type { Queries } from '../../store/database.ts'
import { findItem } from '../../store/items.ts'
import type { TokenLocation } from '../../store/tokens.ts'
import type { Refusal } from './chip-input.ts'

interface Item {
  variants: ReadonlySet<string>
  isMinting: boolean
}

const neededToBind =
  'and binding a chip to that gives power over it: it takes an admin token of the scope transfer'

/**
 * What chips of a team can be bound to: its items and their variants, and the tokens of its contracts. Remembers
 * its answers, so it must not outlive the write that it was made in.
 */
export class Bindings {
  readonly #db: Queries
  readonly #teamId: number
  readonly #mayBind: boolean
  readonly #items = new Map<string, Promise<Item | undefined>>()
  readonly #contracts = new Map<string, Promise<number | Refusal>>()

  /** @param mayBind whether whoever asks may give chips power over tokens, and over what is minted */
  constructor(db: Queries, { teamId, mayBind }: { teamId: number; mayBind: boolean }) {
    this.#db = db
    this.#teamId = teamId
    this.#mayBind = mayBind
  }

  /** Why a chip cannot be bound to an item, or undefined where it can. */
  async refuseItem(item: string, variant: string | undefined): Promise<Refusal | undefined> {
    const looked = this.#items.get(item) ?? this.#itemOf(item)
    this.#items.set(item, looked)
    const known = await looked
    if (!known)
      return { reason: `item ${item} is not known: the team has no such item. Create it, or correct the id` }
    if (known.isMinting && !this.#mayBind)
      return { reason: `item ${item} has tokens minted for its chips, ${neededToBind}` }
    const { variants } = known
    if (variant === undefined || variants.has(variant)) return undefined
    const has = variants.size > 0 ? `it has ${[...variants].slice(0, 20).join(', ')}` : 'it has none'
    return { reason: `variant ${variant} is not known: the item ${item} has no such variant (${has})` }
  }

  /** The row of the contract of a token. */
  async contractOf(token: TokenLocation): Promise<number | Refusal> {
    if (!this.#mayBind)
      return { reason: `contractAddress, chainId and tokenId name a token, ${neededToBind}` }
    const key = `${token.chainId}/${token.contractAddress.toLowerCase()}`
    const known = this.#contracts.get(key) ?? this.#findContract(token)
    this.#contracts.set(key, known)
    return known
  }

  async #itemOf(item: string): Promise<Item | undefined> {
    const row = await findItem(this.#db, this.#teamId, item)
    if (!row) return undefined
    // Written by us from validated input.
    const variants: { id: string }[] = JSON.parse(row.variants)
    return { variants: new Set(variants.map(({ id }) => id)), isMinting: row.contractId !== null }
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
