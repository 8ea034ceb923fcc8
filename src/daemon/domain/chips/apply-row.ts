import { haloUid } from '../../../nfc/halo/tap.ts'
import { decimalReading, parseUid } from '../../../nfc/uid.ts'
import {
  type AppliedColumn,
  alsoApplied,
  appliedColumns,
  type ChipCells,
  type ChipValue,
  cellsIn,
  reasonAgainst,
  valueOfCell,
} from '../../../values/chip-columns.ts'
import { isJsonObject } from '../../../values/json.ts'
import type { AppliedChip } from '../../store/chips/applied-chips.ts'

/** Fields of a chip that rows can set. */
export type AppliedValues = {
  [column in AppliedColumn]: column extends 'disabled' ? boolean : ChipValue<column> | null
}

/** Absent members are left alone. */
export type ChipPatch = Partial<AppliedValues>

export interface ApplyRow {
  /** Decimal; the second reading applies if the team has no chip with the first. */
  uids: readonly string[]
  /** Names the chip if there is no UID. */
  byLabel?: string | undefined
  /** For a chip that is to be registered. */
  cells: ChipCells
  wishes: ChipPatch
  publicKey?: string | undefined
  lastCounter?: number | undefined
  revision?: string | undefined
  expected?: ChipPatch | undefined
  /** True: only for a chip that nothing has happened to. */
  remove: boolean | 'always'
}

const columns = new Set<string>(['uid', ...appliedColumns, ...alsoApplied])
const expectable = new Set<string>(appliedColumns)

class Problem extends Error {}

/** @param line JSON */
export function readApplyLine(line: unknown): { value: ApplyRow } | { problem: string } {
  try {
    return { value: rowOf(line) }
  } catch (error) {
    if (error instanceof Problem) return { problem: error.message }
    throw error
  }
}

/** @throws Problem */
function checkedCells(line: unknown, known: ReadonlySet<string>): ChipCells {
  if (!isJsonObject(line)) throw new Problem('must be an object')
  const read = cellsIn(line, known)
  const reason = 'problem' in read ? read.problem : reasonAgainst(read.cells, false)
  if ('problem' in read || reason !== undefined) throw new Problem(reason)
  return read.cells
}

function wishesOf(cells: ChipCells): ChipPatch {
  const set = appliedColumns.filter((column) => cells[column] !== undefined)
  return Object.fromEntries(set.map((column) => [column, valueOfCell(column, cells[column] ?? '')]))
}

/** @throws Problem */
function removalIn(remove: unknown): ApplyRow['remove'] {
  if (remove === undefined || remove === null) return false
  if (remove === true || remove === 'always') return remove
  throw new Problem('remove must be true or "always"')
}

/** @throws Problem */
function rowOf(line: unknown): ApplyRow {
  const { expected: before, remove: removal, ...row } = isJsonObject(line) ? line : {}
  const cells = checkedCells(isJsonObject(line) ? row : line, columns)
  const { label, ...others } = cells
  const expected = before === undefined ? undefined : wishesOf(checkedCells(before, expectable))
  const remove = removalIn(removal)
  const uid = cells.uid ? parseUid(cells.uid) : undefined
  if (uid && !uid.ok) throw new Problem(`uid ${uid.reason}`)
  const publicKey = valueOfCell('publicKey', cells.publicKey ?? '') ?? undefined
  const byLabel = uid || publicKey ? undefined : label || undefined
  if (!uid && !publicKey && !byLabel) throw new Problem('uid is missing: give it, or the label of a chip')
  if (remove === true && expected === undefined)
    throw new Problem('expected is missing: a chip is only removed as it was registered')
  return {
    uids: uidsOf(uid?.uid, publicKey),
    byLabel,
    cells,
    wishes: wishesOf(byLabel === undefined ? cells : others),
    publicKey,
    lastCounter: valueOfCell('lastCounter', cells.lastCounter ?? '') ?? undefined,
    revision: cells.revision || undefined,
    expected,
    remove,
  }
}

function uidsOf(uid: string | undefined, publicKey: string | undefined): readonly string[] {
  if (uid === undefined) return publicKey === undefined ? [] : [haloUid(Buffer.from(publicKey, 'hex'))]
  const reading = decimalReading(uid)
  return reading === undefined ? [uid] : [uid, reading]
}

export const valuesOf = (chip: AppliedChip): AppliedValues => ({
  label: chip.label,
  chipGroup: chip.chipGroupName,
  keySet: chip.keySetId,
  redirectUrl: chip.redirectUrl,
  item: chip.itemId,
  variant: chip.variantId,
  contractAddress: chip.linkedAddress,
  chainId: chip.linkedChainId,
  tokenId: chip.linkedTokenId,
  disabled: chip.disabledAt !== null,
})

type Value = AppliedValues[keyof AppliedValues]
export type Changes = { [column in keyof AppliedValues]?: { from: Value; to: Value } }

// Addresses are compared case-insensitively, because their case is only a checksum.
const isSame = (column: keyof AppliedValues, one: Value, other: Value): boolean =>
  one === other ||
  (column === 'contractAddress' &&
    typeof one === 'string' &&
    typeof other === 'string' &&
    one.toLowerCase() === other.toLowerCase())

/** @returns undefined if nothing differs */
export function changesBetween(from: AppliedValues, to: ChipPatch): Changes | undefined {
  let changes: Changes | undefined
  for (const column of appliedColumns) {
    const value = to[column]
    if (value === undefined || isSame(column, from[column], value)) continue
    changes ??= {}
    changes[column] = { from: from[column], to: value }
  }
  return changes
}
