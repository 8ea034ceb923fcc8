import { closeSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { withFiles } from '../file-problem.ts'
import { type Surroundings, stateDir } from '../surroundings.ts'
import type { JournalLine } from './records.ts'

export const journalDir = (at: Pick<Surroundings, 'env' | 'home'>): string => `${stateDir(at)}/batches`
export const journalPath = (at: Pick<Surroundings, 'env' | 'home'>, id: string): string =>
  `${journalDir(at)}/${id}.jsonl`

/** Opens one to append to. @throws CliError that says where else journals may be */
export const openJournal = (at: Pick<Surroundings, 'env' | 'home'>, id: string): number =>
  withFiles(
    { path: journalDir(at), verb: 'written', advice: 'Journals need a place: XDG_STATE_HOME=DIR' },
    () => {
      mkdirSync(journalDir(at), { recursive: true, mode: 0o700 })
      return openSync(journalPath(at, id), 'a', 0o600)
    },
  )

const bufferSize = 16 * 1024

/** Appends to a batch's journal. What was written is there after a kill -9; after `sync`, after a power cut too. */
export class Journal {
  readonly #file: number
  #pending = ''
  #scheduled = false
  readonly #path: string
  /** Half a line stands there, and nothing may follow it. */
  #failure: { readonly error: unknown } | undefined

  constructor(at: Pick<Surroundings, 'env' | 'home'>, id: string) {
    this.#path = journalPath(at, id)
    this.#file = openJournal(at, id)
  }

  append(line: JournalLine): void {
    this.#pending += `${JSON.stringify(line)}\n`
    if (this.#pending.length >= bufferSize) this.flush()
    else if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(() => {
        this.#scheduled = false
        try {
          this.flush()
        } catch {
          // Nobody would hear of it here: whoever writes next does.
        }
      })
    }
  }

  /** Begins a line anew: a kill may have cut the last one short. Blank lines are passed over. */
  startLine(): void {
    this.#pending = `\n${this.#pending}`
  }

  /** @throws CliError where it cannot be written, now and from then on: nothing is sent that stands nowhere */
  flush(): void {
    if (this.#failure) throw this.#failure.error
    if (this.#pending === '') return
    // One write: a kill leaves whole lines, but for the last.
    const bytes = Buffer.from(this.#pending)
    this.#pending = ''
    try {
      withFiles({ path: this.#path, verb: 'written' }, () => {
        for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done)
      })
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  sync(): void {
    this.flush()
    fsyncSync(this.#file)
  }

  close(): void {
    try {
      this.sync()
    } finally {
      closeSync(this.#file)
    }
  }
}
