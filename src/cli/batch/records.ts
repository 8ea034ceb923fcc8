import { type BadgeLine, badgeLineFrom } from './badge-records.ts'
import { isNumber, isRecord, isText } from './record-parts.ts'
import { type TokenLine, tokenLineFrom } from './token-records.ts'

/** What a batch does. */
export const batchKinds = [
  'chips edit',
  'chips undo',
  'chips import',
  'phygitals transfer',
  'phygitals metadata',
  'phygitals undo',
  'badge-events create',
  'badge-events assign',
  'nfc provision',
] as const
export type BatchKind = (typeof batchKinds)[number]

/** The first line of a journal. Holds no secret: whoever reads it learns where, not how to get in. */
export interface Header {
  readonly type: 'batch'
  readonly version: 1
  readonly id: string
  readonly kind: BatchKind
  readonly startedAt: string
  readonly url: string
  /** Which daemon answered there, if it said so. */
  readonly instance?: string
  readonly pid: number
  /** How many rows there are. */
  readonly total: number
  /** `path` is null for standard input and for flags. */
  readonly input: { readonly name: string; readonly path: string | null; readonly sha256: string | null }
  /** The batch whose changes this one takes back. */
  readonly undoes?: string
  /** What the command was told, to do it again; of an import. */
  readonly settings?: Readonly<Record<string, string>>
}

/** A row to write. `previous` is what stood there before the batch, as far as it was seen. */
export interface EditRow {
  readonly row: number
  readonly uid: string
  readonly redirectUrl: string | null
  readonly expected?: string | null
  readonly previous?: string | null
}

export type RowStatus = 'changed' | 'unchanged' | 'failed' | 'created'

/** A row's end. */
export interface RowResult {
  readonly row: number
  readonly uid: string
  readonly status: RowStatus
  readonly previous?: string | null
  readonly error?: string
}

export interface Counts {
  readonly changed: number
  readonly unchanged: number
  readonly failed: number
}

export type JournalLine =
  | Header
  | ({ readonly type: 'row' } & EditRow)
  /** Rows that are on their way: after a kill it is open whether they were written. */
  | { readonly type: 'sent'; readonly rows: readonly number[] }
  | ({ readonly type: 'result' } & RowResult)
  | { readonly type: 'resumed'; readonly at: string; readonly pid: number }
  | ({ readonly type: 'end'; readonly at: string; readonly how: 'done' | 'stopped' } & Counts)
  | TokenLine
  | BadgeLine
  | BoxLine

/** A chip of a box: one that is worked on, or what became of it. A row is there where a sheet says what it gets. */
export interface BoxChip {
  readonly uid: string
  readonly row?: number
  readonly status?: BoxStatus
  readonly error?: string
}
export type BoxStatus = 'provisioned' | 'unchanged' | 'failed'
type BoxLine = { readonly type: 'chip' } & BoxChip
const boxStatuses: readonly BoxStatus[] = ['provisioned', 'unchanged', 'failed']

const isUrl = (value: unknown): value is string | null => value === null || isText(value)
const isOptionalUrl = (value: unknown): value is string | null | undefined =>
  value === undefined || isUrl(value)

const statuses: readonly RowStatus[] = ['changed', 'unchanged', 'failed', 'created']

/** A line of a journal; undefined where it is none: a kill may have cut the last one. */
export const parseLine = (text: string): JournalLine | undefined => {
  let line: unknown
  try {
    line = JSON.parse(text)
  } catch {
    return undefined
  }
  return isRecord(line) ? lineFrom(line) : undefined
}

const lineFrom = (line: Readonly<Record<string, unknown>>): JournalLine | undefined => {
  const { type, row, uid, redirectUrl, expected, previous, error, at, pid, how } = line
  const before = {
    ...(isUrl(previous) ? { previous } : {}),
  }
  if (type === 'row' && isNumber(row) && isText(uid) && isUrl(redirectUrl) && isOptionalUrl(expected)) {
    return { type, row, uid, redirectUrl, ...(expected === undefined ? {} : { expected }), ...before }
  }
  const status = statuses.find((known) => known === line.status)
  if (type === 'result' && isNumber(row) && isText(uid) && status !== undefined) {
    return { type, row, uid, status, ...before, ...(isText(error) ? { error } : {}) }
  }
  // Lines of a box, whose chips need no row.
  const boxStatus = boxStatuses.find((known) => known === line.status)
  if (isText(uid) && (type === 'begun' || (type === 'result' && boxStatus !== undefined))) {
    const of = { uid, ...(isNumber(row) ? { row } : {}) }
    if (type === 'begun') return { type: 'chip', ...of }
    return {
      type: 'chip',
      ...of,
      ...(boxStatus === undefined ? {} : { status: boxStatus }),
      ...(isText(error) ? { error } : {}),
    }
  }
  if (type === 'sent' && Array.isArray(line.rows)) return { type, rows: line.rows.filter(isNumber) }
  if (type === 'resumed' && isText(at) && isNumber(pid)) return { type, at, pid }
  if (type === 'end' && isText(at) && (how === 'done' || how === 'stopped')) {
    const { changed, unchanged, failed } = line
    if (isNumber(changed) && isNumber(unchanged) && isNumber(failed))
      return { type, at, how, changed, unchanged, failed }
  }
  return type === 'batch' ? headerFrom(line) : (tokenLineFrom(line) ?? badgeLineFrom(line))
}

/** Whether a text is the first line of a journal that another version of this program has begun. */
export const isForeignHeader = (text: string): boolean => {
  try {
    const line: unknown = JSON.parse(text)
    return isRecord(line) && line.type === 'batch' && headerFrom(line) === undefined && 'version' in line
  } catch {
    return false
  }
}

const headerFrom = (line: Readonly<Record<string, unknown>>): Header | undefined => {
  const { id, startedAt, url, instance, pid, total, undoes, settings } = line
  const kind = batchKinds.find((known) => known === line.kind)
  const input = isRecord(line.input) ? line.input : {}
  if (line.version !== 1 || kind === undefined) return undefined
  if (!isText(id) || !isText(startedAt) || !isText(url) || !isNumber(pid) || !isNumber(total))
    return undefined
  return {
    type: 'batch',
    version: 1,
    id,
    kind,
    startedAt,
    url,
    ...(isText(instance) ? { instance } : {}),
    pid,
    total,
    input: {
      name: isText(input.name) ? input.name : '',
      path: isText(input.path) ? input.path : null,
      sha256: isText(input.sha256) ? input.sha256 : null,
    },
    ...(isText(undoes) ? { undoes } : {}),
    ...(isRecord(settings)
      ? {
          settings: Object.fromEntries(
            Object.entries(settings).map(([name, value]) => [name, String(value)]),
          ),
        }
      : {}),
  }
}
