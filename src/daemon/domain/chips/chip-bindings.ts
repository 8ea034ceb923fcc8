import { getAddress, isAddress } from 'viem/utils'
import type { Tombstone } from '../../store/chips/chip-records.ts'
import type { NewChip } from '../../store/chips/chip-registration.ts'
import { findItem } from '../../store/chips/items.ts'
import { findContractAt } from '../../store/contracts/contracts.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Queries } from '../../store/database/database.ts'
import { ensureTokens, type TokenLocation } from '../../store/phygitals/tokens.ts'
import type { CheckedChip, Refusal } from './chip-input.ts'
import { chipKeyContext, type KeyRing } from './key-ring.ts'

interface Item {
  variants: ReadonlySet<string>
  isMinting: boolean
}

export const neededToTransfer =
  'requires the scope "transfer", which this credential lacks (ask someone who has the scope "keys" for one that has it)'
const neededToBind = `so binding a chip to it ${neededToTransfer}`

/** Caches the items and contracts of a team that chips are bound to. Use one instance per write. */
export class Bindings {
  readonly #db: Queries
  readonly #teamId: number
  readonly #mayBind: boolean
  readonly #items = new Map<string, Promise<Item | undefined>>()
  readonly #contracts = new Map<string, Promise<number | Refusal>>()

  /** @param mayBind true: the caller may give chips control of tokens and of mints */
  constructor(db: Queries, { teamId, mayBind }: { teamId: number; mayBind: boolean }) {
    this.#db = db
    this.#teamId = teamId
    this.#mayBind = mayBind
  }

  /** @returns undefined if a chip can be bound to the item */
  async refuseItem(item: string, variant: string | undefined): Promise<Refusal | undefined> {
    const pendingItem = this.#items.get(item) ?? this.#itemOf(item)
    this.#items.set(item, pendingItem)
    const known = await pendingItem
    if (!known) return { reason: `item ${item} does not exist in the team. Create it, or correct the ID` }
    if (known.isMinting && !this.#mayBind)
      return { reason: `item ${item} has tokens minted for its chips, ${neededToBind}` }
    const { variants } = known
    if (variant === undefined || variants.has(variant)) return undefined
    const has =
      variants.size > 0 ? `has the variants ${[...variants].slice(0, 20).join(', ')}` : 'has no variants'
    return { reason: `variant ${variant} does not exist: the item ${item} ${has}` }
  }

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
    // Stored by this daemon after validation.
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
        reason: `contractAddress ${address} on chain ${chainId} is not a contract of the team. Register it first: tapchip contracts create`,
      }
    }
    if (contract.kind !== 'phygital') {
      return {
        reason: `contractAddress ${address} on chain ${chainId} is the guestbook contract ${contract.symbol}, not a phygital contract`,
      }
    }
    return contract.id
  }
}

export interface BoundChip {
  chip: CheckedChip
  token: { contractId: number; tokenId: string } | undefined
}

/** Returns synchronously if nothing has to be looked up, because imports call it for every row. */
export function bindChip(bindings: Bindings, chip: CheckedChip): BoundChip | Promise<BoundChip | Refusal> {
  const { item, token } = chip.input
  return item === undefined && token === undefined ? { chip, token: undefined } : lookUp(bindings, chip)
}

async function lookUp(bindings: Bindings, chip: CheckedChip): Promise<BoundChip | Refusal> {
  const { item, variant, token } = chip.input
  const refusal = item === undefined ? undefined : await bindings.refuseItem(item, variant)
  if (refusal) return refusal
  if (!token) return { chip, token: undefined }
  const contractId = await bindings.contractOf(token)
  return typeof contractId === 'number' ? { chip, token: { contractId, tokenId: token.tokenId } } : contractId
}

export type TokenRows = ReadonlyMap<string, number>

const tokenKey = (token: { contractId: number; tokenId: string }) => `${token.contractId}/${token.tokenId}`

export async function tokenRowsOf(
  trx: Queries,
  chips: readonly Pick<BoundChip, 'token'>[],
  at: string,
): Promise<TokenRows> {
  const tokens = chips.flatMap(({ token }) => token ?? [])
  if (tokens.length === 0) return new Map()
  return new Map((await ensureTokens(trx, tokens, at)).map((row) => [tokenKey(row), row.id]))
}

/** @param before the record of the same chip if it was registered before and then removed */
export function chipRow(
  { box, keyRing }: { box: SecretBox; keyRing: KeyRing },
  { chip, token }: BoundChip,
  tokens: TokenRows,
  before: Tombstone | undefined,
): NewChip {
  const { uid, family, keySetId, publicKey, fileReadKey, metaReadKey, input } = chip
  const generation = Math.max(input.generation ?? 0, before?.generation ?? 0)
  // Keeps old taps invalid. If derived keys have a new generation, old taps no longer verify anyway.
  const diversification = keySetId === null ? undefined : keyRing.get(keySetId)?.diversification
  const isDerived = diversification === 'an10922' || diversification === 'boltcard'
  const continues = before !== undefined && !(isDerived && generation !== before.generation)
  return {
    uid,
    family,
    keySetId,
    publicKey,
    fileReadKey: fileReadKey && box.seal(fileReadKey, chipKeyContext(uid)),
    metaReadKey: metaReadKey && box.seal(metaReadKey, chipKeyContext(uid, 'metaRead')),
    generation,
    lastCounter: Math.max(input.lastCounter ?? -1, continues ? before.lastCounter : -1),
    lastTap: before?.lastTap ?? null,
    haloForm: before?.haloForm ?? null,
    catchesUp: continues ? before.catchesUp : 0,
    redirectUrl: input.redirectUrl || null,
    itemId: input.item ?? null,
    variantId: input.variant ?? null,
    tokenRow: token ? (tokens.get(tokenKey(token)) ?? null) : null,
    label: input.label ?? null,
  }
}
