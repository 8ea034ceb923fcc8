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
import type { Metadata, MetadataRow } from './token-records.ts'

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
}

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
  await readSheet(source, { ...options, structured: new Set(['metadata']) }, problems, {
    row: (row, cells) => {
      const target = tokens.read(row, cells.slice(0, tokenColumns.length))
      const metadata = read(cells, (column, why) => problems.add(row, column, why))
      if (metadata && JSON.stringify(metadata).length > longest)
        problems.add(
          row,
          'metadata',
          `takes more than ${longest} characters; one token at a time may take more: phygitals metadata --token-id`,
        )
      if (target && metadata) rows.push({ row, target, metadata })
    },
  })
  tokens.finish(accepted)
  return {
    input: { name: source.name, path: source.path ?? null, sha256: source.sha256() },
    rows,
    problems,
  }
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
