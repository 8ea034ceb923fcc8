import { AesKey } from '../../../nfc/ntag424/cmac.ts'
import { findChipGroup } from '../../store/chips/chip-groups.ts'
import { chipIdentity, hasTombstones, rememberedOf, type Tombstone } from '../../store/chips/chip-records.ts'
import { existingChips, insertBareChips, insertChips } from '../../store/chips/chip-registration.ts'
import type { ChipWithToken } from '../../store/chips/chips.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { noteChange } from '../../store/database/changes.ts'
import type { Queries } from '../../store/database/database.ts'
import { Bindings, type BoundChip, bindChip, chipRow, tokenRowsOf } from './chip-bindings.ts'
import { differenceTo, Holders } from './chip-conflicts.ts'
import { type CheckedChip, type ChipInput, checkChip } from './chip-input.ts'
import type { KeyRing } from './key-ring.ts'
import { tooManyMetaKeys, withoutRoom } from './own-meta-keys.ts'

export interface RegisterDeps {
  box: SecretBox
  keyRing: KeyRing
}

export interface Registration {
  teamId: number
  chipGroupId: number
  /** The key set of NTAG chips; HaLo chips have none. */
  keySetId: number | null
  isSimulated: boolean
  /** True: the caller may bind chips to tokens and to items whose tokens are minted. */
  mayBind: boolean
  /** ISO 8601 */
  at: string
  /** The batch of an import. */
  batch?: string | undefined
}

/** `unchanged`: the chip is already registered with all given values. */
export type RegisterResult =
  | { status: 'created' | 'unchanged'; uid: string }
  | { status: 'failed'; uid: string; error: string }

/** Chips fail independently. @returns one result per chip, in the order of `inputs` */
export async function registerChipsIn(
  trx: Queries,
  deps: RegisterDeps,
  registration: Registration,
  inputs: readonly ChipInput[],
): Promise<RegisterResult[]> {
  const checked = inputs.map((input) => checkChip(deps, registration.keySetId, input))
  const chips = checked.filter((chip): chip is CheckedChip => !('reason' in chip))
  const registered = await registerCheckedChips(trx, deps, registration, chips)
  const results = new Map(chips.map((chip, index) => [chip, registered[index]]))
  return checked.map((chip, index) =>
    'reason' in chip ? failed(inputs[index]?.uid ?? '', chip.reason) : (results.get(chip) ?? unreached(chip)),
  )
}

const failed = (uid: string, error: string): RegisterResult => ({ status: 'failed', uid, error })
const unreached = ({ uid }: CheckedChip): RegisterResult => failed(uid, 'was not reached')

/** Fastest if sorted by UID. */
export async function registerCheckedChips(
  trx: Queries,
  deps: RegisterDeps,
  registration: Registration,
  chips: readonly CheckedChip[],
): Promise<RegisterResult[]> {
  if (chips.length === 0) return []
  const withOwn = chips.filter(({ metaReadKey }) => metaReadKey)
  if (withOwn.length > 0) {
    await noteChange(trx, 'keySets')
    const tooMany = await withoutRoom(trx, withOwn)
    if (tooMany.size > 0) {
      const rest = chips.filter((chip) => !tooMany.has(chip))
      const done = (await registerCheckedChips(trx, deps, registration, rest)).values()
      return chips.map((chip) =>
        tooMany.has(chip) ? failed(chip.uid, tooManyMetaKeys) : (done.next().value ?? unreached(chip)),
      )
    }
  }
  const work: RegisterContext = {
    trx,
    deps,
    registration,
    tombstones: await findTombstones(trx, deps, chips),
  }
  if ((await insertAllBare(work, chips)) || (await insertAllNew(work, chips))) {
    return chips.map(({ uid }) => ({ status: 'created', uid }))
  }
  const results = new Map<CheckedChip, RegisterResult>()
  // Repeated rows of a chip are compared with what the earlier row registered.
  for (let rest = chips; rest.length > 0; ) {
    const { first, again } = partByUid(rest)
    await registerEachOnce(work, first, results)
    rest = again
  }
  return chips.map((chip) => results.get(chip) ?? unreached(chip))
}

interface RegisterContext {
  readonly trx: Queries
  readonly deps: RegisterDeps
  readonly registration: Registration
  readonly tombstones: ReadonlyMap<string, Tombstone>
}

const sharedColumnsOf = ({ teamId, chipGroupId, isSimulated, at, batch }: Registration) => ({
  teamId,
  chipGroupId,
  simulated: isSimulated ? (1 as const) : (0 as const),
  createdAt: at,
  importBatch: batch ?? null,
})

