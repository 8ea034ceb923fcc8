import type { JsonObject } from '../../values/json.ts'
import {
  type End,
  type Header,
  isEnd,
  isHeader,
  isNumber,
  isResumed,
  type Result,
  type Row,
} from './journal.ts'
import type { Kind } from './kind.ts'

export class JournalReader {
  header: Header | undefined
  kind: Kind | undefined
  end: End | undefined
  pid = 0
  place: string | undefined
  readonly rows: Row[] = []
  readonly rowNumbers = new Set<number>()
  readonly results = new Map<number, Result>()
  readonly failures = new Map<number, number>()
  readonly sent = new Map<number, number>()
  readonly #kinds: readonly Kind[]

  constructor(kinds: readonly Kind[]) {
    this.#kinds = kinds
  }

  /** @returns false if the line is not valid here */
  take(line: JsonObject): boolean {
    const { type, ...rest } = line
    const { kind } = this
    if (kind === undefined) return isHeader(line) && this.#begin(line)
    if (type === 'row' && kind.isRow(rest)) return this.#add(rest)
    if (type === 'result' && kind.isResult(rest)) return this.#settle(rest)
    if (type === 'sent' && Array.isArray(rest.rows)) return rest.rows.every((row) => this.#send(row))
    if (type === 'resumed' && isResumed(rest)) {
      this.pid = rest.pid
      this.place = rest.place
      this.end = undefined
      return true
    }
    if (type !== 'end' || !isEnd(rest)) return false
    this.end = rest
    return true
  }

  #begin(header: Header): boolean {
    this.kind = kindNamed(this.#kinds, header.kind)
    if (this.kind === undefined) return false
    this.header = header
    this.pid = header.pid
    this.place = header.place
    return true
  }

  /** A row that comes twice, as where a backup was joined to its file, would never get its second result. */
  #add(row: Row): boolean {
    if (this.rowNumbers.has(row.row)) return false
    this.rowNumbers.add(row.row)
    return this.rows.push(row) > 0
  }

  #settle(result: Result): boolean {
    this.results.set(result.row, result)
    if (result.status === 'failed') this.failures.set(result.row, (this.failures.get(result.row) ?? 0) + 1)
    return true
  }

  #send(row: unknown): boolean {
    if (!isNumber(row)) return false
    this.sent.set(row, (this.sent.get(row) ?? 0) + 1)
    // It is tried again: what became of it is open until its next result.
    if (this.results.get(row)?.status === 'failed') this.results.delete(row)
    return true
  }
}

/** A kind, also by the name of its undo, which may be of a kind of its own. */
export const kindNamed = (kinds: readonly Kind[], wanted: string): Kind | undefined => {
  const kind = kinds.find(({ name, undo }) => name === wanted || ('name' in undo && undo.name === wanted))
  return kind && kind.name !== wanted && 'name' in kind.undo ? (kind.undo.as ?? kind) : kind
}
