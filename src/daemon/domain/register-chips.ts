import type { Queries } from '../store/database.ts'
import { anyRemembered, chipIdentity, type Remembered } from '../store/removed-chips.ts'
import type { SecretBox } from '../store/secret-box.ts'
import {
  chipsThere,
  ensureTokens,
  insertBareChips,
  insertChips,
  type NewChip,
  rememberedOf,
} from '../store/sqlite-register.ts'
import { Bindings } from './chip-bindings.ts'
import { differenceTo } from './chip-difference.ts'
import { Holders } from './chip-holders.ts'
import { type CheckedChip, type ChipInput, checkChip, type Refusal } from './chip-input.ts'
import { chipKeyPlace, type KeyRing } from './key-ring.ts'

export interface RegisterDeps {
  box: SecretBox
  keyRing: KeyRing
}

/** Where chips are registered. */
export interface Registration {
  teamId: number
  chipGroupId: number
  /** Of the NTAG chips among them; HaLo chips have none. */
  keySetId: number | null
  isSimulated: boolean
  /** ISO 8601 */
  at: string
}

/** What became of a row. `unchanged`: the chip is there already, with all the values that were given. */
export type Registered =
  | { status: 'created' | 'unchanged'; uid: string }
  | { status: 'failed'; uid: string; error: string }

/**
 * Registers chips, each by itself: one that cannot be registered fails alone. The one place where chips come from.
 * @returns a result a chip, in the order of `inputs`
 */
export async function registerChipsIn(
  trx: Queries,
  deps: RegisterDeps,
  registration: Registration,
  inputs: readonly ChipInput[],
): Promise<Registered[]> {
  const results: Registered[] = []
  const checked: { at: number; chip: CheckedChip }[] = []
  for (const [at, input] of inputs.entries()) {
    const chip = checkChip(deps, registration.keySetId, input)
    if ('reason' in chip) results[at] = failed(input.uid ?? '', chip.reason)
    else checked.push({ at, chip })
  }
  const registered = await registerCheckedChips(
    trx,
    deps,
    registration,
    checked.map(({ chip }) => chip),
  )
  for (const [index, { at, chip }] of checked.entries())
    results[at] = registered[index] ?? failed(chip.uid, 'was not reached')
  return results
}

const failed = (uid: string, error: string): Registered => ({ status: 'failed', uid, error })

/** As registerChipsIn, for chips that were checked. Fastest in the order of their UIDs. */
export async function registerCheckedChips(
  trx: Queries,
  deps: RegisterDeps,
  registration: Registration,
  chips: readonly CheckedChip[],
): Promise<Registered[]> {
  const remembered = await recall(trx, chips)
  if (remembered.size === 0 && (await insertAllBare(trx, registration, chips))) {
    return chips.map(({ uid }) => ({ status: 'created', uid }))
  }
  const results = new Map<CheckedChip, Registered>()
  // The second row of a chip is judged by what the first one made of it.
  for (let rest = chips; rest.length > 0; ) {
    const { first, again } = partByUid(rest)
    await registerEachOnce(trx, deps, { registration, remembered }, first, results)
    rest = again
  }
  return chips.map((chip) => results.get(chip) ?? failed(chip.uid, 'was not reached'))
}

/** Supposes that all are new and bare, which most imports are: one statement, and nothing is looked up. */
async function insertAllBare(
  trx: Queries,
  registration: Registration,
  chips: readonly CheckedChip[],
): Promise<boolean> {
  const { keySetId } = registration
  if (keySetId === null || chips.length === 0 || !chips.every((chip) => chip.isBare)) return false
  return insertBareChips(
    trx,
    commonsOf(registration),
    keySetId,
    chips.map((chip) => chip.uid),
  )
}

const commonsOf = ({ teamId, chipGroupId, isSimulated, at }: Registration) => ({
  teamId,
  chipGroupId,
  simulated: isSimulated ? (1 as const) : (0 as const),
  createdAt: at,
})

