import { getAddress, isAddress } from 'viem/utils'
import type { Remembered } from '../../store/chip-records.ts'
import type { NewChip } from '../../store/chip-registration.ts'
import { findContractAt } from '../../store/contracts.ts'
import type { Queries } from '../../store/database.ts'
import { findItem } from '../../store/items.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import { ensureTokens, type TokenLocation } from '../../store/tokens.ts'
import type { CheckedChip, Refusal } from './chip-input.ts'
import { chipKeyContext, type KeyRing } from './key-ring.ts'

interface Item {
  variants: ReadonlySet<string>
  isMinting: boolean
}

const neededToBind =
  'and binding a chip to that gives power over it: it takes an admin token of the scope transfer'

/**
 * Looks up a team's items, variants, and contracts for chips to be bound to. It caches them, so it must not outlive
 * the write that it was made in.
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

  /** @returns undefined where a chip can be bound to the item */
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

export interface BoundChip {
  chip: CheckedChip
  token: { contractId: number; tokenId: string } | undefined
}

/** Returns no promise where nothing has to be looked up. */
export function bindChip(bindings: Bindings, chip: CheckedChip): BoundChip | Promise<BoundChip | Refusal> {
  const { item, token } = chip.given
  return item === undefined && token === undefined ? { chip, token: undefined } : lookUp(bindings, chip)
}

async function lookUp(bindings: Bindings, chip: CheckedChip): Promise<BoundChip | Refusal> {
  const { item, variant, token } = chip.given
  const refusal = item === undefined ? undefined : await bindings.refuseItem(item, variant)
  if (refusal) return refusal
  if (!token) return { chip, token: undefined }
  const contractId = await bindings.contractOf(token)
  return typeof contractId === 'number' ? { chip, token: { contractId, tokenId: token.tokenId } } : contractId
}

/** Rows of tokens by tokenKey. */
export type TokenRows = ReadonlyMap<string, number>

const tokenKey = (token: { contractId: number; tokenId: string }) => `${token.contractId}/${token.tokenId}`

/** Creates tokens that are missing. */
export async function tokenRowsOf(trx: Queries, chips: readonly BoundChip[], at: string): Promise<TokenRows> {
  const wanted = chips.flatMap(({ token }) => token ?? [])
  if (wanted.length === 0) return new Map()
  return new Map((await ensureTokens(trx, wanted, at)).map((row) => [tokenKey(row), row.id]))
}

/** @param before what is remembered of it, where it was registered once and removed */
export function chipRow(
  { box, keyRing }: { box: SecretBox; keyRing: KeyRing },
  { chip, token }: BoundChip,
  tokens: TokenRows,
  before: Remembered | undefined,
): NewChip {
  const { uid, family, keySetId, publicKey, fileReadKey, given } = chip
  const generation = Math.max(given.generation ?? 0, before?.generation ?? 0)
  // A chip that was removed and comes back goes on where it was, else its old taps would be good again; only keys
  // of another generation make them worthless by themselves.
  const isDerived = keySetId !== null && keyRing.get(keySetId)?.diversification === 'an10922'
  const goesOn = before !== undefined && !(isDerived && generation !== before.generation)
  return {
    uid,
    family,
    keySetId,
    publicKey,
    fileReadKey: fileReadKey && box.seal(fileReadKey, chipKeyContext(uid)),
    generation,
    lastCounter: Math.max(given.lastCounter ?? -1, goesOn ? before.lastCounter : -1),
    redirectUrl: given.redirectUrl || null,
    itemId: given.item ?? null,
    variantId: given.variant ?? null,
    tokenRow: token ? (tokens.get(tokenKey(token)) ?? null) : null,
    label: given.label ?? null,
  }
}
