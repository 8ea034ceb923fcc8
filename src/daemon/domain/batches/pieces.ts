import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { countOfStatus } from '../../../values/batch.ts'
import { isJsonObject, parseExact, parseObject, stringifyExact } from '../../../values/json.ts'
import { findBatchFile } from '../../store/batches/batch-files.ts'
import { type BatchPieceRow, findPiece, pruneBatches, sizeOfBatches } from '../../store/batches/batches.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Queries } from '../../store/database/database.ts'
import { DomainError } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import type { BatchKind, BatchRun, NumberedRow, RowResult } from './kind.ts'

/** Limits of a piece, which is read and written as a whole. */
const pieceBounds = { rows: 500, characters: 128 * 1024 }

type Column = 'rows' | 'plan' | 'results'

/** A result and its pass. */
export interface StoredResult {
  readonly pass: number
  readonly result: RowResult
  /** Kept as stored text, because a piece is encrypted again with each write. */
  readonly line: string
}

export const storedResult = (pass: number, result: RowResult): StoredResult => ({
  ...{ pass, result, line: stringifyExact([pass, result]) },
})

/** A decrypted piece of a batch. Its lists are indexed by the position of a row in the piece. */
export interface OpenPiece {
  readonly piece: number
  readonly count: number
  readonly rows: readonly NumberedRow[]
  /** undefined: not planned. */
  readonly plan: readonly RowResult[] | undefined
  readonly results: readonly (StoredResult | undefined)[]
  /** Size of the results in bytes, as stored. */
  readonly resultBytes: number
}

const contextOf = (id: string, piece: number, column: Column): string => `batch ${id} ${piece} ${column}`

// Level 1 takes a third of the default's time, and compresses similar rows well enough.
const level = { level: 1 }

/** JSON lines, deflated and encrypted for their position. */
export const sealLines = (
  box: SecretBox,
  { id, piece, column }: { id: string; piece: number; column: Column },
  lines: readonly string[],
): Buffer => box.seal(deflateRawSync(lines.join('\n'), level), contextOf(id, piece, column))

const openLines = (box: SecretBox, id: string, piece: number, column: Column, sealed: Uint8Array): string[] =>
  inflateRawSync(box.open(sealed, contextOf(id, piece, column)))
    .toString()
    .split('\n')

export const sealResults = (
  box: SecretBox,
  place: { id: string; piece: number },
  results: readonly (StoredResult | undefined)[],
): Buffer =>
  sealLines(
    box,
    { ...place, column: 'results' },
    results.map((stored) => stored?.line ?? ''),
  )

const isResult = (value: unknown): value is RowResult =>
  isJsonObject(value) &&
  typeof value.row === 'number' &&
  typeof value.status === 'string' &&
  value.status in countOfStatus

function resultOn(value: unknown): RowResult {
  if (isResult(value)) return value
  throw new Error('A result of a batch cannot be read: a newer version wrote it')
}

function parseStored(line: string): StoredResult | undefined {
  if (line === '') return undefined
  const stored = parseExact(line)
  const [pass, result]: readonly unknown[] = Array.isArray(stored) ? stored : []
  return { pass: Number(pass), result: resultOn(result), line }
}

type BatchRef = Pick<BatchRun, 'id' | 'kind' | 'settings'>

const linesOf = (
  box: SecretBox,
  id: string,
  { piece, count }: BatchPieceRow,
  column: Column,
  sealed: Uint8Array,
) => (count === 0 ? [] : openLines(box, id, piece, column, sealed))

export function openPiece(box: SecretBox, kind: BatchKind, run: BatchRef, stored: BatchPieceRow): OpenPiece {
  const { piece, count, rows, plan, results } = stored
  const { id } = run
  return {
    piece,
    count,
    rows: linesOf(box, id, stored, 'rows', rows).map((line) => rowOn(kind, run, line)),
    plan:
      plan === null
        ? undefined
        : linesOf(box, id, stored, 'plan', plan).map((line) => resultOn(parseExact(line))),
    results: openResults(box, id, stored),
    resultBytes: results?.length ?? 0,
  }
}

