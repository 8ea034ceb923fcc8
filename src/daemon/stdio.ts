import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

/** Kept of what cannot be written now; what comes beyond it is lost, and counted. */
const bufferBytes = 256 * 1024
const retryMs = 200
/** At the end, whoever still reads slowly has so long. */
const finalFlushMs = 200

/**
 * Lines to standard output or standard error that never throw and never wait: a full disk, a reader that has gone and
 * one that has stopped reading take nothing but lines. What was held comes once it goes again, then one line that
 * says how many were lost in between.
 */
export class StdioWriter {
  readonly #descriptor: number
  readonly #lostLine: (count: number) => string
  /** Begins with what is left of a line that was written in part. */
  readonly #held: Buffer[] = []
  #size = 0
  #lost = 0
  #timer: NodeJS.Timeout | undefined

  /** @param descriptor one that does not wait (see {@link nonBlocking}) @param lostLine what stands in place of lines */
  constructor(descriptor: number, lostLine: (count: number) => string) {
    this.#descriptor = descriptor
    this.#lostLine = lostLine
  }

  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#held.length > 0 || this.#lost > 0) {
      this.#hold(bytes)
      return
    }
    this.#held.push(bytes)
    this.#size += bytes.length
    this.#drain()
  }

  /** Writes what is held, as far as that goes without much waiting: for the end of the process. */
  end(): void {
    const until = performance.now() + finalFlushMs
    while (this.#held.length > 0 && performance.now() < until) {
      const before = this.#size
      this.#drain()
      // Nothing else can run any more.
      if (this.#held.length > 0 && this.#size === before)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
    clearInterval(this.#timer)
  }

  #hold(bytes: Buffer): void {
    // Those after the first that was lost are lost as well, so that the line that counts them stands in their place.
    if (this.#lost > 0 || this.#size + bytes.length > bufferBytes) this.#lost += 1
    else {
      this.#held.push(bytes)
      this.#size += bytes.length
    }
  }

  #drain(): void {
    try {
      for (let first = this.#next(); first !== undefined; first = this.#next()) {
        const written = writeSync(this.#descriptor, first)
        this.#size -= written
        if (written === first.length) this.#held.shift()
        else this.#held[0] = first.subarray(written)
      }
      clearInterval(this.#timer)
      this.#timer = undefined
    } catch {
      // EAGAIN of a reader that does not read, ENOSPC, EPIPE: whichever it is, it may be over later.
      this.#timer ??= setInterval(() => this.#drain(), retryMs).unref()
    }
  }

  #next(): Buffer | undefined {
    if (this.#held.length === 0 && this.#lost > 0) {
      const bytes = Buffer.from(this.#lostLine(this.#lost))
      this.#lost = 0
      this.#held.push(bytes)
      this.#size += bytes.length
    }
    return this.#held[0]
  }
}

/** @returns a descriptor for the same, whose writes fail in place of waiting for whoever reads */
export function nonBlocking(descriptor: 1 | 2): number {
  try {
    if (fstatSync(descriptor).isFile()) return descriptor
    // A terminal that was stopped (Ctrl-S). Opened anew: its other users go on as they were.
    if (isatty(descriptor))
      return openSync(
        `/proc/self/fd/${descriptor}`,
        constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
      )
  } catch {
    // It is closed, or there is no /proc: nothing better is known.
  }
  return descriptor
}

/** Makes nobody's writes to the standard streams end or stop the process, those of Node itself included. */
function ignoreStreamErrors(): void {
  // To have the stream is what makes a pipe or a socket not wait; an error that nobody hears ends the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

const lostLine = (count: number): string =>
  `${JSON.stringify({
    level: 40,
    time: new Date().toISOString(),
    pid: process.pid,
    lost: count,
    msg: 'lines could not be written here, and are lost',
  })}\n`

const opened = new Map<1 | 2, StdioWriter>()

/** The one writer of a standard stream. */
export function stdioWriter(descriptor: 1 | 2): StdioWriter {
  const known = opened.get(descriptor)
  if (known) return known
  if (opened.size === 0) ignoreStreamErrors()
  const lines = new StdioWriter(nonBlocking(descriptor), lostLine)
  opened.set(descriptor, lines)
  process.once('exit', () => lines.end())
  return lines
}
