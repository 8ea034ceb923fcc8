import { readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { isJsonObject, parseExact } from '../../../values/json.ts'
import { emptyMetadata } from '../../../values/token.ts'
import { metadataProblems } from '../../../values/token-metadata.ts'
import type { CliContext } from '../../context.ts'
import type { Cell } from '../input/sheet.ts'
import type { SheetRow, SheetSpec } from '../sheet-kind.ts'
import {
  addIfInvalid,
  splitField,
  type Token,
  TokenColumns,
  type TokenTarget,
  targetOnWire,
  tokenColumns,
  tokenNeeded,
} from '../token.ts'
import type { Metadata, Template } from './metadata-template.ts'

export interface MetadataRow extends SheetRow {
  readonly target: TokenTarget
  readonly metadata: Metadata
}

/** The daemon reads lines of at most 64 Ki characters. */
const maxLength = 60_000

/** A sheet with a metadata column, or with the columns that a template takes. */
export const metadataSheet = (template?: Template): SheetSpec<MetadataRow> => {
  const others = (template?.columns ?? ['metadata']).filter(
    (column) => !tokenColumns.some((known) => known === column),
  )
  const columns = [...tokenColumns, ...others]
  const needsToken = ofToken.some((column) => template?.columns.includes(column))
  return {
    columns,
    ...tokenNeeded,
    required: others,
    structured: new Set(['metadata']),
    ...(template ? {} : { files: new Set(['metadata']) }),
    isCheckedByPlan: true,
    parse: (ctx, problems, folder) => {
      const tokens = new TokenColumns(problems)
      const read = template ? fromTemplate(template, columns) : fromCells(columns.indexOf('metadata'), folder)
      // Their template needs the token of the chip: until the daemon reports it, a placeholder stands in.
      const ofChips = new Map<number, readonly Cell[]>()
      const fits = (row: number, metadata: Metadata): boolean => {
        const wrong = [...metadataProblems(metadata, { of: 'phygital' })]
        for (const { path, message } of wrong)
          problems.add(row, undefined, `${['metadata', ...path].join('.')}: ${message}`)
        const isTooLong = JSON.stringify(metadata).length > maxLength
        if (isTooLong)
          problems.add(
            row,
            'metadata',
            `is longer than ${maxLength} characters; set longer metadata one token at a time: phygitals metadata --token-id`,
          )
        return wrong.length === 0 && !isTooLong
      }
      const complete = async (rows: readonly MetadataRow[]): Promise<readonly MetadataRow[]> => {
        const found = await tokensOf(
          ctx,
          rows.filter(({ row }) => ofChips.has(row)),
        )
        return rows.flatMap((one) => {
          const cells = ofChips.get(one.row)
          if (cells === undefined) return [one]
          const token = found.get(one.row) ?? 'the daemon did not tell it'
          const isKnown = typeof token !== 'string'
          const metadata = read(isKnown ? withToken(cells, token) : cells, (column, why) =>
            problems.add(one.row, column, isKnown ? why : `the chip's token is not known: ${token}`),
          )
          return metadata !== undefined && fits(one.row, metadata) ? [{ ...one, metadata }] : []
        })
      }
      return {
        row: (row, cells) => {
          const target = tokens.read(row, cells.slice(0, tokenColumns.length))
          const isByChip = needsToken && target !== undefined && 'uid' in target
          const metadata = read(isByChip ? withToken(cells, noToken) : cells, (column, why) =>
            problems.add(row, column, why),
          )
          if (metadata === undefined || !fits(row, metadata) || target === undefined) return undefined
          if (isByChip) ofChips.set(row, cells)
          return { row, target, metadata }
        },
        finish: (accepted) => tokens.finish(accepted),
        ...(needsToken && { complete }),
        // Tokens that two rows are about.
        planned: (result) => addIfInvalid(problems, result),
      }
    },
  }
}

/** Rows that are asked about in one request. */
const askedTogether = 20_000

/** The token of each row's chip, or the reason why it is unknown. */
const tokensOf = async (
  ctx: CliContext,
  rows: readonly MetadataRow[],
): Promise<ReadonlyMap<number, Token | string>> => {
  const client = await ctx.client()
  const found = new Map<number, Token | string>()
  for (const some of chunksOf(rows, askedTogether)) {
    const content = some.map(
      ({ target }) => `${JSON.stringify({ ...targetOnWire(target), metadata: emptyMetadata })}\n`,
    )
    const answers = client.stream('POST /phygitals/metadata/batch', {
      query: { dryRun: 'true' },
      upload: { contentType: 'application/x-ndjson', content },
    })
    for await (const answer of answers) {
      const row = 'row' in answer ? some[answer.row - 1]?.row : undefined
      if (row === undefined || !('row' in answer)) continue
      const { token, error = 'it has none' } = answer
      found.set(row, token?.tokenId ? { ...token, tokenId: token.tokenId } : splitField(error).why)
    }
  }
  return found
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

type ReportProblem = (column: string, why: string) => void
type Read = (cells: readonly Cell[], report: ReportProblem) => Metadata | undefined

const fromTemplate = (template: Template, columns: readonly string[]): Read => {
  const at = new Map(columns.map((column, i) => [column, i]))
  return (cells, report) => template.fill((column) => cells[at.get(column) ?? -1], report)
}

/** A cell holds JSON, or the path of a JSON file. */
const fromCells = (at: number, folder: string): Read => {
  const files = new Map<string, Metadata | string>()
  return (cells, report) => {
    const cell = cells[at]
    const known = cell?.startsWith('{') ? undefined : files.get(cell ?? '')
    const found = !cell
      ? 'is missing'
      : (known ?? (cell.startsWith('{') ? parse(cell) : readFile(folder, cell)))
    if (cell && !cell.startsWith('{')) files.set(cell, found)
    if (typeof found !== 'string') return found
    report('metadata', found)
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

function* chunksOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size)
}
