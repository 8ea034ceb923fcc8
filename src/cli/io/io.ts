import { once } from 'node:events'
import { styleText } from 'node:util'
import { stringifyExact } from '../../values/exact-json.ts'
import { isCi, type System } from '../system.ts'
import { csvRows } from './csv.ts'
import { chooseFields } from './fields.ts'
import { type PlotArea, plotArea } from './plot.ts'
import { type Progress, startProgress } from './progress.ts'
import { type Columns, fieldLines, tableLines, tablePieces } from './table.ts'
import { cleanCells, cleanLines, jsonLine, shortened, shown } from './text.ts'

export interface IoFlags {
  readonly json: boolean
  /** Lists are printed as CSV. */
  readonly csv?: boolean
  readonly quiet: boolean
  readonly color: boolean
  /** Only these fields are printed. */
  readonly fields?: readonly string[] | undefined
}

/** Data goes to stdout, everything else to stderr. */
export interface Io {
  readonly json: boolean
  /** Undefined if the output is not a table on a terminal. */
  readonly plot: PlotArea | undefined
  /** A finite list: one JSON array, CSV, or a table. `none` is printed on stderr if it is empty. */
  list<T>(rows: readonly T[], columns: Columns<T>, none: string): Promise<void>
  /** Like `list`, for lists of any length. */
  longList<T>(rows: AsyncIterable<T>, columns: Columns<T>, none: string): Promise<void>
  /** A single object: as JSON, or one line per field. */
  one<T>(value: T, fields: (value: T) => Readonly<Record<string, unknown>>): Promise<void>
  /** One line of a stream or a batch. The promise resolves when the reader has caught up. */
  line(value: unknown, forPeople: () => string): Promise<void> | undefined
  picked(value: unknown): unknown
  /** Text as it is; where a terminal shows it, or it is JSON, without what could steer a terminal. */
  raw(text: string): Promise<void> | undefined
  /** A line for people that begins with a coloured word. */
  marked(format: Format, mark: string, text: string): Promise<void> | undefined
  /** For people, not for scripts; silent with --quiet. */
  note(message: string): void
  /** The next command; silent with --json too. */
  hint(message: string): void
  warn(message: string): void
  progress(label: string, total: number | undefined): Progress
  /** Resolves once everything has left. */
  flush(): Promise<void>
}

type Format = 'bold' | 'red' | 'green' | 'yellow'

const bufferSize = 32 * 1024

/** Rows of a long list that a table aligns at once. */
const rowsAPiece = 1000

async function* inPieces<T>(rows: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let some: T[] = []
  for await (const row of rows) {
    some.push(row)
    if (some.length < size) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

export const createIo = (system: Pick<System, 'stdout' | 'stderr' | 'env' | 'now'>, flags: IoFlags): Io => {
  const { env } = system
  const isLogged = env.TERM === 'dumb' || isCi(system)
  const useColor = flags.color && !env.NO_COLOR && !isLogged && system.stdout.isTTY === true
  const style = (format: Format, text: string): string =>
    useColor ? styleText(format, text, { validateStream: false }) : text
  const heading = (text: string) => style('bold', text)

  const fields = flags.fields === undefined ? undefined : chooseFields(flags.fields)
  let complained = false
  const choose = (value: unknown): Readonly<Record<string, unknown>> | undefined => {
    if (fields === undefined) return undefined
    const complaint = complained ? undefined : fields.complaint(value)
    complained = true
    if (complaint !== undefined) say(complaint)
    return fields.pick(value)
  }
  const picked = (value: unknown): unknown => choose(value) ?? value

  let pending = ''
  let scheduled = false
  // The owner of the stream handles a closed pipe; here, writes merely stop.
  let gone = false
  const onError = () => {
    gone = true
  }
  const send = async (): Promise<void> => {
    const text = pending
    pending = ''
    if (text === '' || gone) return
    if (!system.stdout.listeners('error').includes(onError)) system.stdout.on('error', onError)
    if (!system.stdout.write(text)) await once(system.stdout, 'drain').catch(onError)
  }
  const write = (text: string): Promise<void> | undefined => {
    pending += text
    if (pending.length >= bufferSize) return send()
    if (!scheduled) {
      scheduled = true
      // Writes of one turn are sent together, without further delay.
      setImmediate(() => {
        scheduled = false
        void send()
      })
    }
    return undefined
  }
  const raw = (text: string) => write(flags.json || system.stdout.isTTY === true ? cleanCells(text) : text)
  const say = (message: string): void => {
    if (pending !== '') void send()
    system.stderr.write(`${cleanLines(message)}\n`)
  }
  const all = async (source: Iterable<string>, print: typeof raw): Promise<void> => {
    for (const line of source) await print(`${line}\n`)
    await send()
  }
  /** Headings in bold; the cells must be clean already. */
  const table = (source: Iterable<string>) => all(source, write)
  const json = async (value: unknown): Promise<void> => {
    await write(jsonLine(value))
    await send()
  }

  // Fields that were asked for by name are not shortened.
  const layout = {
    aligned: system.stdout.isTTY === true,
    heading,
    cell: fields ? (text: string) => text : shortened,
  }
  const sayNone = (none: string) => {
    if (!flags.quiet) say(none)
  }

  return {
    json: flags.json,
    plot: flags.json || flags.csv || fields || flags.quiet ? undefined : plotArea(system),
    list: async (rows, columns, none) => {
      fields?.check(rows)
      if (flags.json) return json(fields ? rows.map(fields.pick) : rows)
      if (rows.length === 0) return sayNone(none)
      if (flags.csv) return all(csvRows(rows, fields?.pick), raw)
      return table(tableLines(rows, fields?.columns ?? columns, layout))
    },
    longList: async (rows, columns, none) => {
      const pieces = tablePieces(fields?.columns ?? columns, layout)
      let count = 0
      for await (const some of inPieces(rows, rowsAPiece)) {
        if (count === 0) fields?.check(some)
        if (flags.json) {
          const text = some.map((row) => stringifyExact(fields ? fields.pick(row) : row)).join(',')
          await raw((count === 0 ? '[' : ',') + text)
        } else await table(pieces(some))
        count += some.length
      }
      if (flags.json) return all([count === 0 ? '[]' : ']'], raw)
      if (count === 0) sayNone(none)
    },
    one: (value, describe) => {
      if (flags.json) return json(picked(value))
      return table(fieldLines(choose(value) ?? describe(value), heading))
    },
    line: (value, forPeople) => {
      if (flags.json) return write(jsonLine(picked(value)))
      const chosen = choose(value)
      return write(`${chosen ? Object.values(chosen).map(shown).join('\t') : cleanCells(forPeople())}\n`)
    },
    picked,
    raw,
    marked: (format, mark, text) => write(`${style(format, mark)}${cleanLines(text)}\n`),
    note: (message) => {
      if (!flags.quiet) say(message)
    },
    hint: (message) => {
      if (!flags.quiet && !flags.json) say(message)
    },
    warn: say,
    progress: (label, total) =>
      startProgress(system.stderr, {
        label,
        total,
        quiet: flags.quiet,
        dumb: isLogged,
        now: system.now,
      }),
    flush: async () => {
      await send()
      // Called back after all writes before it; standard error would overtake them on a slow terminal.
      if (!gone) await new Promise<void>((resolve) => system.stdout.write('', () => resolve()))
    },
  }
}
