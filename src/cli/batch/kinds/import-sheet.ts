import {
  type ChipColumn,
  type ChipValues,
  chipColumns,
  notImported,
  problemsOf,
} from '../../../values/chip-row.ts'
import { csvLine } from '../../io/csv.ts'
import { uidOnWire } from '../../uid.ts'
import { Problems } from '../input/problems.ts'
import { type Cell, readSheet, type SheetOptions, type SheetReader } from '../input/sheet.ts'
import type { Source } from '../input/source.ts'
import { UidColumn } from '../input/uid-column.ts'

const columns = chipColumns
/** A chip is identified by its UID, or in the HaLo family by its public key. */
export const importSheet = {
  columns,
  required: [],
  anyOf: ['uid', 'publicKey'],
  alwaysIgnored: notImported,
} as const
const [publicKeyAt, labelAt, fileReadKeyAt] = (['publicKey', 'label', 'fileReadKey'] as const).map((column) =>
  columns.indexOf(column),
) as [number, number, number]

const blockSize = 256 * 1024

export interface ImportInput {
  readonly rows: number
  /** Rows whose chip needs a key set: all but HaLo chips. */
  readonly needKeySet: number
  readonly blocks: readonly Buffer[]
  /** Keys stand in it, which are not for the journal. */
  readonly hasKeys: boolean
  /** Each row names its chip by its UID. */
  readonly hasUids: boolean
}

/**
 * Reads and checks a whole sheet, and keeps it as CSV for the daemon. In one pass, so that exactly what was checked is
 * sent; a million rows take some sixty megabytes.
 */
export const readImport = async (
  source: Source,
  options: SheetOptions,
  accepted: boolean,
  reading: Pick<SheetReader, 'heading' | 'original'> = {},
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
  let hasUids = true

  const unique = (seen: Map<string, number>, row: number, column: string, text: string) => {
    const before = seen.get(text)
    if (before === undefined) seen.set(text, row)
    else problems.add(row, column, `"${text}" is already in row ${before}`)
  }
  const check = (row: number, cells: readonly Cell[]) => {
    const values: { [column in ChipColumn]?: string } = {}
    for (const at of present) {
      const [column, cell] = [columns[at], cells[at]]
      if (column && cell) values[column] = cell
    }
    addChipProblems(problems, row, values)
  }
  const uidOf = (row: number, cell: Cell, publicKey: Cell): string => {
    if (cell) return uidOnWire(uids.read(row, cell, !publicKey) ?? '')
    if (!publicKey) problems.add(row, 'uid', 'is missing')
    return ''
  }

  await readSheet(source, options, problems, {
    ...reading,
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
      const uid = uidOf(row, cells[0], publicKey)
      hasUids &&= uid !== ''
      if (present.length === 1) block += `${uid}\n`
      else {
        check(row, cells)
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
  return { rows, needKeySet, blocks, hasKeys: present.includes(fileReadKeyAt), hasUids }
}

/** Checks everything in a row but its UID. */
export const addChipProblems = (problems: Problems, row: number, values: ChipValues): void => {
  for (const { columns, cell, reason } of problemsOf(values))
    problems.add(row, columns.join(', '), cell === undefined ? reason : `"${cell}" ${reason}`)
}

const newline = 10

/** Cuts blocks into slices of at most this many rows; fewer if a cell contains a line end. */
export function* slicesOf(
  blocks: readonly Buffer[],
  most: number,
): Generator<{ readonly bytes: Buffer; readonly rows: number }> {
  for (const block of blocks) {
    if (!Number.isFinite(most)) {
      yield { bytes: block, rows: 0 }
      continue
    }
    for (let from = 0; from < block.length; ) {
      let to = from
      let rows = 0
      for (; rows < most && to < block.length; rows++) to = block.indexOf(newline, to) + 1 || block.length
      yield { bytes: block.subarray(from, to), rows }
      from = to
    }
  }
}
