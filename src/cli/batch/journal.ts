import { closeSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { type Surroundings, stateDir } from '../surroundings.ts'
import type { JournalLine } from './records.ts'

export const journalDir = (at: Pick<Surroundings, 'env' | 'home'>): string => `${stateDir(at)}/batches`
export const journalPath = (at: Pick<Surroundings, 'env' | 'home'>, id: string): string =>
  `${journalDir(at)}/${id}.jsonl`

const bufferSize = 16 * 1024

/** Appends to a batch's journal. What was written is there after a kill -9; after `sync`, after a power cut too. */
export class Journal {
  readonly #file: number
  #pending = ''
  #scheduled = false

  constructor(at: Pick<Surroundings, 'env' | 'home'>, id: string) {
    mkdirSync(journalDir(at), { recursive: true, mode: 0o700 })
    this.#file = openSync(journalPath(at, id), 'a', 0o600)
  }

  append(line: JournalLine): void {
    this.#pending += `${JSON.stringify(line)}\n`
    if (this.#pending.length >= bufferSize) this.flush()
    else if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(() => {
        this.#scheduled = false
        this.flush()
      })
    }
  }

  /** Begins a line anew: a kill may have cut the last one short. Blank lines are passed over. */
  startLine(): void {
    this.#pending = `\n${this.#pending}`
  }

  flush(): void {
    if (this.#pending === '') return
    // One write: a kill leaves whole lines, but for the last.
    const bytes = Buffer.from(this.#pending)
    this.#pending = ''
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done)
  }

  sync(): void {
    this.flush()
    fsyncSync(this.#file)
  }

  close(): void {
    this.sync()
    closeSync(this.#file)
  }
}
