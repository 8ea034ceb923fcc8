import { closeSync, existsSync, readdirSync, readSync } from 'node:fs'
import { isBatchId } from '../../values/batch.ts'
import { openRegular } from '../../values/files.ts'
import { parseObject } from '../../values/json.ts'
import { CliError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { batchDir } from '../nfc/saved-box.ts'
import type { SystemPaths } from '../system.ts'

/** The journal of a batch of an earlier version, which alone can read it. */
export interface OldJournal {
  readonly id: string
  /** undefined: it is compressed, or its first line cannot be read. */
  readonly kind: string | undefined
  readonly path: string
}

const isKind = (kind: unknown): kind is string => typeof kind === 'string' && /^[a-z -]{1,64}$/.test(kind)
const endings = ['.jsonl', '.jsonl.gz']

/** @returns undefined if there is none */
export const oldJournal = (system: SystemPaths, id: string): OldJournal | undefined => {
  const path = isBatchId(id)
    ? endings.map((ending) => `${batchDir(system)}/${id}${ending}`).find((one) => existsSync(one))
    : undefined
  if (path === undefined) return undefined
  const { type, kind } = withFiles({ path, verb: 'read' }, () => firstLine(path))
  return type === 'box' ? undefined : { id, path, kind: isKind(kind) ? kind : undefined }
}

/** Unfinished journals, newest first. Journals of finished batches are compressed. */
export const listOldJournals = (system: SystemPaths): OldJournal[] => {
  const dir = batchDir(system)
  if (!existsSync(dir)) return []
  const ids = readdirSync(dir).flatMap((name) => (name.endsWith('.jsonl') ? name.slice(0, -6) : []))
  return ids
    .sort()
    .reverse()
    .flatMap((id) => {
      try {
        return oldJournal(system, id) ?? []
      } catch {
        // The list of boxes reports a file that cannot be read.
        return []
      }
    })
}

export const ofEarlierVersion = ({ id, kind, path }: OldJournal): CliError =>
  new CliError(
    `Batch ${id}${kind === undefined ? '' : ` (${kind})`} was started by an earlier version of tapchip. Its journal is ${path}`,
    { advice: `Resume, report, or undo it with that version. Once it is done: tapchip batch remove ${id}` },
  )

/** More than a first line has, which may have a long path. */
const headerBytes = 64 * 1024

const firstLine = (path: string): { readonly type?: unknown; readonly kind?: unknown } => {
  const file = openRegular(path)
  try {
    const bytes = Buffer.alloc(headerBytes)
    const text = bytes.toString('utf8', 0, readSync(file, bytes, 0, headerBytes, 0))
    return parseObject(text.split('\n')[0] ?? '') ?? {}
  } finally {
    closeSync(file)
  }
}
