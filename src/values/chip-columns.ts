import { isAesKey, notAnAesKey } from './aes-key.ts'
import { checkHaloPublicKey } from './halo-public-key.ts'
import type { JsonObject } from './json.ts'
import { checkRedirectUrl } from './redirect-url.ts'
import { type Check, canonicalTokenId, tokenChecks } from './token.ts'

/** SDMReadCtr of an NTAG 424 has three bytes. */
export const maxCounter = 0xffffff
/** Counters of HaLo chips and numbers of key sets have four bytes. */
const maxUint32 = 0xffffffff

const numberTo =
  (max: number): Check =>
  (text) =>
    /^\d{1,10}$/.test(text) && Number(text) <= max ? undefined : `must be a whole number from 0 to ${max}`

const textTo =
  (max: number, why = `must be 1 to ${max} characters of text`): Check =>
  (text) =>
    text.trim() !== '' && text.length <= max && !text.includes('\0') && text.isWellFormed() ? undefined : why

const aesKey: Check = (text) => (isAesKey(text) ? undefined : notAnAesKey)

// A spreadsheet writes these in the language of its user.
const isTrue = /^(true|yes|1|wahr|vrai|vero|verdadero)$/i
const isFalse = /^(false|no|0|falsch|faux|falso)$/i

interface Column {
  /** In JSON. */
  readonly type: 'text' | 'number' | 'flag'
  /** @returns why a cell that is not empty is refused, in words that can follow the column's name */
  readonly check: Check
  /** One spelling of a valid cell, of several that mean the same. */
  readonly canonical?: (text: string) => string
  /** Why no chip can be without it. */
  readonly whyNotEmpty?: string
  /** Where the database has it, as `table.column`. */
  readonly stored: string
  /** Must not be repeated in messages. */
  readonly isSecret?: true
}

/** All that sheets, conditions, the HTTP interface, and labels know of a chip by a column, besides its UID. */
export const chipColumns = {
  label: { type: 'text', check: textTo(200), stored: 'chips.label' },
  chipGroup: {
    type: 'text',
    check: textTo(200),
    whyNotEmpty: 'must not be empty: every chip belongs to a chip group',
    stored: 'chipGroups.name',
  },
  keySet: { type: 'number', check: numberTo(maxUint32), stored: 'chips.keySetId' },
  redirectUrl: { type: 'text', check: checkRedirectUrl, stored: 'chips.redirectUrl' },
  item: { type: 'text', check: textTo(64, 'must be the id of an item'), stored: 'chips.itemId' },
  variant: {
    type: 'text',
    check: textTo(64, "must be the id of an item's variant"),
    stored: 'chips.variantId',
  },
  contractAddress: { type: 'text', check: tokenChecks.contractAddress, stored: 'contracts.address' },
  chainId: { type: 'number', check: tokenChecks.chainId, stored: 'contracts.chainId' },
  tokenId: {
    type: 'text',
    check: tokenChecks.tokenId,
    canonical: canonicalTokenId,
    stored: 'tokens.tokenId',
  },
  disabled: {
    type: 'flag',
    check: (text) => (isTrue.test(text) || isFalse.test(text) ? undefined : 'must be true or false'),
    stored: 'chips.disabledAt',
  },
  lastCounter: { type: 'number', check: numberTo(maxUint32), stored: 'chips.lastCounter' },
  publicKey: {
    type: 'text',
    check: checkHaloPublicKey,
    canonical: (text) => text.toUpperCase(),
    stored: 'chips.publicKey',
  },
  fileReadKey: {
    type: 'text',
    check: aesKey,
    stored: 'chips.fileReadKey',
    isSecret: true,
  },
  metaReadKey: {
    type: 'text',
    check: aesKey,
    stored: 'chips.metaReadKey',
    isSecret: true,
  },
  generation: {
    type: 'number',
    check: numberTo(254),
    whyNotEmpty: 'must not be empty: every chip has one',
    stored: 'chips.generation',
  },
} as const satisfies Readonly<Record<string, Column>>
export type ChipColumn = keyof typeof chipColumns

const columnOf = (name: ChipColumn): Column => chipColumns[name]

/** Columns of an import, one chip per row. A chip is identified by its UID, or a HaLo chip by its public key. */
export const importedColumns = [
  ...(['uid', 'publicKey', 'label', 'redirectUrl', 'item', 'variant'] as const),
  ...(['contractAddress', 'chainId', 'tokenId', 'lastCounter', 'fileReadKey', 'metaReadKey'] as const),
] as const
/** Columns that a row can set on a registered chip. The revision covers these, in this order. */
export const appliedColumns = [
  ...(['label', 'chipGroup', 'keySet', 'redirectUrl', 'item', 'variant'] as const),
  ...(['contractAddress', 'chainId', 'tokenId', 'disabled'] as const),
] as const satisfies readonly ChipColumn[]
export type AppliedColumn = (typeof appliedColumns)[number]
/** Other columns of an apply. */
export const alsoApplied = ['publicKey', 'lastCounter', 'revision'] as const
/** Between the UID and the revision, in an order that suits an import, where chipGroup and keySet are flags. */
export const exportedColumns = [
  ...(['chipGroup', 'keySet', 'label', 'redirectUrl', 'item', 'variant'] as const),
  ...(['contractAddress', 'chainId', 'tokenId', 'disabled', 'lastCounter', 'publicKey'] as const),
] as const satisfies readonly ChipColumn[]
export type ExportedColumn = (typeof exportedColumns)[number]
/** Columns that chips can be selected by. */
export const selectableColumns = [
  ...(['chipGroup', 'label', 'item', 'variant', 'contractAddress', 'chainId', 'tokenId'] as const),
  ...(['redirectUrl', 'disabled', 'keySet', 'generation'] as const),
] as const satisfies readonly ChipColumn[]
/** Columns that a set-up sheet can set. */
export const setupColumns = ['label', 'item', 'variant', 'redirectUrl'] as const

