import { getAddress } from 'viem/utils'
import { parsePlan } from '../../../nfc/provision/plan.ts'
import { reasonAgainst } from '../../../values/chip-columns.ts'
import type { AppliedChip } from '../../store/chips/applied-chips.ts'
import { findChips } from '../../store/chips/chips.ts'
import { findKeySet } from '../../store/chips/key-sets.ts'
import type { Queries } from '../../store/database/database.ts'
import { nfcPlansOf } from '../../store/nfc/nfc-plans.ts'
import type { ChipGroupRow } from '../../store/schema/schema.ts'
import { type AppliedValues, type ApplyRow, type Changes, changesBetween, valuesOf } from './apply-row.ts'
import { Bindings, neededToTransfer } from './chip-bindings.ts'
import { findGroup } from './chip-groups.ts'
import type { ChipInput, Refusal } from './chip-input.ts'
import { givesCodes } from './chip-record.ts'
import { proofOfChip } from './chip-state.ts'
import type { KeyRing } from './key-ring.ts'

export interface NumberedRow {
  row: number
  value: ApplyRow
}

/** Without `change`, the row is settled. */
export interface PlannedRow {
  readonly row: number
  readonly uid: string | null
  readonly status: 'created' | 'changed' | 'removed' | 'unchanged' | 'conflict' | 'failed'
  readonly changes?: Changes
  readonly error?: string
}

/** An existing chip and its changes. */
export interface PlannedChange extends PlannedRow {
  readonly status: 'changed'
  readonly changes: Changes
  readonly chip: AppliedChip
  readonly to: AppliedValues
  readonly token: { contractId: number; tokenId: string } | undefined
  /** The row stated the chip's current values: a change of any value is a conflict. */
  readonly isWhole: boolean
}

export interface PlannedRemoval extends PlannedRow {
  readonly status: 'removed'
  readonly chip: AppliedChip
}

export interface PlannedChip extends PlannedRow {
  readonly status: 'created'
  readonly uid: string
  readonly value: ApplyRow
  readonly input: ChipInput
  readonly chipGroup: string
  readonly keySet: number | null
}

export type PlannedStep = PlannedRow | PlannedChange | PlannedRemoval | PlannedChip

export interface ApplyCaller {
  teamId: number
  /** True: rows may give chips control of tokens and of mints. */
  mayBind: boolean
}

const lacks = (action: string): Refusal => ({
  reason: `${action} ${neededToTransfer}, because taps of the chip give codes`,
})

/** Caches what the rows of one piece refer to. */
export class Planner {
  readonly #db: Queries
  readonly #caller: ApplyCaller
  readonly #keyRing: KeyRing
  readonly #bindings: Bindings
  readonly #groups = new Map<string, Promise<ChipGroupRow | undefined>>()
  readonly #keySets = new Map<number, Promise<Refusal | undefined>>()
  readonly #addresses = new Map<string, string>()

  constructor(db: Queries, keyRing: KeyRing, caller: ApplyCaller) {
    this.#db = db
    this.#keyRing = keyRing
    this.#caller = caller
    this.#bindings = new Bindings(db, caller)
  }

  /** A missing group is created. */
  async groupNamed(name: string | null | undefined): Promise<string | Refusal> {
    if (!name) return { reason: 'chipGroup must not be empty: every chip belongs to a chip group' }
    const known = this.#groups.get(name) ?? findGroup(this.#db, this.#caller.teamId, name)
    this.#groups.set(name, known)
    const group = await known
    if (group) return group.name
    return /^\d+$/.test(name)
      ? {
          reason: `chipGroup ${name} does not exist. To create a chip group, give a name that is not a number`,
        }
      : name
  }

  /** @returns undefined if the key set exists */
  refuseUnknown(keySet: number): Promise<Refusal | undefined> {
    const known = this.#keySets.get(keySet) ?? this.#lookUpKeySet(keySet)
    this.#keySets.set(keySet, known)
    return known
  }

  async #lookUpKeySet(keySet: number): Promise<Refusal | undefined> {
    // Another daemon may have removed it without this one's cache knowing yet.
    if (this.#keyRing.get(keySet) && (await findKeySet(this.#db, keySet))) return undefined
    return { reason: `keySet ${keySet} does not exist. Create it first: tapchip key-sets create` }
  }

  async change({ row, value }: NumberedRow, chip: AppliedChip): Promise<PlannedStep> {
    const { uid } = chip
    const fail = (reason: string): PlannedRow => ({ row, uid, status: 'failed', error: `${reason}.` })
    if (value.publicKey !== undefined && value.publicKey !== chip.publicKey)
      return fail('The chip is registered with another publicKey, which cannot be changed')
    if (value.lastCounter !== undefined && value.lastCounter > chip.lastCounter)
      return fail('lastCounter is higher than the last accepted counter of the chip, and cannot be changed')
    const from = valuesOf(chip)
    const to = await this.#target(from, value)
    if ('reason' in to) return fail(to.reason)
    const changes = changesBetween(from, to)
    if (!changes) return { row, uid, status: 'unchanged' }
    if (isStale(value, chip, from)) return { row, uid, status: 'conflict', changes, error: conflictError }
    const token =
      changes.contractAddress || changes.chainId || changes.tokenId ? await this.#token(to) : undefined
    if (token && 'reason' in token) return fail(token.reason)
    const refusal = await this.#refuse(chip, to, changes)
    if (refusal) return fail(refusal.reason)
    const isWhole = value.revision !== undefined || value.expected !== undefined
    return { row, uid, status: 'changed', changes, chip, to, token, isWhole }
  }

