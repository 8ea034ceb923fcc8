import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, readFileSync, writeSync } from 'node:fs'
import { newBatchId } from '../../values/batch.ts'
import { openToAppend, replaceFile } from '../../values/files.ts'
import { CliError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { processStart } from '../process-state.ts'
import type { SystemPaths } from '../system.ts'
import {
  type AnyLine,
  assertStopped,
  type BoxHeader,
  type BoxLine,
  batchDir,
  boxVersion,
  damageOf,
  type End,
  pathOf,
  type SavedBox,
} from './saved-box.ts'

const elsewhere = 'To keep boxes elsewhere: XDG_STATE_HOME=DIR'

/** The file of a box that this process works on, and no other one. What was written survives a kill and a power cut. */
export class BoxFile {
  readonly path: string
  readonly #by: string
  #file: number | undefined
  /** Set after an incomplete write: nothing may follow half a line. */
  #failure: { readonly error: unknown } | undefined

  private constructor(path: string, by: string) {
    this.path = path
    this.#by = by
    this.#file = withFiles({ path, verb: 'written' }, () => openToAppend(path))
  }

  /** Begins a box. @throws CliError that says how to keep it elsewhere */
  static begin(
    system: SystemPaths,
    now: Date,
    about: Omit<BoxHeader, 'type' | 'version' | 'id' | 'startedAt'>,
  ): { readonly id: string; readonly file: BoxFile } {
    const id = newBatchId(now.getTime())
    const path = pathOf(system, id)
    const header: BoxHeader = { type: 'box', version: boxVersion, id, startedAt: now.toISOString(), ...about }
    const opened = openedNow()
    withFiles({ path: batchDir(system), verb: 'written', advice: elsewhere }, () => {
      mkdirSync(batchDir(system), { recursive: true, mode: 0o700 })
      // Whole or not at all: a file without a header would be nobody's.
      replaceFile(path, textOf(header) + textOf(opened), { flush: true })
    })
    return { id, file: new BoxFile(path, opened.by) }
  }

  /**
   * Opens the file of a box to go on with it. Of several processes, one succeeds: its line is the first one after what all
   * of them have read. @throws CliError
   */
  static reopen(box: SavedBox): BoxFile {
    const { header, path, damaged, length } = box
    assertStopped(box)
    if (damaged.length > 0) throw new CliError(damageOf(box), { advice: adviceOnDamage })
    const opened = openedNow()
    const file = new BoxFile(path, opened.by)
    // A kill may have cut the last line short.
    const line = `\n${textOf(opened)}`
    file.#append(line)
    const written = withFiles({ path, verb: 'read' }, () => readFileSync(path)).subarray(length)
    if (written.subarray(0, line.length).equals(Buffer.from(line))) return file
    file.close()
    throw new CliError(`Another process has just gone on with box ${header.id}.`, {
      advice: `See where it stands: tapchip batch status ${header.id}`,
    })
  }

  /** On disk when this returns. @throws CliError, and then at each later call */
  write(line: BoxLine): void {
    this.#append(textOf(line))
  }

  close(end?: End): void {
    if (this.#file === undefined) return
    try {
      if (!this.#failure) this.#append(textOf({ type: 'closed', by: this.#by, ...end }))
    } finally {
      closeSync(this.#file)
      this.#file = undefined
    }
  }

  #append(text: string): void {
    const file = this.#file
    if (this.#failure) throw this.#failure.error
    if (file === undefined) throw new Error('The file of the box is closed.')
    const bytes = Buffer.from(text)
    try {
      withFiles({ path: this.path, verb: 'written' }, () => {
        for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
        fsyncSync(file)
      })
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }
}

const textOf = (line: AnyLine): string => `${JSON.stringify(line)}\n`

const openedNow = () => ({
  type: 'opened' as const,
  by: randomBytes(8).toString('hex'),
  pid: process.pid,
  processStart: processStart(process.pid) ?? '',
})

const adviceOnDamage =
  'Restore the file from a backup, or begin a new box with the rest: chips that are registered are recognized.'
