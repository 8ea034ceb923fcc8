import { checkHaloPublicKey } from './halo-public-key.ts'
import { checkRedirectUrl } from './redirect-url.ts'
import { type Check, tokenChecks } from './token.ts'

/** SDMReadCtr of an NTAG 424 has three bytes. */
export const maxCounter = 0xffffff
/** A HaLo chip's counter has four bytes. */
const maxHaloCounter = 0xffffffff

function checkCounter(text: string, isHalo: boolean): string | undefined {
  if (!/^\d{1,10}$/.test(text)) return 'must be a whole number from 0'
  const max = isHalo ? maxHaloCounter : maxCounter
  return Number(text) > max ? `must be at most ${max}` : undefined
}

const checkText =
  (max: number, why: string): Check =>
  (text) =>
    text.trim() !== '' && text.length <= max && !text.includes('\0') && text.isWellFormed() ? undefined : why

/** Checks of a single cell, by column. The caller reads the UID with parseUid. */
const checks = {
  publicKey: checkHaloPublicKey,
  label: checkText(200, 'must be 1 to 200 characters of text'),
  redirectUrl: checkRedirectUrl,
  item: checkText(64, 'must be the id of an item'),
  variant: checkText(64, "must be the id of an item's variant"),
  ...tokenChecks,
  fileReadKey: (text) =>
    /^[0-9a-fA-F]{32}$/.test(text) ? undefined : 'must be an AES-128 key: 32 hex digits',
} as const satisfies Readonly<Record<string, Check>>

/** @returns why the cell is refused */
export const checkCell = (column: keyof typeof checks, text: string): string | undefined =>
  checks[column](text)

/** The columns of an import, one chip per row. A chip is identified by its UID, or a HaLo chip by its public key. */
export const chipColumns = [
  'uid',
  'publicKey',
  'label',
  'redirectUrl',
  'item',
  'variant',
  'contractAddress',
  'chainId',
  'tokenId',
  'lastCounter',
  'fileReadKey',
] as const satisfies readonly (keyof typeof checks | 'uid' | 'lastCounter')[]
/** What a sheet can set of a chip that is registered. */
export const appliedColumns = [
  'label',
  'chipGroup',
  'keySet',
  'redirectUrl',
  'item',
  'variant',
  'contractAddress',
  'chainId',
  'tokenId',
  'disabled',
] as const
/** What an export says of a chip, and nothing can set. */
export const exportedAlone: readonly string[] = ['generation', 'lastTapAt', 'createdAt', 'isConfigured']
/** An import leaves out more: what it registers is enabled, and has no revision yet. */
export const notImported: readonly string[] = [...exportedAlone, 'disabled', 'revision']
export type ChipColumn = (typeof chipColumns)[number]
/** Empty cells are absent. */
export type ChipValues = { readonly [column in ChipColumn]?: string | undefined }

/** `reason` can follow the names of the columns or the text of the cell. `cell` is undefined for secrets. */
interface ChipProblem {
  readonly columns: readonly ChipColumn[]
  readonly cell?: string | undefined
  readonly reason: string
}

/** Checks everything except the UID, without access to registered chips. */
export function* problemsOf(row: ChipValues): Generator<ChipProblem> {
  for (const column of checked) {
    const text = row[column]
    const reason = text === undefined ? undefined : checks[column](text)
    if (reason === undefined) continue
    yield { columns: [column], cell: column === 'fileReadKey' ? undefined : text, reason }
  }
  const isHalo = row.publicKey !== undefined
  const counter = row.lastCounter === undefined ? undefined : checkCounter(row.lastCounter, isHalo)
  if (counter !== undefined) yield { columns: ['lastCounter'], cell: row.lastCounter, reason: counter }
  const missing = tokenColumns.filter((column) => row[column] === undefined)
  if (missing.length > 0 && missing.length < tokenColumns.length)
    yield { columns: missing, reason: 'is missing: contractAddress, chainId, and tokenId belong together' }
  if (row.variant !== undefined && row.item === undefined)
    yield { columns: ['item'], reason: 'is missing: a variant belongs to an item' }
  if (isHalo && row.fileReadKey !== undefined)
    yield { columns: ['fileReadKey'], reason: 'must not be given: a HaLo chip has none' }
}

const tokenColumns = ['contractAddress', 'chainId', 'tokenId'] as const
const checked = chipColumns.filter(
  (column): column is keyof typeof checks => column !== 'uid' && column !== 'lastCounter',
)
