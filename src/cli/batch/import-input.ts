import { uidOnWire } from '../uid.ts'
import { importColumns, secretColumns } from './import-columns.ts'
import { Problems } from './input/problems.ts'
import { type Cell, readSheet, type SheetOptions } from './input/sheet.ts'
import type { Source } from './input/source.ts'
import { UidColumn } from './input/uid-column.ts'
import { csvLine } from './spreadsheet.ts'

const others = Object.keys(importColumns)
const checks = Object.values(importColumns)
/** The columns in the order of the cells. */
export const columns = ['uid', ...others]
const at = (column: string) => columns.indexOf(column)
const [publicKeyAt, labelAt, itemAt, variantAt] = [at('publicKey'), at('label'), at('item'), at('variant')]
const tokenAt = [at('contractAddress'), at('chainId'), at('tokenId')]

const blockSize = 256 * 1024

export interface ImportInput {
  readonly rows: number
  /** Rows whose chip needs a key set: all but those of the second family. */
  readonly needKeySet: number
  /** CSV for the daemon, in blocks. */
  readonly blocks: readonly Buffer[]
}

/**
 * Reads and checks a whole sheet, and keeps it as the daemon will get it: one pass over the file, so what is
 * checked is what is sent, and a million rows fit into some sixty megabytes.
 */
export const readImport = async (
  source: Source,
  options: SheetOptions,
  accepted: boolean,
): Promise<ImportInput> => {
  const problems = new Problems()
  const uids = new UidColumn(problems)
  const labels = new Map<string, number>()
  const publicKeys = new Map<string, number>()
  const used = new Set<number>([0])
  const rows: string[][] = []
  const blocks: Buffer[] = []
  let needKeySet = 0

  const unique = (seen: Map<string, number>, row: number, column: string, text: string) => {
    const before = seen.get(text)
    if (before === undefined) seen.set(text, row)
    else problems.add(row, column, `"${text}" is in row ${before} already`)
  }

  await readSheet(source, options, problems, (row, cells) => {
    const out = cells.map((cell, i) => {
      if (!cell) return ''
      used.add(i)
      const why = i === 0 ? undefined : checks[i - 1]?.(cell)
      if (why !== undefined)
        problems.add(row, columns[i], secretColumns.has(columns[i] ?? '') ? why : `"${cell}" ${why}`)
      return cell
    })
    const [uidText] = cells
    const publicKey = cells[publicKeyAt]
    if (uidText) out[0] = uidOnWire(uids.read(row, uidText) ?? '')
    else if (!publicKey) problems.add(row, 'uid', 'is missing')
    if (publicKey) unique(publicKeys, row, 'publicKey', publicKey.toLowerCase())
    else needKeySet += 1
    const label = cells[labelAt]
    if (label) unique(labels, row, 'label', label)
    checkTogether(row, cells, problems)
    rows.push(out)
  })
  uids.finish(accepted)
  problems.refuse(source.name)

  // Columns that no row uses stay away: most sheets have one or two.
  const kept = columns.map((_, i) => i).filter((i) => used.has(i))
  let block = csvLine(kept.map((i) => columns[i] ?? ''))
  for (const row of rows) {
    block += kept.length === 1 ? `${row[0]}\n` : csvLine(kept.map((i) => row[i] ?? ''))
    if (block.length < blockSize) continue
    blocks.push(Buffer.from(block))
    block = ''
  }
  if (block !== '') blocks.push(Buffer.from(block))
  return { rows: rows.length, needKeySet, blocks }
}

const checkTogether = (row: number, cells: readonly Cell[], problems: Problems): void => {
  const token = tokenAt.filter((i) => cells[i])
  if (token.length > 0 && token.length < tokenAt.length) {
    const missing = tokenAt.filter((i) => !cells[i]).map((i) => columns[i])
    problems.add(
      row,
      missing.join(', '),
      'is missing: a token is contractAddress, chainId and tokenId together',
    )
  }
  if (cells[variantAt] && !cells[itemAt])
    problems.add(row, 'item', 'is missing: a variant belongs to an item')
}
