import Papa from 'papaparse'
import { tidyCell } from './invisible.ts'

export interface CsvRows {
  readonly rows: readonly (readonly string[])[]
  /** Reasons why lines are invalid CSV, by the row that was parsed from them. */
  readonly malformed: ReadonlyMap<readonly string[], string>
}

const reasons: Partial<Record<Papa.ParseError['code'], string>> = {
  MissingQuotes: 'a quote is opened but never closed, so everything after it was read as its text',
  InvalidQuotes: 'a quoted text contains a quote; write it twice',
}

/** Parses CSV from a stream of text. Skips blank lines. */
export class CsvReader {
  readonly #parser: InstanceType<typeof Papa.Parser>
  #rest = ''

  /** @param newline use \n for lines that end in \r\n */
  constructor({ delimiter = ',', newline = '\n' }: { delimiter?: string; newline?: '\n' | '\r' } = {}) {
    this.#parser = new Papa.Parser({ delimiter, newline })
  }

  /** Characters of the unfinished row. A quote that is never closed accumulates everything after it. */
  get pending(): number {
    return this.#rest.length
  }

  /** @returns the rows that end in this piece */
  push(text: string): CsvRows {
    return this.#parse(this.#rest + text, false)
  }

  /** @returns the last row, if no line break ends it */
  end(): CsvRows {
    return this.#parse(this.#rest, true)
  }

  #parse(text: string, isLast: boolean): CsvRows {
    const { data, errors, meta }: Papa.ParseResult<string[]> = this.#parser.parse(text, 0, !isLast)
    this.#rest = isLast ? '' : text.slice(meta.cursor)
    const malformed = new Map<readonly string[], string>()
    for (const { row = 0, code, message } of errors) {
      const cells = data[row]
      if (cells) malformed.set(cells, reasons[code] ?? message)
    }
    if (text.includes('\r')) data.forEach(dropReturn)
    return { rows: data.filter(isNotBlank), malformed }
  }
}

function dropReturn(cells: string[]): void {
  const last = cells.at(-1)
  if (last?.endsWith('\r')) cells[cells.length - 1] = last.slice(0, -1)
}

// A loop for speed, since imports have a million rows.
function isNotBlank(cells: readonly string[]): boolean {
  for (const cell of cells) if (cell.trim() !== '' && tidyCell(undefined, cell) !== '') return true
  return false
}
