import type { NewChip } from '../../store/chip-registration.ts'
import type { Queries } from '../../store/database.ts'
import type { Remembered } from '../../store/removed-chips.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import { ensureTokens } from '../../store/tokens.ts'
import type { Bindings } from './chip-bindings.ts'
import type { CheckedChip, Refusal } from './chip-input.ts'
import { chipKeyPlace, type KeyRing } from './key-ring.ts'

/** A chip all of whose bindings exist. */
export interface BoundChip {
  chip: CheckedChip
  token: { contractId: number; tokenId: string } | undefined
}

/** Not a promise where nothing needs looking up. */
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

/** The rows of the tokens that chips are linked to, made where they are missing. */
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
    fileReadKey: fileReadKey && box.seal(fileReadKey, chipKeyPlace(uid)),
    generation,
    lastCounter: Math.max(given.lastCounter ?? -1, goesOn ? before.lastCounter : -1),
    redirectUrl: given.redirectUrl || null,
    itemId: given.item ?? null,
    variantId: given.variant ?? null,
    tokenRow: token ? (tokens.get(tokenKey(token)) ?? null) : null,
    label: given.label ?? null,
  }
}