async function recall(trx: Queries, chips: readonly CheckedChip[]): Promise<Map<string, Remembered>> {
  if (!(await anyRemembered(trx))) return new Map()
  const rows = await rememberedOf(trx, chips.map(chipIdentity))
  return new Map(rows.map((row) => [row.identity, row]))
}

function partByUid(chips: readonly CheckedChip[]): { first: CheckedChip[]; again: CheckedChip[] } {
  const seen = new Set<string>()
  const first: CheckedChip[] = []
  const again: CheckedChip[] = []
  for (const chip of chips) {
    if (seen.has(chip.uid)) again.push(chip)
    else first.push(chip)
    seen.add(chip.uid)
  }
  return { first, again }
}

async function registerEachOnce(
  trx: Queries,
  deps: RegisterDeps,
  { registration, remembered }: { registration: Registration; remembered: ReadonlyMap<string, Remembered> },
  chips: readonly CheckedChip[],
  results: Map<CheckedChip, Registered>,
): Promise<void> {
  const { teamId, at } = registration
  const there = new Map(
    (
      await chipsThere(
        trx,
        chips.map(({ uid }) => uid),
      )
    ).map((row) => [row.uid, row]),
  )
  const bindings = new Bindings(trx, teamId)
  const holders = await Holders.of(trx, teamId, chips)
  const bound: BoundChip[] = []
  for (const chip of chips) {
    const row = there.get(chip.uid)
    if (row) {
      const difference = differenceTo(deps.box, registration, chip, row)
      const { uid } = chip
      results.set(chip, difference === undefined ? { status: 'unchanged', uid } : failed(uid, difference))
      continue
    }
    const binding = await bind(bindings, chip)
    const refusal = 'reason' in binding ? binding : holders.claim(chip)
    if (refusal) results.set(chip, failed(chip.uid, refusal.reason))
    else if ('chip' in binding) bound.push(binding)
  }
  if (bound.length === 0) return
  const tokens = await tokenRows(trx, bound, at)
  const rows = bound.map((one) => rowOf(deps, one, tokens, remembered.get(chipIdentity(one.chip))))
  await insertChips(trx, commonsOf(registration), rows)
  for (const { chip } of bound) results.set(chip, { status: 'created', uid: chip.uid })
}

/** A chip all of whose bindings exist. */
interface BoundChip {
  chip: CheckedChip
  token: { contractId: number; tokenId: string } | undefined
}

async function bind(bindings: Bindings, chip: CheckedChip): Promise<BoundChip | Refusal> {
  const { item, variant, token } = chip.given
  const refusal = item === undefined ? undefined : await bindings.refuseItem(item, variant)
  if (refusal) return refusal
  if (!token) return { chip, token: undefined }
  const contractId = await bindings.contractOf(token)
  return typeof contractId === 'number' ? { chip, token: { contractId, tokenId: token.tokenId } } : contractId
}

const tokenKey = (token: { contractId: number; tokenId: string }) => `${token.contractId}/${token.tokenId}`

async function tokenRows(
  trx: Queries,
  chips: readonly BoundChip[],
  at: string,
): Promise<Map<string, number>> {
  const wanted = chips.flatMap(({ token }) => token ?? [])
  if (wanted.length === 0) return new Map()
  return new Map((await ensureTokens(trx, wanted, at)).map((row) => [tokenKey(row), row.id]))
}

function rowOf(
  { box, keyRing }: RegisterDeps,
  { chip, token }: BoundChip,
  tokens: ReadonlyMap<string, number>,
  before: Remembered | undefined,
): NewChip {
  const { uid, family, keySetId, publicKey, fileReadKey, given } = chip
  const generation = Math.max(given.generation ?? 0, before?.generation ?? 0)
  // A chip that was removed and comes back goes on where it was, else its old taps would be good again; only keys
  // of another generation make them worthless by themselves.
  const hasNewKey =
    keySetId !== null &&
    keyRing.get(keySetId)?.diversification === 'an10922' &&
    generation !== before?.generation
  const goesOn = before !== undefined && !hasNewKey
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