/** Read-only columns of an export. */
export const readOnlyColumns: readonly string[] = ['generation', 'lastTapAt', 'createdAt', 'isConfigured']
/** An import leaves out more: what it registers is enabled, and has no revision yet. */
export const notImported: readonly string[] = [...readOnlyColumns, 'disabled', 'revision']

interface Types {
  text: string
  number: number
  flag: boolean
}
export type ChipValue<C extends ChipColumn> = Types[(typeof chipColumns)[C]['type']]

/** A row's cells as a sheet has them. An empty one: the chip has none; an absent one: the row says nothing of it. */
export type ChipCells = { readonly [column in ChipColumn | 'uid' | 'revision']?: string | undefined }

/** @returns in words that can follow the column's name; undefined for a valid cell, which may be empty */
export function whyNotCell(column: ChipColumn, text: string): string | undefined {
  const { check, whyNotEmpty } = columnOf(column)
  return text === '' ? whyNotEmpty : check(text)
}

/** @param text a valid cell */
export function valueOfCell<C extends ChipColumn>(column: C, text: string): ChipValue<C> | null {
  const { type, canonical } = columnOf(column)
  const read = (): string | number | boolean | null => {
    if (type === 'flag') return isTrue.test(text)
    if (text === '') return null
    return type === 'number' ? Number(text) : (canonical?.(text) ?? text)
  }
  return read() as ChipValue<C> | null
}

const maxCellLength = 4096

/** The cells of a row in JSON, where null is an empty one. By hand: a schema would take longer than the rest of a row. */
export function cellsIn(
  line: JsonObject,
  columns: ReadonlySet<string>,
): { readonly cells: ChipCells } | { readonly problem: string } {
  const cells: Record<string, string> = {}
  for (const name in line) {
    const cell = line[name]
    if (!columns.has(name))
      return { problem: `${name} is not a column; columns are ${[...columns].join(', ')}` }
    if (cell === undefined) continue
    const why = whyNotJson(name, cell)
    if (why !== undefined) return { problem: `${name} ${why}` }
    cells[name] = cell === null ? '' : String(cell)
  }
  return { cells }
}

function whyNotJson(name: string, cell: unknown): string | undefined {
  if (cell === null) return undefined
  if (typeof cell === 'string')
    return cell.length > maxCellLength ? `must be at most ${maxCellLength} characters` : undefined
  const type = name in chipColumns ? columnOf(name as ChipColumn).type : 'text'
  if (type === 'flag') return typeof cell === 'boolean' ? undefined : 'must be true or false'
  if (typeof cell !== 'number' || (type === 'text' && name !== 'tokenId')) return 'must be text'
  return Number.isSafeInteger(cell) ? undefined : 'must be a whole number; write large ones as text'
}

/** `reason` can follow the names of the columns or the text of the cell. `cell` is undefined for secrets. */
interface ChipProblem {
  readonly columns: readonly ChipColumn[]
  readonly cell?: string | undefined
  readonly reason: string
}

const names = Object.keys(chipColumns) as ChipColumn[]
const tokenColumns = ['contractAddress', 'chainId', 'tokenId'] as const
const checkCounter = numberTo(maxCounter)

/**
 * Checks everything but the UID, without access to registered chips.
 * @param isNew what the row says nothing of, the chip does not have
 */
export function* problemsOf(row: ChipCells, isNew: boolean): Generator<ChipProblem> {
  for (const column of names) {
    const text = row[column]
    if (text === undefined) continue
    const isNtagCounter = column === 'lastCounter' && text !== '' && !row.publicKey
    const reason = isNtagCounter ? checkCounter(text) : whyNotCell(column, text)
    const isHidden = text === '' || columnOf(column).isSecret
    if (reason !== undefined) yield { columns: [column], cell: isHidden ? undefined : text, reason }
  }
  const isMissing = (column: ChipColumn) => row[column] === '' || (isNew && row[column] === undefined)
  const missing = tokenColumns.filter(isMissing)
  if (missing.length > 0 && tokenColumns.some((column) => row[column]))
    yield { columns: missing, reason: 'is missing: contractAddress, chainId, and tokenId belong together' }
  if (row.variant && isMissing('item'))
    yield { columns: ['item'], reason: 'is missing: a variant belongs to an item' }
  for (const column of ['fileReadKey', 'metaReadKey'] as const)
    if (row.publicKey && row[column])
      yield { columns: [column], reason: 'must not be given: a HaLo chip has none' }
}

/** The first problem, in words. */
export function reasonAgainst(row: ChipCells, isNew: boolean): string | undefined {
  for (const { columns, reason } of problemsOf(row, isNew)) return `${columns.join(', ')} ${reason}`
  return undefined
}