/** @returns the records of removed chips that are registered again, by identity */
async function findTombstones(
  trx: Queries,
  { keyRing }: RegisterDeps,
  chips: readonly CheckedChip[],
): Promise<Map<string, Tombstone>> {
  if (!(await hasTombstones(trx))) return new Map()
  const uids = chips.map(({ uid }) => uid)
  const rows = await rememberedOf(trx, { identities: chips.map(chipIdentity), uids })
  const remembered = new Map(rows.map((row) => [row.identity, row]))
  // Old taps also verify under another key set that has the same keys.
  for (const chip of chips) {
    const identity = chipIdentity(chip)
    const elsewhere = remembered.has(identity)
      ? []
      : rows.filter(({ uid, proof }) => uid === chip.uid && proof !== null)
    if (elsewhere.length === 0) continue
    const proof = keyRing.proofOf(keyOf(keyRing, chip), chip.uid)
    const same = elsewhere.find((row) => row.proof === proof)
    if (same) remembered.set(identity, same)
  }
  return remembered
}

function keyOf(keyRing: KeyRing, { uid, keySetId, fileReadKey, input }: CheckedChip): AesKey | undefined {
  if (fileReadKey) return new AesKey(fileReadKey)
  const set = keySetId === null ? undefined : keyRing.get(keySetId)
  return set && keyRing.fileReadKey(set, { uid, generation: input.generation ?? 0, fileReadKey: null })
}

/** Fast path without lookups for imports of new chips that have only a UID. @returns false if it does not apply */
async function insertAllBare(
  { trx, registration, tombstones: remembered }: RegisterContext,
  chips: readonly CheckedChip[],
): Promise<boolean> {
  const { keySetId } = registration
  if (keySetId === null || remembered.size > 0 || !chips.every((chip) => chip.isBare)) return false
  return insertBareChips(
    trx,
    sharedColumnsOf(registration),
    keySetId,
    chips.map((chip) => chip.uid),
  )
}

/** @returns false if a chip is not new or cannot be bound */
async function insertAllNew(work: RegisterContext, chips: readonly CheckedChip[]): Promise<boolean> {
  // A failed attempt would leave the tokens that it created.
  if (chips.some((chip) => chip.input.token !== undefined || wasPhysical(work, chip))) return false
  const bindings = new Bindings(work.trx, work.registration)
  const bound: BoundChip[] = []
  for (const chip of chips) {
    const binding = await bindChip(bindings, chip)
    if ('reason' in binding) return false
    bound.push(binding)
  }
  return insertBound(work, bound)
}

/** A physical chip must not become simulated, because its taps could then be generated without the chip. */
const wasPhysical = ({ registration, tombstones: remembered }: RegisterContext, chip: CheckedChip): boolean =>
  registration.isSimulated && remembered.get(chipIdentity(chip))?.simulated === 0

async function insertBound(work: RegisterContext, bound: readonly BoundChip[]): Promise<boolean> {
  const { trx, deps, registration, tombstones: remembered } = work
  const tokens = await tokenRowsOf(trx, bound, registration.at)
  const rows = bound.map((one) => chipRow(deps, one, tokens, remembered.get(chipIdentity(one.chip))))
  return insertChips(trx, sharedColumnsOf(registration), rows)
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

async function otherGroups(
  { trx, registration: { teamId, chipGroupId } }: RegisterContext,
  there: readonly ChipWithToken[],
): Promise<ReadonlyMap<number, string>> {
  const names = new Map<number, string>()
  for (const chip of there) {
    if (chip.teamId !== teamId || chip.chipGroupId === chipGroupId || names.has(chip.chipGroupId)) continue
    const group = await findChipGroup(trx, teamId, chip.chipGroupId)
    if (group) names.set(group.id, group.name)
  }
  return names
}

/** Slower than the bulk inserts, but gives each failure its own reason. */
async function registerEachOnce(
  work: RegisterContext,
  chips: readonly CheckedChip[],
  results: Map<CheckedChip, RegisterResult>,
): Promise<void> {
  const { trx, deps, registration } = work
  const there = new Map(
    (
      await existingChips(
        trx,
        chips.map(({ uid }) => uid),
      )
    ).map((row) => [row.uid, row]),
  )
  const groups = await otherGroups(work, [...there.values()])
  const bindings = new Bindings(trx, registration)
  const holders = await Holders.of(trx, registration.teamId, chips)
  const bound: BoundChip[] = []
  for (const chip of chips) {
    const { uid } = chip
    const row = there.get(uid)
    if (row) {
      const difference = differenceTo(deps.box, registration, chip, row, groups.get(row.chipGroupId))
      // A resumed import repeats its rows.
      const isOurs = registration.batch !== undefined && row.importBatch === registration.batch
      const status = isOurs ? 'created' : 'unchanged'
      results.set(chip, difference === undefined ? { status, uid } : failed(uid, difference))
      continue
    }
    if (wasPhysical(work, chip)) {
      results.set(
        chip,
        failed(
          uid,
          'The chip was registered as a physical chip before, and cannot become a simulated chip. Use another UID.',
        ),
      )
      continue
    }
    const binding = await bindChip(bindings, chip)
    const refusal = 'reason' in binding ? binding : holders.claim(chip)
    if (refusal) results.set(chip, failed(uid, refusal.reason))
    else if ('chip' in binding) bound.push(binding)
  }
  if (bound.length === 0) return
  if (!(await insertBound(work, bound))) throw new Error('Registered chips changed during their transaction')
  for (const { chip } of bound) results.set(chip, { status: 'created', uid: chip.uid })
}
