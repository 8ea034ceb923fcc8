import { createReadStream, existsSync, readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { UsageError } from '../errors.ts'
import type { Surroundings } from '../surroundings.ts'
import { isBatchId } from './id.ts'
import { journalDir, journalPath } from './journal.ts'
import { type Counts, type EditRow, type Header, parseLine, type RowResult } from './records.ts'

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
  /** How often a row was sent, whether or not an answer came. */
  readonly sent: ReadonlyMap<number, number>
}

type Place = Pick<Surroundings, 'env' | 'home'>

export const readHistory = async (at: Place, id: string): Promise<History> => {
  const path = journalPath(at, id)
  if (!isBatchId(id) || !existsSync(path))
    throw new UsageError(`There is no batch "${id}".`, 'Those there are: tapchip batch list')
  const history = await readJournal(path)
  if (history === undefined) throw new UsageError(`${path} is no journal of a batch.`)
  return history
}

const readJournal = async (path: string): Promise<History | undefined> => {
  let header: Header | undefined
  let end: ({ at: string; how: 'done' | 'stopped' } & Counts) | undefined
  let pid = 0
  const rows: EditRow[] = []
  const results = new Map<number, RowResult>()
  const sent = new Map<number, number>()
  for await (const text of createInterface({
    input: createReadStream(path),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    const line = parseLine(text)
    if (line === undefined) continue
    if (line.type === 'batch') header = line
    else if (line.type === 'row') rows.push(line)
    else if (line.type === 'sent') for (const row of line.rows) sent.set(row, (sent.get(row) ?? 0) + 1)
    else if (line.type === 'result') results.set(line.row, line)
    else if (line.type === 'end') end = line
    if (line.type === 'batch' || line.type === 'resumed') {
      pid = line.pid
      end = undefined
    }
  }
  if (header === undefined) return undefined
  const status = end?.how ?? (isAlive(pid) ? 'running' : 'stopped')
  // An import of which only failures were reported is counted by its end alone.
  const counts = header.kind === 'chips import' && end ? end : countResults(results.values())
  return { header, status, endedAt: end?.at, counts, rows, results, sent }
}

export const countResults = (results: Iterable<RowResult>): Counts => {
  const counts = { changed: 0, unchanged: 0, failed: 0 }
  for (const { status } of results) counts[status === 'created' ? 'changed' : status] += 1
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

/** All batches, newest first. */
export const listBatches = async (at: Place): Promise<History[]> => {
  const dir = journalDir(at)
  if (!existsSync(dir)) return []
  const files = readdirSync(dir).filter((name) => name.endsWith('.jsonl') && isBatchId(name.slice(0, -6)))
  const histories: History[] = []
  for (const name of files.sort().reverse()) {
    const history = await readJournal(`${dir}/${name}`)
    if (history) histories.push(history)
  }
  return histories
}
