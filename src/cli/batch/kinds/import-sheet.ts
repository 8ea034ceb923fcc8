import Papa from 'papaparse'
import { colons, readUid, uidOnWire } from '../../uid.ts'
import { Problems } from '../input/problems.ts'
import { type Cell, readSheet, type SheetOptions } from '../input/sheet.ts'
import type { Source } from '../input/source.ts'
import { UidColumn } from '../input/uid-column.ts'
import { checkRedirectUrl } from '../redirect-url.ts'
import { csvLine } from '../spreadsheet.ts'

type Check = (text: string) => string | undefined

const matching =
  (pattern: RegExp, why: string): Check =>
  (text) =>
    pattern.test(text) ? undefined : why
const atMost =
  (max: number): Check =>
  (text) =>
    text.length <= max ? undefined : `is longer than ${max} characters`

/** The columns of an import but for `uid`, and what shows without the daemon that a cell does not fit. */
export const importColumns: Readonly<Record<string, Check>> = {
  label: atMost(200),
  redirectUrl: checkRedirectUrl,
  item: atMost(64),
  variant: atMost(64),
  contractAddress: matching(/^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hex digits'),
  chainId: matching(/^[1-9]\d{0,14}$/, 'must be a chain id: a whole number'),
  tokenId: matching(/^\d{1,78}$/, 'must be a token id: a whole number'),
  lastCounter: (text) =>
    /^\d{1,10}$/.test(text) && Number(text) <= 0xffffffff ? undefined : 'must be a counter: a whole number',
  fileReadKey: matching(/^[0-9a-fA-F]{32}$/, 'must be an AES-128 key: 32 hex digits'),
  publicKey: matching(
    /^(04[0-9a-fA-F]{128}|0[23][0-9a-fA-F]{64})$/,
    'must be a public key: 04 and 128 hex digits',
  ),
}

/** Cells that must not be repeated in a message. */
const secretColumns: ReadonlySet<string> = new Set(['fileReadKey'])

const others = Object.keys(importColumns)
const checks = Object.values(importColumns)
/** The columns in the order of the cells. */
const columns = ['uid', ...others]
/** A chip is known by its UID, or of the second family by its public key. */
export const importSheet = { columns, required: [], anyOf: ['uid', 'publicKey'] } as const
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
  const uidOf = (row: number, cell: Cell, publicKey: Cell): string => {
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
      const uid = uidOf(row, cells[0], publicKey)
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

const newline = 10

/** Blocks cut to at most so many rows; where a cell holds a line end, to fewer. */
export function* piecesOf(
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

/** The heading and those rows of a sheet in the form in which it was sent. */
export const rowsOfBlocks = (blocks: readonly Buffer[], wanted: ReadonlySet<number>) => {
  let heading: readonly string[] | undefined
  let row = 0
  const rows: string[][] = []
  for (const block of blocks) {
    const parsed = Papa.parse<string[]>(block.toString('utf8').replace(/\n$/, ''), {
      delimiter: ',',
      newline: '\n',
    })
    for (const cells of parsed.data) {
      if (heading === undefined) {
        heading = cells
        continue
      }
      row += 1
      if (wanted.has(row)) rows.push(cells)
    }
  }
  const uidAt = heading?.indexOf('uid') ?? -1
  for (const cells of rows) if (cells[uidAt]) cells[uidAt] = colons(readUid(cells[uidAt]))
  return { heading: heading ?? [], rows }
}
