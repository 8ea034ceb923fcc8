import { closeSync, fstatSync, fsyncSync, mkdirSync, writeSync } from 'node:fs'
import { basename } from 'node:path'
import { stringifyExact } from '../../values/exact-json.ts'
import { openToAppend } from '../../values/regular-file.ts'
import { withFiles } from '../file-problem.ts'
import type { SystemPaths } from '../system.ts'
import { type Counts, type End, type JournalLine, journalDir, journalPath } from './journal.ts'

const bufferSize = 16 * 1024

/** What copies a journal elsewhere while it is written. */
export interface Follower {
  /** Resolves once what is on disk is copied. */
  upload(): Promise<void>
  end(): Promise<void>
  /** Called once if another process has taken the batch over. */
  onTaken: (error: unknown) => void
}

export const elsewhere = 'To keep journals elsewhere: XDG_STATE_HOME=DIR'

/** @throws CliError that says how to move the journals elsewhere */
export const makeJournalDir = (system: SystemPaths): void => {
  const path = journalDir(system)
  withFiles({ path, verb: 'written', advice: elsewhere }, () =>
    mkdirSync(path, { recursive: true, mode: 0o700 }),
  )
}

/** Appends to the journal of a batch. What was written survives a kill -9, and after `sync` also a power cut. */
export class Journal {
  readonly path: string
  readonly #file: number
  #size: number
  #progress: { done: number; failed: number; state: 'running' | 'stopped' | 'done' }
  /** Its copy at the daemon, if there is one. */
  mirror: Follower | undefined
  #pending = ''
  #scheduled = false
  /** Set after an incomplete write: nothing may follow half a line. */
  #failure: { readonly error: unknown } | undefined

  /**
   * @param before what earlier runs have done, which counts as progress too
   * @throws CliError that says how to move the journals elsewhere
   */
  constructor(system: SystemPaths, id: string, before: Counts = { changed: 0, unchanged: 0, failed: 0 }) {
    this.path = journalPath(system, id)
    this.#progress = { done: before.changed + before.unchanged, failed: before.failed, state: 'running' }
    makeJournalDir(system)
    this.#file = withFiles({ path: journalDir(system), verb: 'written', advice: elsewhere }, () =>
      openToAppend(this.path),
    )
    this.#size = fstatSync(this.#file).size
  }

  /** Bytes on disk. */
  get size(): number {
    return this.#size
  }

  get progress(): { readonly done: number; readonly failed: number; readonly state: 'running' | End['how'] } {
    return this.#progress
  }

  append(line: JournalLine): void {
    if (line.type === 'result') this.#progress[line.status === 'failed' ? 'failed' : 'done'] += 1
    if (line.type === 'end')
      this.#progress = { done: line.changed + line.unchanged, failed: line.failed, state: line.how }
    this.#pending += `${stringifyExact(line)}\n`
    if (this.#pending.length >= bufferSize) this.flush()
    else if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(() => {
        this.#scheduled = false
        try {
          this.flush()
        } catch {
          // The next write throws it.
        }
      })
    }
  }

  /** Starts a new line, since a kill may have cut the last one short. Blank lines are ignored. */
  startLine(): void {
    this.#pending = `\n${this.#pending}`
  }

  /** @throws CliError if the journal cannot be written, now or ever again: nothing is sent that is not recorded */
  flush(): void {
    if (this.#failure) throw this.#failure.error
    if (this.#pending === '') return
    // A single write, so that a kill leaves only the last line incomplete.
    const bytes = Buffer.from(this.#pending)
    this.#pending = ''
    try {
      withFiles({ path: this.path, verb: 'written', ...this.#elsewhere() }, () => {
        for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done)
      })
      this.#size += bytes.length
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  /** With a copy at the daemon, the batch goes on from any disk that has room. */
  #elsewhere(): { readonly advice?: string } {
    if (this.mirror === undefined) return {}
    const id = basename(this.path, '.jsonl')
    return {
      advice: `Or go on on another disk, from the daemon's copy: XDG_STATE_HOME=DIR tapchip batch resume ${id}`,
    }
  }

  sync(): void {
    this.flush()
    fsyncSync(this.#file)
  }

  /** Resolves once the daemon has the end as well, if it keeps a copy. */
  async close(): Promise<void> {
    // Whoever resumes the batch need not wait until this process counts as silent.
    if (this.#progress.state === 'running') this.#progress.state = 'stopped'
    try {
      this.sync()
    } finally {
      closeSync(this.#file)
      await this.mirror?.end()
    }
  }
}
