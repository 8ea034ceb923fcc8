import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

/** Output beyond this that cannot be written yet is dropped and counted. */
const bufferBytes = 256 * 1024
const retryMs = 200
const finalFlushMs = 200

/**
 * Writes lines to standard output or standard error, and never throws or blocks: a full disk, a closed pipe, or
 * a stalled reader only costs lines. Buffered lines follow once writing works again, then one line with the
 * number of lost ones.
 */
class StdioWriter {
  readonly #descriptor: number
  readonly #lostLine: (count: number) => string
  /** Starts with the rest of a line that was partly written. */
  readonly #buffered: Buffer[] = []
  #size = 0
  #lostCount = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * @param descriptor a non-blocking one (see {@link nonBlocking})
   * @param lostLine makes the line that replaces lost ones
   */
  constructor(descriptor: number, lostLine: (count: number) => string) {
    this.#descriptor = descriptor
    this.#lostLine = lostLine
  }

  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#buffered.length > 0 || this.#lostCount > 0) {
      this.#buffer(bytes)
      return
    }
    this.#buffered.push(bytes)
    this.#size += bytes.length
    this.#drain()
  }

  /** Writes the buffered lines at the end of the process, with little waiting. */
  end(): void {
    const until = performance.now() + finalFlushMs
    while (this.#buffered.length > 0 && performance.now() < until) {
      const before = this.#size
      this.#drain()
      if (this.#buffered.length > 0 && this.#size === before)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
    clearInterval(this.#timer)
  }

  #buffer(bytes: Buffer): void {
    // Once a line is lost, later ones are lost as well, so that the line that counts them is in the right
    // place.
    if (this.#lostCount > 0 || this.#size + bytes.length > bufferBytes) this.#lostCount += 1
    else {
      this.#buffered.push(bytes)
      this.#size += bytes.length
    }
  }

  #drain(): void {
    try {
      for (let first = this.#next(); first !== undefined; first = this.#next()) {
        const written = writeSync(this.#descriptor, first)
        this.#size -= written
        if (written === first.length) this.#buffered.shift()
        else this.#buffered[0] = first.subarray(written)
      }
      clearInterval(this.#timer)
      this.#timer = undefined
    } catch {
      // EAGAIN from a stalled reader, ENOSPC, EPIPE: any of them may pass.
      this.#timer ??= setInterval(() => this.#drain(), retryMs).unref()
    }
  }

  #next(): Buffer | undefined {
    if (this.#buffered.length === 0 && this.#lostCount > 0) {
      const bytes = Buffer.from(this.#lostLine(this.#lostCount))
      this.#lostCount = 0
      this.#buffered.push(bytes)
      this.#size += bytes.length
    }
    return this.#buffered[0]
  }
}

/** @returns a descriptor for the same stream whose writes fail instead of blocking */
function nonBlocking(descriptor: 1 | 2): number {
  try {
    if (fstatSync(descriptor).isFile()) return descriptor
    // A terminal may be stopped (Ctrl-S). It is reopened so that other processes on it are unaffected.
    if (isatty(descriptor))
      return openSync(
        `/proc/self/fd/${descriptor}`,
        constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
      )
  } catch {
    // The stream is closed, or there is no /proc: keep the descriptor.
  }
  return descriptor
}

/**
 * Keeps write errors on the standard streams, including Node's own writes, from ending or blocking the process.
 */
function ignoreStreamErrors(): void {
  // Accessing the stream makes a pipe or socket non-blocking; an unhandled error event would end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

const lostLine = (count: number): string =>
  `${JSON.stringify({
    level: 40,
    time: new Date().toISOString(),
    pid: process.pid,
    lost: count,
    msg: 'lines were lost because they could not be written',
  })}\n`

const opened = new Map<1 | 2, StdioWriter>()

export function stdioWriter(descriptor: 1 | 2): StdioWriter {
  const known = opened.get(descriptor)
  if (known) return known
  if (opened.size === 0) ignoreStreamErrors()
  const lines = new StdioWriter(nonBlocking(descriptor), lostLine)
  opened.set(descriptor, lines)
  process.once('exit', () => lines.end())
  return lines
}
