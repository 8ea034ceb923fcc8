import { constants } from 'node:buffer'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { isBatchId } from '../../values/batch.ts'
import { readRegularBytes } from '../../values/files.ts'
import { isNumber, isText, type JsonObject, orAbsent, orNull, parseObject, shape } from '../../values/json.ts'
import { CliError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { processStart } from '../process-state.ts'
import { type SystemPaths, stateDir } from '../system.ts'

// A box of chips has a file of its own, which holds what a resume must know and no daemon can tell: how the box was
// begun, and which chip got which row. Lines are only ever appended.

export const boxVersion = 1

/** The first line. It holds no secret. */
export interface BoxHeader {
  readonly type: 'box'
  readonly version: typeof boxVersion
  readonly id: string
  readonly startedAt: string
  readonly url: string
  /** The daemon that answered, if it told. */
  readonly instance?: string | undefined
  readonly context?: string | undefined
  readonly total: number
  /** `path` is null for standard input; all are null, and the name is empty, without a sheet. */
  readonly input: { readonly name: string; readonly path: string | null; readonly sha256: string | null }
  readonly settings: Readonly<Record<string, string | undefined>>
}

const statuses = ['provisioned', 'unchanged', 'failed'] as const
export type ChipStatus = (typeof statuses)[number]

/** `begun` without a status, which is on disk before the chip is written; then its result. */
export interface ChipEvent {
  readonly uid: string
  readonly row?: number | undefined
  readonly status?: ChipStatus | undefined
  readonly error?: string | undefined
}

/** A process that works on the box. `by` is random. */
interface BoxProcess {
  readonly by: string
  readonly pid: number
  readonly processStart: string
}

export interface End {
  readonly at: string
  readonly isDone: boolean
  /** The hash of the last change that the daemon had recorded by then. */
  readonly auditHead?: string | undefined
}

export type BoxLine = { readonly type: 'begun' | 'result' } & ChipEvent
export type AnyLine =
  | BoxHeader
  | BoxLine
  | ({ readonly type: 'opened' } & BoxProcess)
  /** Without an end where another process was faster. */
  | ({ readonly type: 'closed'; readonly by: string } & Partial<End>)

export interface SavedBox {
  readonly header: BoxHeader
  readonly path: string
  readonly state: 'running' | 'paused' | 'done'
  /** The process that works on it. */
  readonly pid: number | undefined
  readonly end: Partial<End> | undefined
  /** In order. */
  readonly events: readonly ChipEvent[]
  /** Numbers of lines that cannot be read, from 1; one that a kill cut short can do without. */
  readonly damaged: readonly number[]
  /** Bytes of the file. */
  readonly length: number
}

const isHeader = shape<BoxHeader>({
  type: (type) => type === 'box',
  version: (value) => value === boxVersion,
  id: isText,
  startedAt: isText,
  url: isText,
  instance: orAbsent(isText),
  context: orAbsent(isText),
  total: isNumber,
  input: shape<BoxHeader['input']>({ name: isText, path: orNull(isText), sha256: orNull(isText) }),
  settings: (value) =>
    typeof value === 'object' && value !== null && Object.values(value).every((text) => isText(text)),
})
const isEvent = shape<ChipEvent>({
  uid: isText,
  row: orAbsent(isNumber),
  status: (value) => value === undefined || statuses.some((status) => status === value),
  error: orAbsent(isText),
})
const isOpened = shape<BoxProcess>({ by: isText, pid: isNumber, processStart: isText })
const isClosed = shape<{ readonly by: string } & Partial<End>>({
  by: isText,
  at: orAbsent(isText),
  isDone: (value) => value === undefined || typeof value === 'boolean',
  auditHead: orAbsent(isText),
})

export const batchDir = (system: SystemPaths): string => `${stateDir(system)}/batches`
export const pathOf = (system: SystemPaths, id: string): string => `${batchDir(system)}/${id}.jsonl`

/** @returns undefined if there is no box of this id here, or its first line cannot be read */
export const readBox = (system: SystemPaths, id: string): SavedBox | undefined => {
  const path = pathOf(system, id)
  if (!isBatchId(id) || !existsSync(path)) return undefined
  const bytes = withFiles({ path, verb: 'read' }, () => {
    if (statSync(path).size <= constants.MAX_STRING_LENGTH) return readRegularBytes(path)
    throw new CliError(`${path} cannot be read: it is too large for the file of a box.`, {
      advice: 'Move it away.',
    })
  })
  const texts = bytes.toString().split('\n')
  const header = parseObject(texts[0] ?? '')
  if (!isHeader(header) || header.id !== id) return undefined
  const events: ChipEvent[] = []
  const open = new Map<string, BoxProcess>()
  const damaged: number[] = []
  let end: Partial<End> | undefined
  let cutLine: number | undefined
  for (const [at, text] of texts.entries()) {
    if (at === 0 || text === '') continue
    const line = parseObject(text)
    // A kill may cut a line short: the next process that opens the file begins a new one after it.
    if (cutLine !== undefined && line?.type !== 'opened') damaged.push(cutLine)
    cutLine = line && take(line) ? undefined : at + 1
  }
  if (cutLine !== undefined && cutLine < texts.length) damaged.push(cutLine)
  const alive = [...open.values()].find(
    ({ pid, processStart: start }) => start !== '' && processStart(pid) === start,
  )
  const state = alive ? 'running' : end?.isDone ? 'done' : 'paused'
  return { header, path, state, pid: alive?.pid, end, events, damaged, length: bytes.length }

  function take({ type, ...rest }: JsonObject): boolean {
    if ((type === 'begun' || type === 'result') && isEvent(rest)) events.push(rest)
    else if (type === 'opened' && isOpened(rest)) {
      open.set(rest.by, rest)
      end = undefined
    } else if (type === 'closed' && isClosed(rest)) {
      open.delete(rest.by)
      end = rest.at === undefined ? end : rest
    } else return false
    return true
  }
}

/** Newest first. @param failed is called for each file that cannot be read */
export const listBoxes = (system: SystemPaths, failed: (error: CliError) => void): SavedBox[] => {
  const dir = batchDir(system)
  if (!existsSync(dir)) return []
  const ids = readdirSync(dir).flatMap((name) => (name.endsWith('.jsonl') ? [name.slice(0, -6)] : []))
  return ids
    .sort()
    .reverse()
    .flatMap((id) => {
      try {
        return readBox(system, id) ?? []
      } catch (error) {
        if (!(error instanceof CliError)) throw error
        failed(error)
        return []
      }
    })
}

/** @throws CliError if a process works on it */
export const assertStopped = ({ state, pid, header: { id } }: SavedBox): void => {
  if (state !== 'running') return
  throw new CliError(`Box ${id} is being worked on, by process ${pid}.`, {
    advice: 'Stop that one with Ctrl-C, or wait until it ends.',
  })
}

export const damageOf = ({ path, damaged, header: { id } }: SavedBox): string =>
  `The file of box ${id} is damaged: line ${damaged.slice(0, 10).join(', ')} cannot be read. The file is ${path}`
