import { readFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import type { CliContext } from '../context.ts'
import { Problems } from './input/problems.ts'
import { type Cell, readSheet, type SheetOptions } from './input/sheet.ts'
import { openSource } from './input/source.ts'
import { isRecord } from './record-parts.ts'
import type { Header } from './records.ts'
import type { Template } from './template.ts'
import { TokenColumns, tokenColumns, tokenNeeded } from './token-columns.ts'
import type { Metadata, MetadataRow, TokenTarget } from './token-records.ts'

/** The columns of a sheet: of its own metadata, or of what a template takes. */
export const metadataColumns = (template: Template | undefined) => {
  const others = (template?.columns ?? ['metadata']).filter(
    (column) => !tokenColumns.some((known) => known === column),
  )
  return { columns: [...tokenColumns, ...others], needed: { ...tokenNeeded, required: others } }
}

/** The daemon reads lines of at most 64 Ki characters. */
const longest = 60_000

export interface MetadataInput {
  readonly input: Header['input']
  readonly rows: readonly MetadataRow[]
  /** What the sheet alone shows: the daemon checks what is in the metadata. */
  readonly problems: Problems
  /**
   * Rows that name a chip, and whose template wants the token that it carries: they come with a token in its place
   * that is none. Fills in what the check found, and adds to the problems where it found none.
   */
  readonly withTokens: ((tokenOf: TokenFinder) => readonly MetadataRow[]) | undefined
}

/** The token that a row's chip carries, or why it is not known. */
export type TokenFinder = (row: number) => Exclude<TokenTarget, { readonly uid: string }> | string

export const readMetadataSheet = async (
  ctx: CliContext,
  file: string,
  {
    options,
    template,
    accepted,
  }: { readonly options: SheetOptions; readonly template: Template | undefined; readonly accepted: boolean },
): Promise<MetadataInput> => {
  const source = openSource(ctx.at, file)
  const problems = new Problems()
  const tokens = new TokenColumns(problems)
  const read = template
    ? fromTemplate(template, options.columns)
    : fromCells(
        options.columns.indexOf('metadata'),
        source.path === undefined ? ctx.at.cwd : dirname(source.path),
      )
  const rows: MetadataRow[] = []
  const ofChips = new Map<number, readonly Cell[]>()
  const wanted = (template?.columns ?? []).filter((column) => ofToken.some((known) => known === column))
  await readSheet(source, { ...options, structured: new Set(['metadata']) }, problems, {
    row: (row, cells) => {
      const target = tokens.read(row, cells.slice(0, tokenColumns.length))
      const isByChip = wanted.length > 0 && target !== undefined && 'uid' in target
      const metadata = read(isByChip ? withToken(cells, noToken) : cells, (column, why) =>
        problems.add(row, column, why),
      )
      if (metadata && JSON.stringify(metadata).length > longest)
        problems.add(
          row,
          'metadata',
          `takes more than ${longest} characters; one token at a time may take more: phygitals metadata --token-id`,
        )
      if (target && metadata) rows.push({ row, target, metadata })
      if (isByChip && metadata) ofChips.set(row, cells)
    },
  })
  tokens.finish(accepted)
  return {
    input: { name: source.name, path: source.path ?? null, sha256: source.sha256() },
    rows,
    problems,
    withTokens:
      ofChips.size === 0
        ? undefined
        : (tokenOf) =>
            rows.flatMap((row) => {
              const cells = ofChips.get(row.row)
              if (cells === undefined) return [row]
              const token = tokenOf(row.row)
              const isKnown = typeof token !== 'string'
              const metadata = read(isKnown ? withToken(cells, token) : cells, (column) =>
                problems.add(row.row, column, `the chip's token is not known: ${isKnown ? '' : token}`),
              )
              return metadata === undefined ? [] : [{ ...row, metadata }]
            }),
  }
}

/** What a template may take of the token of a chip. */
const ofToken = ['contractAddress', 'chainId', 'tokenId'] as const
/** Fits wherever a token does. */
export const noToken = { contractAddress: `0x${'0'.repeat(40)}`, chainId: 1, tokenId: '1' }

const withToken = (cells: readonly Cell[], token: Exclude<TokenTarget, { readonly uid: string }>): Cell[] => {
  const filled = [...cells]
  for (const column of ofToken) filled[tokenColumns.indexOf(column)] = String(token[column])
  return filled
}

type Complain = (column: string, why: string) => void
type Read = (cells: readonly Cell[], complain: Complain) => Metadata | undefined

const fromTemplate = (template: Template, columns: readonly string[]): Read => {
  const at = new Map(columns.map((column, i) => [column, i]))
  return (cells, complain) => template.fill((column) => cells[at.get(column) ?? -1], complain)
}

/** A cell holds JSON, or the path of a file that does. */
const fromCells = (at: number, folder: string): Read => {
  const files = new Map<string, Metadata | string>()
  return (cells, complain) => {
    const cell = cells[at]
    const known = cell?.startsWith('{') ? undefined : files.get(cell ?? '')
    const found = !cell
      ? 'is missing'
      : (known ?? (cell.startsWith('{') ? parse(cell) : readFile(folder, cell)))
    if (cell && !cell.startsWith('{')) files.set(cell, found)
    if (typeof found !== 'string') return found
    complain('metadata', found)
    return undefined
  }
}

/** @returns why not, where it is none */
const readFile = (folder: string, path: string): Metadata | string => {
  try {
    const parsed = parse(
      readFileSync(isAbsolute(path) ? path : join(folder, path), 'utf8').replace(/^\ufeff/, ''),
    )
    return typeof parsed === 'string' ? `"${path}" ${parsed}` : parsed
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return `"${path}" ${isMissing ? 'is neither JSON nor a file that is there' : 'cannot be read'}`
  }
}

const parse = (text: string): Metadata | string => {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : 'must be a JSON object'
  } catch (error) {
    return `is not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}
