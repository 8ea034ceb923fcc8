import { readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { parseExact } from '../../../values/exact-json.ts'
import { isJsonObject } from '../../../values/json.ts'
import type { AnswerOf } from '../../client/types.ts'
import { splitField } from '../answers.ts'
import type { Cell } from '../input/sheet.ts'
import type { Row } from '../journal.ts'
import type { SheetSpec } from '../kind.ts'
import { type Token, TokenColumns, type TokenTarget, tokenColumns, tokenNeeded } from '../token.ts'
import type { Metadata, Template } from './metadata-template.ts'

/** `previous` is the metadata before the batch, if it was seen. In each, null: none. */
export interface MetadataRow extends Row {
  readonly target: TokenTarget
  readonly metadata: Metadata | null
  /** The row fails unless this is the current metadata. */
  readonly expected?: Metadata | null | undefined
  readonly previous?: Metadata | null | undefined
}

export type Described = Exclude<AnswerOf<'POST /phygitals/metadata/batch'>, { totals: unknown }>
export type MetadataCheck = ReadonlyMap<number, Described>

/** The daemon reads lines of at most 64 Ki characters. */
const longest = 60_000

/** A sheet with a metadata column, or with the columns that a template takes. */
export const metadataSheet = (template?: Template): SheetSpec<MetadataRow, MetadataCheck> => {
  const others = (template?.columns ?? ['metadata']).filter(
    (column) => !tokenColumns.some((known) => known === column),
  )
  const columns = [...tokenColumns, ...others]
  const wanted = (template?.columns ?? []).filter((column) => ofToken.some((known) => known === column))
  return {
    columns,
    ...tokenNeeded,
    required: others,
    structured: new Set(['metadata']),
    ...(template ? {} : { files: new Set(['metadata']) }),
    parse: (_, problems, folder) => {
      const tokens = new TokenColumns(problems)
      const read = template ? fromTemplate(template, columns) : fromCells(columns.indexOf('metadata'), folder)
      // Their template needs the token of the chip: until the daemon tells it, a placeholder stands in.
      const ofChips = new Map<number, readonly Cell[]>()
      return {
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
              `is longer than ${longest} characters; set longer metadata one token at a time: phygitals metadata --token-id`,
            )
          if (isByChip && metadata) ofChips.set(row, cells)
          return target && metadata ? { row, target, metadata } : undefined
        },
        finish: (accepted) => tokens.finish(accepted),
        complete: (rows, check) => {
          if (ofChips.size === 0) return undefined
          return rows.flatMap((row) => {
            const cells = ofChips.get(row.row)
            if (cells === undefined) return [row]
            const token = tokenIn(check.get(row.row))
            const isKnown = typeof token !== 'string'
            const metadata = read(isKnown ? withToken(cells, token) : cells, (column) =>
              problems.add(row.row, column, `the chip's token is not known: ${isKnown ? '' : token}`),
            )
            return metadata === undefined ? [] : [{ ...row, metadata }]
          })
        },
      }
    },
  }
}

/**
 * The token of the row's chip, or the reason why it is unknown. An invalid row needs none, since it is refused anyway.
 */
const tokenIn = ({ token, error, status }: Partial<Described> = {}): Token | string => {
  if (token?.tokenId) return { ...token, tokenId: token.tokenId }
  return status === 'invalid' ? noToken : splitField(error ?? 'it has none').why
}

/** Fields of the token that a template may use. */
const ofToken = ['contractAddress', 'chainId', 'tokenId'] as const
/** A placeholder that is valid wherever a token is. */
const noToken = { contractAddress: `0x${'0'.repeat(40)}`, chainId: 1, tokenId: '1' }

const withToken = (cells: readonly Cell[], token: Token): Cell[] => {
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

/** A cell holds JSON, or the path of a JSON file. */
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

/** @returns the reason as text if it is not valid */
const readFile = (folder: string, path: string): Metadata | string => {
  try {
    const parsed = parse(
      readFileSync(isAbsolute(path) ? path : join(folder, path), 'utf8').replace(/^\ufeff/, ''),
    )
    return typeof parsed === 'string' ? `"${path}" ${parsed}` : parsed
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return `"${path}" ${isMissing ? 'is neither JSON nor an existing file' : 'cannot be read'}`
  }
}

const parse = (text: string): Metadata | string => {
  try {
    const value: unknown = parseExact(text)
    return isJsonObject(value) ? value : 'must be a JSON object'
  } catch (error) {
    return `is not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}
