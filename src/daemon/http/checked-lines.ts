import { TextDecoder } from 'node:util'
import type * as z from 'zod'
import { parseExact } from '../../values/json.ts'
import { excessOf } from '../../values/json-bounds.ts'
import { LineSplitter } from '../../values/line-splitter.ts'
import { TimeSlice } from '../../values/time-slices.ts'
import { issuesNamed, required } from '../contract/list.ts'
import { DomainError } from '../domain/errors/errors.ts'
import { disconnected } from './errors.ts'
import { describeIssues, holdsNul, nulProblem } from './parse-input.ts'

/** A validated line of a body, counted from 1. */
export interface ReadLine<T> {
  readonly row: number
  readonly value: T
}

export interface BadLine {
  readonly row: number
  readonly problem: string
}

export type CheckLine<T> = (value: unknown) => Promise<{ value: T } | { problem: string }>

export const lineBy =
  <S extends z.ZodType>(schema: S): CheckLine<z.output<S>> =>
  async (value) => {
    const parsed = await schema.safeParseAsync(value, { error: required })
    return parsed.success ? { value: parsed.data } : { problem: describeIssues(parsed.error.issues) }
  }

/** A body with this many bad lines is refused without reading the rest. */
const badCounted = 10_000
// No row is this long, and an endless line would be scanned again and again.
const maxLineLength = 64 * 1024
/** In characters. */
const boundedFrom = 120

interface Sender {
  readonly socket: { readonly destroyed: boolean }
}

/**
 * A fully received body of JSON lines that has been validated once. It is stored as the received bytes and
 * parsed again on each pass: a million lines as objects would fill the memory.
 */
export class CheckedLines<T> {
  good = 0
  bad = 0
  readonly #chunks: Uint8Array[] = []
  readonly #check: CheckLine<T>
  readonly #socket: Sender['socket']

  private constructor({ socket }: Sender, check: CheckLine<T>) {
    this.#socket = socket
    this.#check = check
  }

  /**
   * @throws DomainError too_large, or invalid_input if it is empty, not text, has an endless line, or has too
   * many bad ones
   */
  static async read<T>(
    { body, raw }: { body: AsyncIterable<Uint8Array> | undefined; raw: Sender },
    limit: number,
    check: CheckLine<T>,
  ): Promise<CheckedLines<T>> {
    const lines = new CheckedLines(raw, check)
    let bytes = 0
    for await (const chunk of body ?? []) {
      bytes += chunk.length
      if (bytes > limit)
        throw new DomainError('too_large', `The body is over ${limit} bytes. Send it in smaller parts.`)
      lines.#chunks.push(chunk)
    }
    for await (const line of lines.#read()) {
      if ('value' in line) lines.good += 1
      else lines.bad += 1
      if (lines.bad === badCounted) await lines.refuseBad()
    }
    if (lines.good + lines.bad === 0)
      throw new DomainError('invalid_input', 'body is empty: send JSON lines, one row per line')
    return lines
  }

  async *goodLines(): AsyncGenerator<ReadLine<T>> {
    for await (const line of this.#read()) if ('value' in line) yield line
  }

  async *badLines(): AsyncGenerator<BadLine> {
    for await (const line of this.#read()) if ('problem' in line) yield line
  }

  /** @throws DomainError invalid_input that names the bad lines, if there are any */
  async refuseBad(): Promise<void> {
    if (this.bad === 0) return
    const named: string[] = []
    for await (const { row, problem } of this.badLines()) {
      named.push(`row ${row}: ${problem}`)
      if (named.length === issuesNamed) break
    }
    const prefix = this.bad === badCounted ? 'at least ' : ''
    const more = this.bad > named.length ? `; and ${prefix}${this.bad - named.length} more` : ''
    throw new DomainError('invalid_input', `Nothing was done. ${named.join('; ')}${more}`)
  }

  async *#read(): AsyncGenerator<ReadLine<T> | BadLine> {
    const slice = new TimeSlice()
    let row = 0
    const rest = async () => {
      if (!slice.shouldYield) return
      await slice.next()
      // Work for a disconnected client would still delay others.
      if (this.#socket.destroyed) throw disconnected()
    }
    for (const texts of linesOf(this.#chunks)) {
      for (const text of texts) {
        row += 1
        yield { row, ...(await this.#line(text)) }
        await rest()
      }
      // Yields after blank lines too: splitting them is also work.
      await rest()
    }
  }

  async #line(text: string): Promise<{ value: T } | { problem: string }> {
    const problem = await problemOfText(text)
    if (problem !== undefined) return { problem }
    let value: unknown
    try {
      value = parseExact(text)
    } catch {
      return { problem: 'is not valid JSON' }
    }
    return this.#check(value)
  }
}

function* linesOf(chunks: Iterable<Uint8Array>): Generator<readonly string[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const splitter = new LineSplitter(maxLineLength)
  for (const chunk of chunks) {
    const lines = splitter.push(decoded(decoder, chunk))
    if (splitter.pending > maxLineLength)
      throw new DomainError('invalid_input', `body has a line of over ${maxLineLength} characters`)
    yield lines
  }
  yield splitter.push(decoded(decoder, undefined))
  yield splitter.end()
}

function decoded(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch {
    throw new DomainError('invalid_input', 'body is not valid UTF-8')
  }
}

/**
 * Reads a whole body as lines of text. The caller parses and validates them.
 * @throws DomainError too_large, invalid_input
 */
export async function readLines(
  body: AsyncIterable<Uint8Array> | undefined,
  limit: number,
): Promise<string[]> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > limit)
      throw new DomainError('too_large', `The body is over ${limit} bytes. Send it in smaller parts.`)
    chunks.push(chunk)
  }
  const lines: string[] = []
  const slice = new TimeSlice()
  for (const texts of linesOf(chunks)) {
    for (const text of texts) {
      const problem = await problemOfText(text)
      if (problem !== undefined)
        throw new DomainError('invalid_input', `line ${lines.length + 1}: ${problem}`)
      lines.push(text)
      if (slice.shouldYield) await slice.next()
    }
  }
  if (lines.length === 0)
    throw new DomainError('invalid_input', 'body is empty: send JSON lines, one row per line')
  return lines
}

/** The reason not to parse or keep a line. */
async function problemOfText(text: string): Promise<string | undefined> {
  // Shorter lines cannot exceed the limits.
  const excess = text.length < boundedFrom ? undefined : await excessOf(Buffer.from(text))
  if (excess) return `${excess.field ?? 'the line'} ${excess.reason}`
  return holdsNul(text) ? nulProblem : undefined
}

/** Merges known lines with arriving ones by row; lines without a row come last. */
export async function* inLineOrder(
  known: AsyncIterable<{ row: number }>,
  results: AsyncIterable<object>,
): AsyncGenerator<object> {
  const others = known[Symbol.asyncIterator]()
  let other = await others.next()
  for await (const line of results) {
    const row = 'row' in line && typeof line.row === 'number' ? line.row : Number.POSITIVE_INFINITY
    for (; !other.done && other.value.row < row; other = await others.next()) yield other.value
    yield line
  }
  for (; !other.done; other = await others.next()) yield other.value
}
