import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { CliError, UsageError } from '../errors.ts'
import { fileProblem } from '../file-problem.ts'
import type { Surroundings } from '../surroundings.ts'
import type { BadgeOutcome, BadgeRow } from './badge-records.ts'
import { type Damage, damagedJournal, isDamaged } from './damage.ts'
import { isBatchId } from './id.ts'
import { journalDir, journalPath } from './journal.ts'
import { soundLines } from './journal-lines.ts'
import {
  type BoxChip,
  type BoxStatus,
  type Counts,
  type EditRow,
  type Header,
  isForeignHeader,
  parseLine,
  type RowResult,
} from './records.ts'
import type { MetadataRow, Outcome, OutcomeStatus, TransferRow } from './token-records.ts'

export type BatchStatus = 'done' | 'stopped' | 'running'

/** A batch as its journal tells it. */
export interface History {
  readonly header: Header
  readonly status: BatchStatus
  readonly endedAt: string | undefined
  readonly counts: Counts
  readonly rows: readonly EditRow[]
  /** The last result of each row. */
  readonly results: ReadonlyMap<number, RowResult>
  /** Of batches of tokens: their rows, and what became of each at last. */
  readonly transfers: readonly TransferRow[]
  readonly metadata: readonly MetadataRow[]
  readonly outcomes: ReadonlyMap<number, Outcome>
  /** Of batches of badge events: their rows, and what became of each at last. */
  readonly badges: readonly BadgeRow[]
  readonly badgeOutcomes: ReadonlyMap<number, BadgeOutcome>
  /** Of boxes: their chips, each with its last end, in the order in which they were laid down. */
  readonly chips: ReadonlyMap<string, BoxChip>
  /** How often a row of tokens has failed. */
  readonly failures: ReadonlyMap<number, number>
  /** How often a row was sent, whether or not an answer came. */
  readonly sent: ReadonlyMap<number, number>
  readonly damage: Damage
}

type Place = Pick<Surroundings, 'env' | 'home'>

/**
 * @param skipDamaged to go on with what can be read of a damaged journal
 * @throws UsageError where there is no such batch; CliError where it never began, or its journal is damaged or another
 * version's
 */
export const readHistory = async (at: Place, id: string, skipDamaged = false): Promise<History> => {
  const path = journalPath(at, id)
  if (!isBatchId(id) || !existsSync(path))
    throw new UsageError(`There is no batch "${id}".`, 'Those there are: tapchip batch list')
  const history = await readJournal(path, id).catch((error: unknown) => {
    throw fileProblem(error, { path, verb: 'read' }) ?? error
  })
  if (isDamaged(history.damage) && !skipDamaged) throw damagedJournal(history.header, path, history.damage)
  return history
}

export const neverBegan = (id: string): CliError =>
  new CliError(`Batch ${id} was stopped before its first row was sent.`, {
    advice: 'Nothing was written. Start it again from its input.',
  })

const readJournal = async (path: string, id: string): Promise<History> => {
  const damaged: number[] = []
  let header: Header | undefined
  let end: ({ at: string; how: 'done' | 'stopped' } & Counts) | undefined
  let pid = 0
  const rows: EditRow[] = []
  const results = new Map<number, RowResult>()
  const transfers: TransferRow[] = []
  const metadata: MetadataRow[] = []
  const outcomes = new Map<number, Outcome>()
  const badges: BadgeRow[] = []
  const badgeOutcomes = new Map<number, BadgeOutcome>()
  const chips = new Map<string, BoxChip>()
  const failures = new Map<number, number>()
  const sent = new Map<number, number>()
  for await (const line of soundLines(path, damaged)) {
    if (line.type === 'batch') header = line
    else if (header?.kind === 'nfc provision' && (line.type === 'chip' || line.type === 'result'))
      chips.set(line.uid, chipAfter(chips.get(line.uid), line))
    else if (line.type === 'row') rows.push(line)
    else if (line.type === 'sent') for (const row of line.rows) sent.set(row, (sent.get(row) ?? 0) + 1)
    else if (line.type === 'result') results.set(line.row, line)
    else if (line.type === 'end') end = line
    else if (line.type === 'transfer') transfers.push(line)
    else if (line.type === 'metadata') metadata.push(line)
    else if (line.type === 'badge') badges.push(line)
    else if (line.type === 'badge-outcome') badgeOutcomes.set(line.row, line)
    else if (line.type === 'outcome') {
      outcomes.set(line.row, line)
      if (line.status === 'failed') failures.set(line.row, (failures.get(line.row) ?? 0) + 1)
    }
    if (line.type === 'batch' || line.type === 'resumed') {
      pid = line.pid
      end = undefined
    }
  }
  if (header === undefined) throw withoutHeader(path, id, damaged)
  const status = end?.how ?? (isAlive(pid) ? 'running' : 'stopped')
  const ofTokens = { transfers, metadata, outcomes, failures, badges, badgeOutcomes, chips }
  const heard = [...results.values(), ...outcomes.values(), ...badgeOutcomes.values()]
  // Of an import only the failures may be reported row by row: its end counts all of it. A box's end tells of the
  // last run alone, and counts a chip that was laid down twice twice.
  const counts =
    header.kind === 'nfc provision'
      ? countResults([...chips.values()].flatMap(({ status }) => (status ? [{ status }] : [])))
      : (end ?? countResults(heard))
  const isBegun = sent.size > 0 || heard.length > 0 || end !== undefined
  const known = new Set([rows, transfers, metadata, badges].flatMap((kind) => kind.map(({ row }) => row)))
  const told = new Set([sent, results, outcomes, badgeOutcomes].flatMap((kind) => [...kind.keys()]))
  // A row whose number is damaged is one too many and one too few.
  const unknown = [...told].filter((row) => !known.has(row)).length
  const missingRows = isBegun && keepsRows(header) ? Math.max(0, header.total - known.size, unknown) : 0
  const damage = { lines: damaged, missingRows }
  return { header, status, endedAt: end?.at, counts, rows, results, sent, damage, ...ofTokens }
}

