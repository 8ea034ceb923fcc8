import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Hex, isHex } from 'viem'

const pattern = /^sent-(\d{8})\.log$/

/**
 * The signed transactions that came in since the older snapshots, in their order: what a user's own wallet sends
 * stands in nobody's store. A line is with the system once it is written, so it outlives the daemon, though not
 * always a power cut. Part N begins when snapshot N is taken.
 */
export class Journal {
  readonly #dir: string
  #file: number | undefined

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

  /** Writes what follows into another part. */
  begin(number: number): void {
    this.close()
    this.#file = openSync(this.#path(number), 'a', 0o600)
  }

  append(transactions: readonly Hex[]): void {
    if (this.#file !== undefined && transactions.length > 0)
      writeSync(this.#file, transactions.map((raw) => `${raw}\n`).join(''))
  }

  /** What came in since a snapshot, oldest first. */
  *readSince(snapshot: number): Generator<Hex> {
    // The last line may be half of one.
    for (const number of this.#parts().filter((part) => part >= snapshot))
      for (const line of readFileSync(this.#path(number), 'utf8').split('\n'))
        if (isHex(line) && line.length % 2 === 0) yield line
  }

  /** Forgets what a snapshot and all later ones hold. */
  forgetBefore(oldest: number): void {
    for (const number of this.#parts()) if (number < oldest) rmSync(this.#path(number), { force: true })
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
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
