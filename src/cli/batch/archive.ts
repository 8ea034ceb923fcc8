import {
  closeSync,
  createReadStream,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename } from 'node:path'
import { createGunzip, createGzip } from 'node:zlib'
import { isBatchId } from '../../values/batch-id.ts'
import { parseObject } from '../../values/json.ts'
import { replaceLargeFile } from '../../values/replace-file.ts'
import type { SystemPaths } from '../system.ts'
import { type End, type Header, isEnd, isHeader, journalDir, journalPath } from './journal.ts'

// Journals of batches that are done are compressed, and in the end removed, when a later batch begins.

const day = 24 * 3_600_000
const usual = { days: 90, megabytes: 500 }
/** Below that, a file takes up a block or two whatever is in it. */
const leastBytes = 16 * 1024

export interface Ends {
  readonly header: Header
  readonly end: End
}

export const archivePath = (system: SystemPaths, id: string): string => `${journalPath(system, id)}.gz`

/** An empty member of a gzip file whose comment tells the first and last line, so that a list need not unpack it. */
const headOf = (ends: Ends): Buffer => {
  const text = JSON.stringify(ends).replace(
    /[^\x20-\x7e]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const start = [0x1f, 0x8b, 8, 0x10, 0, 0, 0, 0, 0, 0xff]
  return Buffer.concat([Buffer.from(start), Buffer.from(`${text}\0`), Buffer.from([3, 0]), Buffer.alloc(8)])
}

const headSize = 16 * 1024

/** @returns undefined if it is not an archive of ours */
const endsOfArchive = (path: string): Ends | undefined => {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(headSize)
    const text = bytes.toString('latin1', 10, readSync(file, bytes, 0, headSize, 0))
    const { header, end } = parseObject(text.slice(0, text.indexOf('\0'))) ?? {}
    return isHeader(header) && isEnd(end) ? { header, end } : undefined
  } finally {
    closeSync(file)
  }
}

/** Makes the journal a plain file again, as it is read and written. */
export const unpackJournal = async (system: SystemPaths, id: string): Promise<void> => {
  const archive = archivePath(system, id)
  if (existsSync(journalPath(system, id)) || !existsSync(archive)) return
  await replaceLargeFile(journalPath(system, id), createReadStream(archive).pipe(createGunzip()))
  rmSync(archive)
}

const pack = async (system: SystemPaths, id: string, ends: Ends): Promise<void> => {
  const path = journalPath(system, id)
  async function* content() {
    yield headOf(ends)
    // The fastest level: the processor is for the rows of the batch that begins.
    yield* createReadStream(path).pipe(createGzip({ level: 1 })) as AsyncIterable<Buffer>
  }
  await replaceLargeFile(archivePath(system, id), content())
  rmSync(path)
}

const endSize = 4096

/** The lines in the first 4 kB from an offset. */
export const readPart = (path: string, from: number): string[] => {
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

/** The first and the last line of a journal or an archive; undefined if the batch has not ended. */
export const endsOf = (path: string): Ends | undefined => {
  if (isArchive(basename(path))) return endsOfArchive(path)
  const header = parseObject(readPart(path, 0)[0] ?? '')
  const end = parseObject(readPart(path, Math.max(0, statSync(path).size - endSize)).at(-1) ?? '')
  return isHeader(header) && end?.type === 'end' && isEnd(end) ? { header, end } : undefined
}

/** Another process may be about to resume it. */
const restMs = 60_000

export const tidyJournals = async (system: SystemPaths, now: Date): Promise<void> => {
  const dir = journalDir(system)
  const most = (variable: string, fallback: number) => Number(system.env[variable] || fallback) || fallback
  const names = readdirSync(dir)
  for (const id of names.flatMap((name) => (isJournal(name) ? name.slice(0, -6) : []))) {
    const path = journalPath(system, id)
    const { size, mtimeMs } = statSync(path)
    const ends = size > leastBytes && now.getTime() - mtimeMs > restMs ? endsOf(path) : undefined
    if (ends?.end.how === 'done') await pack(system, id, ends)
  }
  let left = most('TAPCHIP_JOURNALS_MB', usual.megabytes) * 1e6
  const oldest = now.getTime() - most('TAPCHIP_JOURNALS_DAYS', usual.days) * day
  // Newest first, as ids sort by time.
  for (const name of readdirSync(dir).filter(isArchive).sort().reverse()) {
    const { size, mtimeMs } = statSync(`${dir}/${name}`)
    left -= size
    if (left < 0 || mtimeMs < oldest) rmSync(`${dir}/${name}`)
  }
}

export const isJournal = (name: string): boolean => name.endsWith('.jsonl') && isBatchId(name.slice(0, -6))
export const isArchive = (name: string): boolean => name.endsWith('.gz') && isJournal(name.slice(0, -3))