/** All of them stand in it before the first is sent. */
const keepsRows = ({ kind }: Header): boolean => kind !== 'chips import' && kind !== 'nfc provision'

/** Without its first line a journal says neither where its rows went nor what was done to them. */
const withoutHeader = (path: string, id: string, damaged: readonly number[]): CliError => {
  if (damaged.length === 0) return neverBegan(id)
  const [first = ''] = readPart(path, 0)
  return new CliError(
    isForeignHeader(first)
      ? `Batch ${id} was begun by another version of tapchip, which writes its journal in another way. It is ${path}`
      : `The journal of batch ${id} is damaged: its first line cannot be read. It is ${path}`,
    {
      advice: isForeignHeader(first)
        ? 'Go on with the version that it was begun with (tapchip --version).'
        : 'Put the file back from a backup, or begin a new batch from the input.',
    },
  )
}

/** A chip that ended well stays so: later it may be laid down by mistake. */
const chipAfter = (
  before: BoxChip | undefined,
  line: Omit<BoxChip, 'status'> & { readonly status?: BoxStatus | RowResult['status'] },
): BoxChip => {
  const isDone = before?.status === 'provisioned' || before?.status === 'unchanged'
  const status = line.status === 'changed' || line.status === 'created' ? undefined : line.status
  if (isDone || (before !== undefined && status === undefined)) return before ?? { uid: line.uid }
  const row = line.row ?? before?.row
  return {
    uid: line.uid,
    ...(row === undefined ? {} : { row }),
    ...(status === undefined ? {} : { status }),
    ...(line.error === undefined ? {} : { error: line.error }),
  }
}

const countedAs: Readonly<
  Record<RowResult['status'] | OutcomeStatus | BadgeOutcome['status'] | BoxStatus, keyof Counts>
> = {
  changed: 'changed',
  created: 'changed',
  assigned: 'changed',
  transferred: 'changed',
  provisioned: 'changed',
  queued: 'changed',
  unchanged: 'unchanged',
  failed: 'failed',
}

export const countResults = (
  results: Iterable<{ readonly status: keyof typeof countedAs }>,
  before: Counts = { changed: 0, unchanged: 0, failed: 0 },
): Counts => {
  const counts = { changed: before.changed, unchanged: before.unchanged, failed: before.failed }
  for (const { status } of results) counts[countedAs[status]] += 1
  return counts
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return pid > 0
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** What a list shows of a batch. */
export type Brief = Pick<History, 'header' | 'status' | 'endedAt' | 'counts'>

/** All batches, newest first. @param failed hears of those that cannot be read */
export const listBatches = async (at: Place, failed: (error: CliError) => void): Promise<Brief[]> => {
  const dir = journalDir(at)
  if (!existsSync(dir)) return []
  const files = readdirSync(dir).filter((name) => name.endsWith('.jsonl') && isBatchId(name.slice(0, -6)))
  const batches: Brief[] = []
  for (const name of files.sort().reverse()) {
    try {
      batches.push(readEnds(`${dir}/${name}`) ?? (await readHistory(at, name.slice(0, -6))))
    } catch (error) {
      const problem =
        error instanceof CliError ? error : fileProblem(error, { path: `${dir}/${name}`, verb: 'read' })
      if (problem === undefined) throw error
      failed(problem)
    }
  }
  return batches
}

const endSize = 4096

/** The lines of the first 4 kB from a place in a file. */
const readPart = (path: string, from: number): string[] => {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(endSize)
    return bytes
      .toString('utf8', 0, readSync(file, bytes, 0, endSize, from))
      .trimEnd()
      .split('\n')
  } finally {
    closeSync(file)
  }
}

/** The first line and the last tell all of a batch that came to an end, however long it is. */
const readEnds = (path: string): Brief | undefined => {
  const header = parseLine(readPart(path, 0)[0] ?? '')
  const end = parseLine(readPart(path, Math.max(0, statSync(path).size - endSize)).at(-1) ?? '')
  if (header?.type !== 'batch' || end?.type !== 'end' || header.kind === 'nfc provision') return undefined
  return { header, status: end.how, endedAt: end.at, counts: end }
}
