import Papa from 'papaparse'

export interface CsvRows {
  readonly rows: readonly (readonly string[])[]
  /** Why a line is no row of CSV, by the row that was made of it. */
  readonly malformed: ReadonlyMap<readonly string[], string>
}

const reasons: Partial<Record<Papa.ParseError['code'], string>> = {
  MissingQuotes: 'a quote is opened and never closed, and all that follows it was taken for its text',
  InvalidQuotes: 'a quote stands within quoted text; write it twice',
}

/** Reads CSV that comes in pieces. Blank lines are left out. */
export class CsvReader {
  readonly #parser: InstanceType<typeof Papa.Parser>
  #rest = ''

  /** @param newline lines that end in \r\n are parted at their \n */
  constructor({ delimiter = ',', newline = '\n' }: { delimiter?: string; newline?: '\n' | '\r' } = {}) {
    this.#parser = new Papa.Parser({ delimiter, newline })
  }

  /** Characters of the row that has not ended yet: a quote that is never closed gathers all that follows it. */
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

// By hand, since a million rows pass here.
function isNotBlank(cells: readonly string[]): boolean {
  for (const cell of cells) if (cell.trim() !== '') return true
  return false
}
