import { closeSync, existsSync, fsyncSync, readFileSync, writeSync } from 'node:fs'
import { isBatchId } from '../batch/id.ts'
import { journalPath, openJournal } from '../batch/journal.ts'
import { isNumber, isRecord, isText } from '../batch/record-parts.ts'
import { UsageError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import type { Surroundings } from '../surroundings.ts'

// What became of the chips of a box, beside the journals of other batches and in their form. It holds no secret.

type Place = Pick<Surroundings, 'env' | 'home'>

export interface BoxHeader {
  readonly type: 'batch'
  readonly version: 1
  readonly id: string
  readonly kind: 'nfc provision'
  readonly startedAt: string
  readonly url: string
  /** Which daemon answered there, if it said so. */
  readonly instance?: string
  readonly pid: number
  readonly total: number
  readonly input: { readonly name: string; readonly path: string | null; readonly sha256: string | null }
  /** What the command was told. */
  readonly settings: Readonly<Record<string, string>>
}

export type BoxLine =
  | BoxHeader
  /** A chip that is being worked on, and the row that it gets if that ends well. */
  | { readonly type: 'begun'; readonly uid: string; readonly row?: number | undefined }
  | {
      readonly type: 'result'
      readonly row?: number | undefined
      readonly uid: string
      readonly status: string
      readonly error?: string | undefined
    }
  | { readonly type: 'resumed'; readonly at: string; readonly pid: number }
  | {
      readonly type: 'end'
      readonly at: string
      readonly how: 'done' | 'stopped'
      readonly changed: number
      readonly unchanged: number
      readonly failed: number
    }

/** Every line is on the disk before the next card is touched. */
export class BoxJournal {
  readonly #file: number
  readonly #path: string

  constructor(at: Place, id: string) {
    this.#path = journalPath(at, id)
    this.#file = openJournal(at, id)
  }

  append(line: BoxLine): void {
    withFiles({ path: this.#path, verb: 'written' }, () => {
      const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done)
      fsyncSync(this.#file)
    })
  }

  /** Begins a line anew: a kill may have cut the last one short. */
  startLine(): void {
    writeSync(this.#file, '\n')
  }

  close(): void {
    closeSync(this.#file)
  }
}

export interface Box {
  readonly header: BoxHeader
  /** The chips that ended well, and their rows. */
  readonly done: ReadonlyMap<string, number | undefined>
  /** Those of which no end was written down. */
  readonly open: ReadonlyMap<string, number | undefined>
}

/** @throws UsageError where there is no such box */
export const readBox = (at: Place, id: string): Box => {
  const path = journalPath(at, id)
  const lines = isBatchId(id) && existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  const parsed = lines.map(parse)
  const header = parsed.map(headerFrom).find((line) => line !== undefined)
  if (!header) {
    throw new UsageError(
      `There is no box "${id}" to go on with.`,
      'The id was printed when nfc provision began. Other batches: tapchip batch list',
    )
  }
  const done = new Map<string, number | undefined>()
  const open = new Map<string, number | undefined>()
  for (const line of parsed) {
    if (!isText(line.uid)) continue
    const row = isNumber(line.row) ? line.row : undefined
    if (line.type === 'begun' && !done.has(line.uid)) open.set(line.uid, row)
    if (line.type !== 'result') continue
    open.delete(line.uid)
    if (line.status !== 'failed' && !done.has(line.uid)) done.set(line.uid, row)
  }
  return { header, done, open }
}

const parse = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const line: unknown = JSON.parse(text)
    return isRecord(line) ? line : {}
  } catch {
    return {}
  }
}

const headerFrom = (line: Readonly<Record<string, unknown>>): BoxHeader | undefined => {
  const { type, version, id, kind, startedAt, url, instance, pid, total, input, settings } = line
  if (type !== 'batch' || version !== 1 || kind !== 'nfc provision') return undefined
  if (!isText(id) || !isText(startedAt) || !isText(url) || !isNumber(pid) || !isNumber(total))
    return undefined
  if (!isRecord(input) || !isRecord(settings)) return undefined
  const { name, path, sha256 } = input
  return {
    type,
    version,
    id,
    kind,
    startedAt,
    url,
    ...(isText(instance) ? { instance } : {}),
    pid,
    total,
    input: {
      name: isText(name) ? name : '',
      path: isText(path) ? path : null,
      sha256: isText(sha256) ? sha256 : null,
    },
    settings: Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, String(value)])),
  }
}