/** By the position of each row. */
export const openResults = (
  box: SecretBox,
  id: string,
  stored: BatchPieceRow,
): (StoredResult | undefined)[] =>
  stored.results === null
    ? Array.from({ length: stored.count }, () => undefined)
    : linesOf(box, id, stored, 'results', stored.results).map((line) => parseStored(line))

/** The JSON of a pass's results in a range of rows; the end is exclusive. */
export const resultTexts = (
  box: SecretBox,
  id: string,
  stored: BatchPieceRow,
  { pass, from, end }: { pass: number; from: number; end: number },
): string[] => {
  if (stored.results === null) return []
  const begin = `[${pass},`
  return linesOf(box, id, stored, 'results', stored.results)
    .slice(from, end)
    .flatMap((line) => (line.startsWith(begin) ? line.slice(begin.length, -1) : []))
}

export const rowNumbers = (box: SecretBox, id: string, stored: BatchPieceRow): number[] =>
  linesOf(box, id, stored, 'rows', stored.rows).map((line) => Number(parseObject(line)?.row))

/** Rows were validated when uploaded. */
function rowOn(kind: BatchKind, run: BatchRef, line: string): NumberedRow {
  const read = kind.readRow(parseExact(line), run)
  if ('problem' in read) throw new Error(`A row of batch ${run.id} is no longer valid: ${read.problem}`)
  return read.value
}

/** In order, one at a time. */
export async function* piecesOfBatch(db: Queries, id: string, from = 0): AsyncGenerator<BatchPieceRow> {
  for (let piece = from; ; piece += 1) {
    const stored = await findPiece(db, id, piece)
    if (!stored) return
    yield stored
  }
}

/** Splits lines into pieces within the limits. */
export function* cutLines(lines: Iterable<string>): Generator<string[]> {
  let piece: string[] = []
  let characters = 0
  for (const line of lines) {
    const isFull = piece.length >= pieceBounds.rows || characters + line.length > pieceBounds.characters
    if (isFull && piece.length > 0) {
      yield piece
      piece = []
      characters = 0
    }
    piece.push(line)
    characters += line.length
  }
  if (piece.length > 0) yield piece
}

const fileContextOf = (id: string, hash: string): string => `batch ${id} file ${hash}`

export const sealFile = (box: SecretBox, id: string, hash: string, content: Uint8Array): Buffer =>
  box.seal(content, fileContextOf(id, hash))

/** @returns undefined if it was not uploaded */
export async function openFile(
  { db, box }: { db: { read: Queries }; box: SecretBox },
  id: string,
  hash: string,
): Promise<{ type: string; content: Buffer } | undefined> {
  const file = await findBatchFile(db.read, id, hash)
  return file && { type: file.type, content: box.open(file.data, fileContextOf(id, hash)) }
}

/** Limits per team, so that no team uses up the others' space. */
const share = { batches: 1000, stored: 2 ** 29 }

const hour = 3_600_000
const day = 24 * hour

/** How long batches are kept after their last activity. Running and scheduled ones stay. */
const keptFor = [
  { ms: hour, states: ['uploading'] },
  { ms: 90 * day, states: ['done', 'cancelled', 'undone'] },
  { ms: 180 * day, states: ['planned', 'proposed', 'paused', 'failed'] },
] as const

/** @param bytes to add to a batch; undefined: a new batch @throws DomainError too_large */
export async function assertRoom(trx: Queries, teamId: number, bytes?: number): Promise<void> {
  const { count, stored } = await sizeOfBatches(trx, teamId)
  const isFull =
    bytes === undefined ? count >= share.batches || stored >= share.stored : stored + bytes > share.stored
  if (!isFull) return
  throw new DomainError(
    'too_large',
    'The limit of stored batches is reached. Delete old ones: tapchip batch remove ID.',
  )
}

/** @returns the number of deleted rows of one kind, at most `limit` */
export async function forgetBatches(trx: Queries, now: number, limit: number): Promise<number> {
  let maxDeleted = 0
  for (const { ms, states } of keptFor)
    maxDeleted = Math.max(maxDeleted, await pruneBatches(trx, { before: iso(now - ms), states, limit }))
  return maxDeleted
}
