import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Hex, isHex } from 'viem'

const pattern = /^sent-(\d{8})\.log$/

/** A transaction that is written down, and of which it is open whether the chain takes it. */
export interface Entry {
  readonly raw: Hex
  /** Where its lines begin: in more parts than one, where another began meanwhile. */
  readonly positions: { readonly part: number; readonly at: number }[]
}

/**
 * The signed transactions that came in since the older snapshots, in their order: what a user's own wallet sends
 * stands in nobody's store. A line is written before the chain gets the transaction, and struck out where the chain
 * refuses it, so that what was refused does not happen after a restart either. A line is with the system once it is
 * written, so it outlives the daemon, though not always a power cut. Part N begins when snapshot N is taken.
 */
export class Journal {
  readonly #dir: string
  #part: { number: number; file: number; size: number } | undefined
  readonly #open = new Set<Entry>()

  constructor(dir: string) {
    this.#dir = dir
  }

  /** The number of the last part; 0: there is none. A crash may have left one whose snapshot never came to be. */
  get newest(): number {
    return this.#parts().at(-1) ?? 0
  }

  /** Whether what came before its first part is in snapshots alone. */
  get hasForgotten(): boolean {
    const [oldest] = this.#parts()
    return oldest !== undefined && oldest > 0
  }

  /**
   * Writes what follows into another part. What the chain has not answered yet may come after the snapshot that the
   * part belongs to, so it stands in this one too. @throws Error where that cannot be; then the last part goes on
   */
  begin(number: number): void {
    const before = this.#part
    this.#part = openPart(this.#path(number), number)
    try {
      this.#write([...this.#open])
    } catch (error) {
      closeSync(this.#part.file)
      this.#part = before
      throw error
    }
    if (before) closeSync(before.file)
  }

  /** Writes transactions down, all or none. Each is to be settled. @throws Error of the disk */
  append(transactions: readonly Hex[]): Entry[] {
    const entries = transactions.map((raw) => ({ raw, positions: [] }))
    this.#write(entries)
    for (const entry of entries) this.#open.add(entry)
    return entries
  }

  /** Says what the chain made of a transaction. What it refused is struck out, in place: that takes no space. */
  settle(entry: Entry, isTaken: boolean): void {
    this.#open.delete(entry)
    if (isTaken) return
    for (const { part, at } of entry.positions) {
      if (part === this.#part?.number) writeSync(this.#part.file, struck, at)
      else strikeIn(this.#path(part), at)
    }
  }

  #write(entries: readonly Entry[]): void {
    const part = this.#part
    if (part === undefined || entries.length === 0) return
    const bytes = Buffer.from(entries.map(({ raw }) => `${raw}\n`).join(''), 'latin1')
    try {
      for (let done = 0; done < bytes.length; )
        done += writeSync(part.file, bytes, done, bytes.length - done, part.size + done)
    } catch (error) {
      ftruncateSync(part.file, part.size)
      throw error
    }
    for (const { raw, positions } of entries) {
      positions.push({ part: part.number, at: part.size })
      part.size += raw.length + 1
    }
  }

  /** What came in since a snapshot, oldest first. */
  *readSince(snapshot: number): Generator<Hex> {
    // The last line may be half of one, and those that are struck out are no hex.
    for (const number of this.#parts().filter((part) => part >= snapshot))
      for (const line of readFileSync(this.#path(number), 'utf8').split('\n'))
        if (isHex(line) && line.length % 2 === 0) yield line
  }

  /** Forgets what a snapshot and all later ones hold. */
  forgetBefore(oldest: number): void {
    for (const number of this.#parts()) if (number < oldest) rmSync(this.#path(number), { force: true })
  }

  close(): void {
    if (this.#part !== undefined) closeSync(this.#part.file)
    this.#part = undefined
  }

  #parts(): number[] {
    return readdirSync(this.#dir)
      .flatMap((name) => pattern.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b)
  }

  #path(number: number): string {
    return join(this.#dir, `sent-${String(number).padStart(8, '0')}.log`)
  }
}

/** In place of a line's first character. */
const struck = 'x'

/** Opens a part to go on after its last whole line: half of one was handed to nobody. */
function openPart(path: string, number: number) {
  // Not to append: what is struck out is written where it stands.
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  const { size } = fstatSync(file)
  const tail = Buffer.alloc(Math.min(size, longestTail))
  readSync(file, tail, 0, tail.length, size - tail.length)
  const whole = size - tail.length + tail.lastIndexOf('\n') + 1
  if (whole < size) ftruncateSync(file, whole)
  return { number, file, size: whole }
}

/** A line is a body of the RPC at most, twice over for good measure. */
const longestTail = 2 * 1024 * 1024

function strikeIn(path: string, at: number): void {
  let file: number
  try {
    file = openSync(path, constants.O_WRONLY)
  } catch {
    // Forgotten meanwhile: later snapshots hold what came of it.
    return
  }
  try {
    writeSync(file, struck, at)
  } finally {
    closeSync(file)
  }
}
