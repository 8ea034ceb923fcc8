import { existsSync, readdirSync } from 'node:fs'
import { isBatchId } from '../../values/batch-id.ts'
import { parseObject } from '../../values/json.ts'
import { CliError, UsageError } from '../errors.ts'
import { fileProblem } from '../file-problem.ts'
import { counted } from '../io/text.ts'
import type { SystemPaths } from '../system.ts'
import { endsOf, isArchive, isJournal, readPart, unpackJournal } from './archive.ts'
import { countResults, journalDir, journalPath, linesOf, placeOf } from './journal.ts'
import { JournalReader, kindNamed } from './journal-reader.ts'
import type { Damage, History, Kind } from './kind.ts'

const beginning = '{"type":"'

export interface Batch {
  readonly kind: Kind
  readonly history: History
}

/**
 * @param kinds that the batch may be of
 * @param skipDamaged reads what can be read of a damaged journal
 * @throws UsageError if there is no such batch; CliError if it never started, or its journal is damaged or of another
 * version
 */
export const readBatch = async (
  system: SystemPaths,
  id: string,
  kinds: readonly Kind[],
  skipDamaged = false,
): Promise<Batch> => {
  const path = journalPath(system, id)
  if (isBatchId(id)) await unpackJournal(system, id)
  if (!isBatchId(id) || !existsSync(path))
    throw new UsageError(`There is no batch "${id}".`, 'List them: tapchip batch list')
  const batch = await readJournal(path, id, kinds).catch((error: unknown) => {
    throw fileProblem(error, { path, verb: 'read' }) ?? error
  })
  const { header, damage } = batch.history
  if (!isDamaged(damage) || skipDamaged) return batch
  const undo =
    'name' in batch.kind.undo
      ? ` To undo what can be undone: tapchip batch undo ${header.id} --skip-damaged.`
      : ''
  // Nobody knows what happened to such rows: leaving them out would look like success.
  throw new CliError(describeDamage(header.id, path, damage), {
    advice:
      `Restore the file from a backup. To see what can be read: tapchip batch report ${header.id} --skip-damaged.${undo} ` +
      'To finish the rest, start a new batch from the input.',
  })
}

const readJournal = async (path: string, id: string, kinds: readonly Kind[]): Promise<Batch> => {
  const reader = new JournalReader(kinds)
  const damaged: number[] = []
  let silent: { readonly number: number; readonly isBeginning: boolean; readonly hasEnd: boolean } | undefined
  for await (const { number, text, hasEnd } of linesOf(path)) {
    const line = parseObject(text)
    const isSound = line !== undefined && reader.take(line)
    // A kill may cut a line short: it is the last one, or a resume starts a new line after it.
    if (silent && !(silent.isBeginning && isSound && line.type === 'resumed')) damaged.push(silent.number)
    const isBeginning = text.startsWith(beginning) || beginning.startsWith(text)
    silent = isSound ? undefined : { number, isBeginning, hasEnd }
  }
  if (silent && !(silent.isBeginning && !silent.hasEnd)) damaged.push(silent.number)
  const { header, kind, end, rows, results, failures, sent } = reader
  if (header === undefined || kind === undefined) throw withoutHeader(path, id, damaged)
  // The id leads to files, and names rows to the daemon.
  if (header.id !== id) throw notOfBatch(id, path)
  const counts = end ?? countResults(results.values())
  const isBegun = sent.size > 0 || results.size > 0 || end !== undefined
  // A row with a damaged number counts once as unknown and once as missing.
  const unknown = new Set([...sent.keys(), ...results.keys()].filter((row) => !reader.rowNumbers.has(row)))
  const missingRows = isBegun ? Math.max(0, header.total - rows.length, unknown.size) : 0
  const isOwn = reader.place === undefined || reader.place === placeOf(path)
  const history: History = {
    header,
    status: end?.how ?? (isOwn && isAlive(reader.pid) ? 'running' : 'stopped'),
    endedAt: end?.at,
    auditHead: end?.auditHead,
    counts,
    rows,
    results,
    failures,
    sent,
    damage: { lines: damaged, missingRows },
    isOwn,
    hasEnd: end !== undefined,
  }
  return { kind, history }
}

