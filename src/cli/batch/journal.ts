import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { isJsonObject } from '../../values/json.ts'
import { type SystemPaths, stateDir } from '../system.ts'

/** The version of the journal format. Others are refused: none was ever released. */
export const journalVersion = 2

/** The first line of a journal. It holds no secret. */
export interface Header {
  readonly type: 'batch'
  readonly version: typeof journalVersion
  readonly id: string
  readonly kind: string
  readonly startedAt: string
  readonly url: string
  /** The daemon that answered, if it told. */
  readonly instance?: string
  readonly pid: number
  /** Where it is run; absent in older journals. */
  readonly place?: string
  readonly total: number
  /** `path` is null for standard input and for flags. */
  readonly input: { readonly name: string; readonly path: string | null; readonly sha256: string | null }
  readonly undoes?: string | undefined
  readonly settings?: Readonly<Record<string, string | undefined>>
}

/** Counted from 1. Each kind adds its own fields. */
export interface Row {
  readonly row: number
}

/** Maps each final status to one of the three counts. */
export const countedAs = {
  changed: 'changed',
  created: 'changed',
  assigned: 'changed',
  transferred: 'changed',
  /** Accepted by the daemon; its hash is not known yet. */
  queued: 'changed',
  removed: 'changed',
  unchanged: 'unchanged',
  failed: 'failed',
  conflict: 'failed',
} as const
export type Status = keyof typeof countedAs

/** How a row ended. */
export interface Outcome {
  readonly status: Status
  readonly error?: string | undefined
  /** The row replaced a value that an undo does not restore. */
  readonly replaced?: boolean | undefined
}

/** A row that was not reached counts as failed. */
export const hasFailed = (outcome: Outcome | undefined): boolean =>
  outcome === undefined || countedAs[outcome.status] === 'failed'

export interface Result extends Row, Omit<Outcome, 'replaced'> {}

export interface Counts {
  readonly changed: number
  readonly unchanged: number
  readonly failed: number
}

export const countResults = (
  results: Iterable<{ readonly status: Status }>,
  before: Counts = { changed: 0, unchanged: 0, failed: 0 },
): Counts => {
  const counts = { changed: before.changed, unchanged: before.unchanged, failed: before.failed }
  for (const { status } of results) counts[countedAs[status]] += 1
  return counts
}

export interface End extends Counts {
  readonly at: string
  readonly how: 'done' | 'stopped'
  /** The hash of the last change that the daemon had recorded by then. */
  readonly auditHead?: string | undefined
}

interface Resumed {
  readonly at: string
  readonly pid: number
  readonly place?: string
}

export type JournalLine =
  | Header
  | ({ readonly type: 'row' } & Row)
  /** Rows being sent: after a kill, they may or may not have been written. */
  | { readonly type: 'sent'; readonly rows: readonly number[] }
  | ({ readonly type: 'result' } & Result)
  | ({ readonly type: 'resumed' } & Resumed)
  | ({ readonly type: 'end' } & End)

// Lines are validated by their shape when they are read.
export const isText = (value: unknown): value is string => typeof value === 'string'
export const isNumber = (value: unknown): value is number => typeof value === 'number'
export const isStatus = (value: unknown): value is Status => isText(value) && Object.hasOwn(countedAs, value)
export const orNull = (isFit: (value: unknown) => boolean) => (value: unknown) =>
  value === null || isFit(value)
export const orAbsent = (isFit: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isFit(value)
export const shape =
  <T>(members: { readonly [K in keyof T]-?: (value: unknown) => boolean }) =>
  (value: unknown): value is T => {
    if (!isJsonObject(value)) return false
    for (const name in members) if (!members[name](value[name])) return false
    return true
  }

export const isHeader = shape<Header>({
  type: (type) => type === 'batch',
  version: (version) => version === journalVersion,
  id: isText,
  kind: isText,
  startedAt: isText,
  url: isText,
  instance: orAbsent(isText),
  pid: isNumber,
  place: orAbsent(isText),
  total: isNumber,
  input: shape<Header['input']>({ name: isText, path: orNull(isText), sha256: orNull(isText) }),
  undoes: orAbsent(isText),
  settings: orAbsent((value) => isJsonObject(value) && Object.values(value).every(isText)),
})
export const isResumed = shape<Resumed>({
  at: isText,
  pid: isNumber,
  place: orAbsent(isText),
})
export const isEnd = shape<End>({
  at: isText,
  how: (how) => how === 'done' || how === 'stopped',
  auditHead: orAbsent(isText),
  changed: isNumber,
  unchanged: isNumber,
  failed: isNumber,
})

/** Numbered from 1, without blank lines. */
export async function* linesOf(path: string) {
  let number = 0
  let rest = ''
  // readline would not tell whether the last line is complete.
  for await (const chunk of createReadStream(path, 'utf8')) {
    const texts = (rest + String(chunk)).split('\n')
    rest = texts.pop() ?? ''
    for (const text of texts) {
      number += 1
      if (text.trim() !== '') yield { number, text, hasEnd: true }
    }
  }
  if (rest.trim() !== '') yield { number: number + 1, text: rest, hasEnd: false }
}

/** The name of this machine, in journals and at the daemon. */
export const hostName = (): string => hostname().slice(0, 255) || 'unknown'

/** Tells journals that are written here from copies of others, without telling the path. */
export const placeOf = (journal: string): string =>
  createHash('sha256')
    .update(`${hostName()}:${dirname(journal)}`)
    .digest('hex')
    .slice(0, 16)

export const journalDir = (system: SystemPaths): string => `${stateDir(system)}/batches`
export const journalPath = (system: SystemPaths, id: string): string => `${journalDir(system)}/${id}.jsonl`
