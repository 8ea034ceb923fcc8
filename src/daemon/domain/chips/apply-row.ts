import { haloUid } from '../../../nfc/halo/tap.ts'
import { decimalReading, parseUid } from '../../../nfc/uid.ts'
import { appliedColumns, checkCell } from '../../../values/chip-row.ts'
import { isJsonObject } from '../../../values/json.ts'
import { canonicalTokenId } from '../../../values/token.ts'
import type { AppliedChip } from '../../store/chips/applied-chips.ts'

/** What rows can set of a chip. */
export interface AppliedValues {
  label: string | null
  chipGroup: string | null
  keySet: number | null
  redirectUrl: string | null
  item: string | null
  variant: string | null
  contractAddress: string | null
  chainId: number | null
  tokenId: string | null
  disabled: boolean
}

/** Absent members are left alone. */
export type ChipPatch = Partial<AppliedValues>

export interface ApplyRow {
  /** Decimal; the second reading applies if the team has no chip with the first. */
  uids: readonly string[]
  /** Names the chip if there is no UID. */
  byLabel?: string | undefined
  wishes: ChipPatch
  publicKey?: string | undefined
  lastCounter?: number | undefined
  revision?: string | undefined
  expected?: ChipPatch | undefined
  /** True: only a chip that nothing has happened to. */
  remove: boolean | 'always'
}

type Cell = string | number | boolean | null | undefined
type Cells = { readonly [column in keyof AppliedValues]?: Cell }

const texts = ['label', 'redirectUrl', 'item', 'variant', 'contractAddress', 'chainId', 'tokenId'] as const
class Problem extends Error {}

const asText = (cell: Cell): string | null => (cell === null || cell === '' ? null : String(cell))

const counter = (column: string, text: string, max: number): number => {
  const number = Number(text)
  if (!/^\d{1,10}$/.test(text) || number > max)
    throw new Problem(`${column} must be a whole number from 0 to ${max}`)
  return number
}

const maxUint32 = 0xffffffff

/** @throws Problem */
function groupIn(name: string | null): string | null {
  if (name !== null && (name.length > 200 || name.includes('\0') || !name.isWellFormed()))
    throw new Problem('chipGroup must be at most 200 characters of text')
  return name
}

/** @throws Problem */
function valuesIn(cells: Cells | { readonly [name in string]?: unknown }): ChipPatch {
  const line = cells as Cells
  const values: Record<string, string | number | boolean | null> = {}
  for (const column of texts) {
    const cell = line[column]
    if (cell === undefined) continue
    const text = asText(cell)
    const reason = text === null ? undefined : checkCell(column, text)
    if (reason !== undefined) throw new Problem(`${column} ${reason}`)
    values[column] = text
  }
  const { chainId, tokenId } = values
  if (typeof chainId === 'string') values.chainId = Number(chainId)
  if (typeof tokenId === 'string') values.tokenId = canonicalTokenId(tokenId)
  const { chipGroup, keySet, disabled } = line
  if (chipGroup !== undefined) values.chipGroup = groupIn(asText(chipGroup))
  if (keySet !== undefined) {
    const text = asText(keySet)
    values.keySet = text === null ? null : counter('keySet', text, maxUint32)
  }
  if (disabled !== undefined) values.disabled = disabled === true
  return values
}

/** By hand: a schema would take longer than the rest of a row. @param line JSON */
export function readApplyLine(line: unknown): { value: ApplyRow } | { problem: string } {
  try {
    return { value: rowOf(cellsOf(line, 'the line')) }
  } catch (error) {
    if (error instanceof Problem) return { problem: error.message }
    throw error
  }
}

type Member = keyof AppliedValues | 'uid' | 'publicKey' | 'lastCounter' | 'revision'

const others = ['uid', 'publicKey', 'lastCounter', 'revision', 'expected', 'remove']
const known = new Set<string>([...appliedColumns, ...others])
const numbers = new Set(['keySet', 'chainId', 'tokenId', 'lastCounter'])
const maxTextLength = 4096

/** @throws Problem */
function cellsOf(line: unknown, what: string): { readonly [name in string]?: unknown } {
  if (!isJsonObject(line)) throw new Problem(`${what} must be an object`)
  for (const name in line) {
    const cell = line[name]
    if (!known.has(name)) throw new Problem(`${name} is not a column; columns are ${[...known].join(', ')}`)
    if (cell === null || name === 'expected' || name === 'remove') continue
    if (typeof cell === 'string' && name !== 'disabled') {
      if (cell.length > maxTextLength)
        throw new Problem(`${name} must be at most ${maxTextLength} characters`)
    } else if (typeof cell === 'number' ? !numbers.has(name) : typeof cell !== 'boolean')
      throw new Problem(`${name} must be ${name === 'disabled' ? 'true or false' : 'text'}`)
    else if (typeof cell === 'number' && !Number.isSafeInteger(cell))
      throw new Problem(`${name} must be a whole number; write large ones as text`)
    else if (typeof cell === 'boolean' && name !== 'disabled') throw new Problem(`${name} must be text`)
  }
  return line
}

/** @throws Problem */
function removalIn(remove: unknown): ApplyRow['remove'] {
  if (remove === undefined || remove === null) return false
  if (remove === true || remove === 'always') return remove
  throw new Problem('remove must be true or "always"')
}

function rowOf(members: { readonly [name in string]?: unknown }): ApplyRow {
  // Checked by cellsOf.
  const line = members as { readonly [name in Member]?: Cell }
  const { label, ...others } = line
  const expected =
    members.expected === undefined ? undefined : valuesIn(cellsOf(members.expected, 'expected'))
  const remove = removalIn(members.remove)
  const [uidText, publicKey, revision, lastCounter] = [
    asText(line.uid ?? null),
    asText(line.publicKey ?? null),
    asText(line.revision ?? null),
    asText(line.lastCounter ?? null),
  ]
  const uid = uidText === null ? undefined : parseUid(uidText)
  if (uid && !uid.ok) throw new Problem(`uid ${uid.reason}`)
  const reason = publicKey === null ? undefined : checkCell('publicKey', publicKey)
  if (reason !== undefined) throw new Problem(`publicKey ${reason}`)
  const named = uid === undefined && publicKey === null ? asText(label ?? null) : null
  if (uid === undefined && publicKey === null && named === null)
    throw new Problem('uid is missing: give it, or the label of a chip')
  if (remove === true && expected === undefined)
    throw new Problem('expected is missing: a chip is only removed as it was registered')
  return {
    uids: uidsOf(uid?.uid, publicKey),
    ...(named === null ? {} : { byLabel: named }),
    wishes: valuesIn(named === null ? line : others),
    publicKey: publicKey?.toUpperCase(),
    lastCounter: lastCounter === null ? undefined : counter('lastCounter', lastCounter, maxUint32),
    revision: revision ?? undefined,
    expected,
    remove,
  }
}

function uidsOf(uid: string | undefined, publicKey: string | null): readonly string[] {
  if (uid === undefined) return publicKey === null ? [] : [haloUid(Buffer.from(publicKey, 'hex'))]
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

// Addresses are compared without the case of their checksum.
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
    const after = to[column]
    if (after === undefined || isSame(column, from[column], after)) continue
    changes ??= {}
    changes[column] = { from: from[column], to: after }
  }
  return changes
}
