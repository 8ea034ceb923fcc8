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

/** A recorded transaction that the chain has not accepted or refused yet. */
export interface Entry {
  readonly raw: Hex
  /** The starts of its lines; in several parts if a new one was begun meanwhile. */
  readonly positions: { readonly part: number; readonly at: number }[]
}

/**
 * The signed transactions received since the older snapshots, in order: those from a user's own wallet are in
 * no other store. A line is written before the chain gets the transaction, and struck out if the chain refuses
 * it, so that a restart does not make it succeed. Lines are not flushed, so they survive a crash of the daemon,
 * but perhaps not a power cut. Part N begins when snapshot N is taken.
 */
export class Journal {
  readonly #dir: string
  #part: { number: number; file: number; size: number } | undefined
  readonly #open = new Set<Entry>()

  constructor(dir: string) {
    this.#dir = dir
  }

  /**
   * The number of the last part; 0 if there is none. A crash may leave a part whose snapshot was never
   * finished.
   */
  get newest(): number {
    return this.#parts().at(-1) ?? 0
  }

  /** True if everything before its first part is only in snapshots. */
  get hasForgotten(): boolean {
    const [oldest] = this.#parts()
    return oldest !== undefined && oldest > 0
  }

  /**
   * Begins a new part. Unanswered transactions may be mined after its snapshot, so they are repeated in it.
   * @throws Error if that fails; then the last part continues
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

  /** Records all transactions or none. Each must be settled later. @throws Error of the disk */
  append(transactions: readonly Hex[]): Entry[] {
    const entries = transactions.map((raw) => ({ raw, positions: [] }))
    this.#write(entries)
    for (const entry of entries) this.#open.add(entry)
    return entries
  }

  /** Records the chain's answer. A refused transaction is struck out in place, which takes no space. */
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

  *readSince(snapshot: number): Generator<Hex> {
    // The last line may be incomplete, and struck lines are not hex.
    for (const number of this.#parts().filter((part) => part >= snapshot))
      for (const line of readFileSync(this.#path(number), 'utf8').split('\n'))
        if (isHex(line) && line.length % 2 === 0) yield line
  }

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

/** Replaces a line's first character. */
const struck = 'x'

/** Opens a part after its last complete line: an incomplete one was never sent. */
function openPart(path: string, number: number) {
  // Not in append mode, because lines are struck out in place.
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o600)
  const { size } = fstatSync(file)
  const tail = Buffer.alloc(Math.min(size, longestTail))
  readSync(file, tail, 0, tail.length, size - tail.length)
  const whole = size - tail.length + tail.lastIndexOf('\n') + 1
  if (whole < size) ftruncateSync(file, whole)
  return { number, file, size: whole }
}

/** A line is at most as long as an RPC body; this is twice that. */
const longestTail = 2 * 1024 * 1024

function strikeIn(path: string, at: number): void {
  let file: number
  try {
    file = openSync(path, constants.O_WRONLY)
  } catch {
    // The part was removed meanwhile, because later snapshots cover it.
    return
  }
  try {
    writeSync(file, struck, at)
  } finally {
    closeSync(file)
  }
}
