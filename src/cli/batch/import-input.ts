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
/** A chip is known by its UID, or of the second family by its public key. */
export const needed = { required: [], anyOf: ['uid', 'publicKey'] } as const
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
  const blocks: Buffer[] = []
  let present: readonly number[] = []
  let block = ''
  let rows = 0
  let needKeySet = 0

  const unique = (seen: Map<string, number>, row: number, column: string, text: string) => {
    const before = seen.get(text)
    if (before === undefined) seen.set(text, row)
    else problems.add(row, column, `"${text}" is in row ${before} already`)
  }
  const check = (row: number, column: number, cell: string) => {
    const why = checks[column - 1]?.(cell)
    if (why === undefined) return
    const isSecret = secretColumns.has(columns[column] ?? '')
    problems.add(row, columns[column], isSecret ? why : `"${cell}" ${why}`)
  }
  const readUid = (row: number, cell: Cell, publicKey: Cell): string => {
    if (cell) return uidOnWire(uids.read(row, cell) ?? '')
    if (!publicKey) problems.add(row, 'uid', 'is missing')
    return ''
  }

  await readSheet(source, options, problems, {
    columns: (indices) => {
      present = indices
      block = csvLine(indices.map((i) => columns[i] ?? ''))
    },
    row: (row, cells) => {
      rows += 1
      const publicKey = cells[publicKeyAt]
      if (publicKey) unique(publicKeys, row, 'publicKey', publicKey.toLowerCase())
      else needKeySet += 1
      const label = cells[labelAt]
      if (label) unique(labels, row, 'label', label)
      const uid = readUid(row, cells[0], publicKey)
      if (present.length === 1) block += `${uid}\n`
      else {
        for (const column of present) {
          const cell = cells[column]
          if (cell && column > 0) check(row, column, cell)
        }
        checkTogether(row, cells, problems)
        block += csvLine(present.map((column) => (column === 0 ? uid : (cells[column] ?? ''))))
      }
      if (block.length < blockSize) return
      blocks.push(Buffer.from(block))
      block = ''
    },
  })
  uids.finish(accepted)
  problems.refuse(source.name)
  if (block !== '') blocks.push(Buffer.from(block))
  return { rows, needKeySet, blocks }
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