/** Without its first line, a journal tells neither which daemon got the rows nor what they were. */
const withoutHeader = (path: string, id: string, damaged: readonly number[]): CliError => {
  if (damaged.length === 0)
    return new CliError(
      `The journal of batch ${id} records nothing: the batch was stopped before its first row was sent, or the file lost its content. The file is ${path}`,
      {
        advice:
          'Check whether the daemon has the changes. Then restore the file from a backup, or start a new batch from the input.',
      },
    )
  const first = parseObject(readPart(path, 0)[0] ?? '')
  return first?.type === 'batch' && 'version' in first
    ? new CliError(
        `Batch ${id} was started by another version of tapchip, whose journal has a different format. The file is ${path}`,
        { advice: 'Continue with the version that started it (tapchip --version).' },
      )
    : new CliError(
        `The journal of batch ${id} is damaged: its first line cannot be read. The file is ${path}`,
        {
          advice: 'Restore the file from a backup, or start a new batch from the input.',
        },
      )
}

export const notOfBatch = (id: string, path: string): CliError =>
  new CliError(`The file ${path} is not the journal of batch ${id}: its first line is of another batch.`, {
    advice: 'Nothing was sent. Move the file away, and ask whoever ran the batch.',
  })

export const neverBegan = (id: string): CliError =>
  new CliError(`Batch ${id} was stopped before its first row was sent.`, {
    advice: 'Nothing was written. Start it again from its input.',
  })

export const isDamaged = ({ lines, missingRows }: Damage): boolean => lines.length > 0 || missingRows > 0

const shownLines = 10

export const describeDamage = (id: string, path: string, { lines, missingRows }: Damage): string => {
  const shown = `${lines.slice(0, shownLines).join(', ')}${lines.length > shownLines ? ', …' : ''}`
  const why = [
    ...(lines.length === 0 ? [] : [`${counted(lines.length, 'line is', 'lines are')} invalid (${shown})`]),
    ...(missingRows === 0
      ? []
      : [`${counted(missingRows, 'row of the batch is', 'rows of the batch are')} missing`]),
  ]
  return `The journal of batch ${id} is damaged: ${why.join(', and ')}. The file is ${path}`
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return pid > 0
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

export type BatchSummary = Pick<History, 'header' | 'status' | 'endedAt' | 'counts'>

/** All batches, newest first. @param failed is called for each journal that cannot be read */
export const listBatches = async (
  system: SystemPaths,
  kinds: readonly Kind[],
  failed: (error: CliError) => void,
): Promise<BatchSummary[]> => {
  const dir = journalDir(system)
  if (!existsSync(dir)) return []
  const files = readdirSync(dir).filter(
    (name) =>
      (isJournal(name) && !readPart(`${dir}/${name}`, 0)[0]?.startsWith('{"type":"box"')) || isArchive(name),
  )
  const batches: BatchSummary[] = []
  for (const name of files.sort().reverse()) {
    try {
      batches.push(
        readEnds(`${dir}/${name}`, kinds) ??
          (await readBatch(system, name.replace(/\.jsonl.*$/, ''), kinds)).history,
      )
    } catch (error) {
      const words = { path: `${dir}/${name}`, verb: 'read' } as const
      const problem = error instanceof CliError ? error : fileProblem(error, words)
      if (problem === undefined) throw error
      failed(problem)
    }
  }
  return batches
}

/** Reads only the first and the last line, which suffice for a batch that has ended, however long it is. */
const readEnds = (path: string, kinds: readonly Kind[]): BatchSummary | undefined => {
  const ends = endsOf(path)
  if (!ends) return undefined
  const { header, end } = ends
  const kind = kindNamed(kinds, header.kind)
  if (kind === undefined) return undefined
  return { header, status: end.how, endedAt: end.at, counts: end }
}
