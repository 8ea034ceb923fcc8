import { once } from 'node:events'
import { styleText } from 'node:util'
import { isCi, type System } from '../system.ts'
import {
  type Columns,
  chooseFields,
  csvPieces,
  fieldLines,
  inPieces,
  type ListFormat,
  listText,
  recordOf,
} from './lists.ts'
import type { DrawnPlotArea } from './plot.ts'
import { type Progress, startProgress } from './progress.ts'
import { cleanCells, cleanLines, jsonLine, type PlotArea, plotArea, shortened, shown } from './text.ts'

export interface IoFlags {
  readonly json: boolean
  /** As JSON, with lists as one object per line. */
  readonly ndjson?: boolean
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
  /** Where a plot that was asked for is drawn: off a terminal, in plain characters. Undefined if the output is not a table. */
  readonly drawing: DrawnPlotArea | undefined
  /** A finite list of any length, in the format that the flags say. `none` is printed on stderr if it is empty. */
  list<T>(rows: Iterable<T> | AsyncIterable<T>, columns: Columns<T>, none: string): Promise<void>
  /** A single object: as JSON, as a row of CSV, or one line per field. */
  one<T>(value: T, fields: (value: T) => Readonly<Record<string, unknown>>): Promise<void>
  /** One line of a stream or a batch. The promise resolves when the reader has caught up. */
  line(value: unknown, humanText: () => string): Promise<void> | undefined
  picked(value: unknown): unknown
  /** Text as it is; where a terminal shows it, or it is JSON, without what could steer a terminal. */
  raw(text: string): Promise<void> | undefined
  /** Lines of a plot, which have no control characters but colours. */
  drawn(lines: Iterable<string>): Promise<void>
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

export const createIo = (system: Pick<System, 'stdout' | 'stderr' | 'env' | 'now'>, flags: IoFlags): Io => {
  const { env } = system
  const isLogged = env.TERM === 'dumb' || isCi(system)
  const useColor = flags.color && !env.NO_COLOR && !isLogged && system.stdout.isTTY === true
  const style = (format: Format, text: string): string =>
    useColor ? styleText(format, text, { validateStream: false }) : text
  const heading = (text: string) => style('bold', text)

  const fields = flags.fields === undefined ? undefined : chooseFields(flags.fields)
  let hasWarned = false
  const choose = (value: unknown): Readonly<Record<string, unknown>> | undefined => {
    if (fields === undefined) return undefined
    const warning = hasWarned ? undefined : fields.complaint(value)
    hasWarned = true
    if (warning !== undefined) say(warning)
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
  const format: ListFormat = flags.ndjson ? 'ndjson' : flags.json ? 'json' : flags.csv ? 'csv' : 'table'
  const csv = csvPieces()
  const csvText = (value: unknown): string => [...csv([recordOf(picked(value))])].join('\n')

  const plot = format !== 'table' || fields || flags.quiet ? undefined : plotArea(system)

  return {
    json: flags.json,
    plot,
    drawing:
      format !== 'table' || fields
        ? undefined
        : { ...(plotArea(system) ?? { width: 80, unicode: false }), color: useColor },
    list: async (rows, columns, none) => {
      let count = 0
      const checked = async function* () {
        for await (const some of inPieces(rows)) {
          if (count === 0) fields?.check(some)
          count += some.length
          yield some
        }
      }
      const options = {
        columns: fields?.columns ?? columns,
        layout,
        pick: fields?.pick ?? ((row: unknown) => row),
      }
      // The cells of a table are clean already, and its headings are bold.
      for await (const text of listText(checked(), format, options))
        await (format === 'table' ? write(text) : raw(text))
      await send()
      if (count === 0 && !flags.json && !flags.quiet) say(none)
    },
    one: (value, describe) => {
      if (flags.json) return json(picked(value))
      if (flags.csv) return all([csvText(value)], raw)
      return all(fieldLines(choose(value) ?? describe(value), heading), write)
    },
    line: (value, humanText) => {
      if (flags.json) return write(jsonLine(picked(value)))
      if (flags.csv) return raw(`${csvText(value)}\n`)
      const chosen = choose(value)
      return write(`${chosen ? Object.values(chosen).map(shown).join('\t') : cleanCells(humanText())}\n`)
    },
    picked,
    raw,
    drawn: (lines) => all(lines, write),
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