  async #target(from: AppliedValues, { wishes }: ApplyRow): Promise<AppliedValues | Refusal> {
    const to = { ...from, ...wishes }
    if (wishes.chipGroup !== undefined) {
      const group = await this.groupNamed(wishes.chipGroup)
      if (typeof group !== 'string') return group
      to.chipGroup = group
    }
    const token = [wishes.contractAddress, wishes.chainId, wishes.tokenId]
    if (token.some((value) => value === null) && token.every((value) => value == null))
      to.contractAddress = to.chainId = to.tokenId = null
    if (to.contractAddress !== null) to.contractAddress = this.#checksummed(to.contractAddress)
    // A variant belongs to its item.
    if (to.item !== from.item && wishes.variant === undefined) to.variant = null
    const { contractAddress, chainId, tokenId, item, variant } = to
    const texts = Object.entries({ contractAddress, chainId, tokenId, item, variant })
    const cells = Object.fromEntries(texts.map(([column, value]) => [column, String(value ?? '')]))
    const reason = reasonAgainst(cells, true)
    return reason === undefined ? to : { reason }
  }

  #checksummed(address: string): string {
    const known = this.#addresses.get(address) ?? getAddress(address.toLowerCase())
    this.#addresses.set(address, known)
    return known
  }

  async #token({ contractAddress, chainId, tokenId }: AppliedValues) {
    if (contractAddress === null || chainId === null || tokenId === null) return undefined
    const contract = await this.#bindings.contractOf({ contractAddress, chainId, tokenId })
    return typeof contract === 'number' ? { contractId: contract, tokenId } : contract
  }

  async #refuse(chip: AppliedChip, to: AppliedValues, changes: Changes): Promise<Refusal | undefined> {
    const isTokenOther = changes.contractAddress || changes.chainId || changes.tokenId
    const isItemOther = changes.item || changes.variant
    if (
      chip.replacedBy !== null &&
      ((isTokenOther && to.tokenId !== null) || (isItemOther && to.item !== null))
    )
      return { reason: `The chip was replaced by ${chip.replacedBy}. Link that chip instead` }
    if (isItemOther && to.item !== null) {
      const refusal = await this.#bindings.refuseItem(to.item, to.variant ?? undefined)
      if (refusal) return refusal
    } else if (isTokenOther && to.tokenId === null && to.item !== null) {
      // A chip that keeps only its item would get a new token minted.
      const refusal = await this.#bindings.refuseItem(to.item, undefined)
      if (refusal) return refusal
    }
    if (changes.disabled && !to.disabled) {
      if (chip.replacedBy !== null)
        return {
          reason: `The chip was replaced by ${chip.replacedBy} and stays disabled. To use it again, remove it and import it`,
        }
      if (!this.#caller.mayBind && (await givesCodes(this.#db, chip))) return lacks('Enabling the chip')
    }
    return changes.keySet && this.#refuseKeySet(chip.uid, to.keySet)
  }

  /** The taps of a chip must still verify under the other key set, as far as that can be known. */
  async #refuseKeySet(uid: string, keySet: number | null): Promise<Refusal | undefined> {
    const [chip] = await findChips(this.#db, [uid])
    if (!chip) return undefined
    if (chip.family === 'halo') return { reason: 'keySet must be empty: a HaLo chip has none' }
    if (keySet === null) return { reason: 'keySet must not be empty: it verifies the taps of the chip' }
    const unknown = await this.refuseUnknown(keySet)
    if (unknown) return unknown
    if (this.#keyRing.get(keySet)?.diversification === 'listed' && chip.fileReadKey === null)
      return {
        reason: `keySet ${keySet} stores a separate key for each chip, and there is none for this chip. Remove the chip, and import it with its fileReadKey`,
      }
    if (!this.#caller.mayBind && (await givesCodes(this.#db, chip))) return lacks('Changing its key set')
    const plans = await nfcPlansOf(this.#db, chip.uid)
    if (plans.some(({ closedAt }) => closedAt === null))
      return { reason: 'The setup of the chip was not finished. Finish it first: tapchip nfc recover' }
    const done = plans.findLast(({ outcome }) => outcome === 'done')
    const target = done && parsePlan(JSON.parse(done.plan)).target
    const isProven =
      chip.lastTapAt !== null ||
      (target !== undefined && target !== 'factory' && target.keySet === chip.keySetId)
    if (!isProven || proofOfChip(this.#keyRing, chip, keySet) === proofOfChip(this.#keyRing, chip))
      return undefined
    return {
      reason: `The chip has the keys of the key set ${chip.keySetId}, so its taps would no longer verify. To give it other keys: tapchip nfc provision --rekey`,
    }
  }
}

const conflictError =
  'The chip was changed in the meantime, and is left as it is. Export it again, or leave out the revision to overwrite it.'

/** The chip is no longer as the row expects. */
export const isStale = ({ revision, expected }: ApplyRow, chip: AppliedChip, now: AppliedValues): boolean =>
  (revision !== undefined && revision !== chip.revision) ||
  (expected !== undefined && changesBetween(now, expected) !== undefined)
