import { isJsonObject, parseExact } from '../../../values/json.ts'
import { sorted, TimeSlice } from '../../../values/time-slices.ts'
import { addBatchBytes, changeBatch, insertPiece } from '../../store/batches/batches.ts'
import { conflict, DomainError, invalid } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { assertBegan, type BatchCaller, batchOf, batchToRun, runOf } from './batches.ts'
import type { BatchDeps, BatchKind, BatchRun } from './kind.ts'
import { assertRoom, cutLines, sealLines } from './pieces.ts'

const maxPiecesPerWrite = 8
const problemsNamed = 20

/**
 * Appends rows. Rows before a failure stay, so a client that continues first asks for their number.
 * @param lines JSON, one row each
 * @param from the number of rows already uploaded
 * @returns the new number of rows @throws DomainError invalid_input, conflict, not_found, scope_missing, too_large
 */
export async function uploadRows(
  deps: Pick<BatchDeps, 'db' | 'clock' | 'box'>,
  caller: BatchCaller,
  idOrName: string,
  { from, lines }: { from: number; lines: readonly string[] },
): Promise<number> {
  const { db, box, clock } = deps
  const { batch, kind } = await batchToRun(db.read, caller, idOrName)
  assertBegan(caller, batch)
  const { id, total, teamId } = batch
  if (batch.state !== 'uploading') throw conflict(`Batch ${id} accepts no more rows: it is ${batch.state}.`)
  if (batch.undoes !== null) throw conflict(`Batch ${id} is an undo: its rows are made by the daemon.`)
  if (batch.uploaded !== from) throw elsewhere(id, batch.uploaded, from)
  if (from + lines.length > total)
    throw invalid('rows', `are more than the ${total} that the batch announced`)
  const ordered = await inOrder(lines, await checkRows(kind, runOf(batch), lines))
  // Rows that are reordered are stored all or none, because clients that continue count them in the order sent.
  const piecesPerWrite = kind.order ? Number.POSITIVE_INFINITY : maxPiecesPerWrite
  const slice = new TimeSlice()
  let uploaded = from
  let sealed: { count: number; lines: Buffer }[] = []
  let piece = batch.nextPiece
  const append = async () => {
    const count = sealed.reduce((sum, one) => sum + one.count, 0)
    const bytes = sealed.reduce((sum, one) => sum + one.lines.length, 0)
    const first = piece - sealed.length
    await db.write(async (trx) => {
      await assertRoom(trx, teamId, bytes)
      const isNext = await changeBatch(
        trx,
        id,
        { states: ['uploading'], uploaded },
        { uploaded: uploaded + count, nextPiece: piece, touchedAt: iso(clock.now()) },
      )
      if (!isNext) throw elsewhere(id, (await batchOf(trx, caller, id)).uploaded, uploaded)
      for (const [at, { count, lines: rows }] of sealed.entries())
        await insertPiece(trx, { batchId: id, piece: first + at, count, rows, plan: null, results: null })
      await addBatchBytes(trx, id, bytes)
    })
    uploaded += count
    sealed = []
  }
  for (const cut of cutLines(ordered)) {
    sealed.push({ count: cut.length, lines: sealLines(box, { id, piece, column: 'rows' }, cut) })
    piece += 1
    if (sealed.length === piecesPerWrite) await append()
    if (slice.shouldYield) await slice.next()
  }
  if (sealed.length > 0) await append()
  return uploaded
}

const elsewhere = (id: string, uploaded: number, from: number): DomainError =>
  conflict(`Batch ${id} has ${uploaded} rows, not ${from}. Continue from there.`)

/** @param keys sort keys of the lines; empty: the order stays */
async function inOrder(lines: readonly string[], keys: readonly string[]): Promise<readonly string[]> {
  if (keys.length === 0) return lines
  const keyed = lines.map((line, at) => ({ line, key: keys[at] ?? '' }))
  const inOrder = await sorted(keyed, ({ key: one }, { key: other }) =>
    one < other ? -1 : one > other ? 1 : 0,
  )
  return inOrder.map(({ line }) => line)
}

/**
 * @returns sort keys of the lines, if their kind has any
 * @throws DomainError invalid_input that names the invalid rows
 */
async function checkRows(
  kind: BatchKind,
  run: Pick<BatchRun, 'kind' | 'settings'>,
  lines: readonly string[],
): Promise<string[]> {
  const slice = new TimeSlice()
  const problems: string[] = []
  const keys: string[] = []
  for (const [at, line] of lines.entries()) {
    const read = readLine(kind, run, line, at)
    if ('problem' in read) problems.push(read.problem)
    else if (kind.order) keys.push(kind.order(read.value))
    if (problems.length === problemsNamed) break
    if (slice.shouldYield) await slice.next()
  }
  if (problems.length > 0) throw new DomainError('invalid_input', `Nothing was done. ${problems.join('; ')}`)
  return keys
}

function readLine(
  kind: BatchKind,
  run: Pick<BatchRun, 'kind' | 'settings'>,
  line: string,
  at: number,
): ReturnType<BatchKind['readRow']> {
  let value: unknown
  try {
    value = parseExact(line)
  } catch {
    return { problem: `line ${at + 1}: is not valid JSON` }
  }
  const row = isJsonObject(value) ? value.row : undefined
  if (typeof row !== 'number' || !Number.isSafeInteger(row) || row < 1)
    return { problem: `line ${at + 1}: row must be the number of the row, from 1` }
  const read = kind.readRow(value, run)
  return 'problem' in read ? { problem: `row ${row}: ${read.problem}` } : read
}
