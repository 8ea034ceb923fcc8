import { once } from 'node:events'
import { styleText } from 'node:util'
import type { System } from '../system.ts'
import { chooseFields } from './fields.ts'
import { type Progress, startProgress } from './progress.ts'
import { type Columns, fieldLines, tableLines } from './table.ts'
import { shortened, shown } from './text.ts'

export interface IoFlags {
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
  /** Of what is printed these alone. */
  readonly fields?: readonly string[] | undefined
}

/** Data to stdout, all else to stderr. */
export interface Io {
  readonly json: boolean
  /** A finite list: one JSON array, or a table. `none` is said, on stderr, when there is nothing. */
  list<T>(rows: readonly T[], columns: Columns<T>, none: string): Promise<void>
  /** One thing: one JSON object, or a line a field. */
  one<T>(value: T, fields: (value: T) => Readonly<Record<string, unknown>>): Promise<void>
  /** An element of a stream or of a batch: a line each. Slow readers hold us back. */
  line(value: unknown, forPeople: () => string): Promise<void> | undefined
  /** Called before anything leaves: a journal is written before a reader sees what is in it. */
  beforeSend(hook: () => void): void
  /** A value with the fields alone that were asked for. */
  picked(value: unknown): unknown
  /** Data that is text already. */
  raw(text: string): Promise<void> | undefined
  /** What a person wants to know and a script does not; silent under --quiet. */
  note(message: string): void
  /** The command that comes next, for a person: silent under --json too. */
  hint(message: string): void
  /** Always said. */
  warn(message: string): void
  progress(label: string, total: number | undefined): Progress
  /** Everything written so far has left. */
  flush(): Promise<void>
  readonly style: (format: 'bold' | 'dim' | 'red' | 'green' | 'yellow', text: string) => string
}

/** One write a line costs more than all else in a long stream. */
const bufferSize = 32 * 1024

export const createIo = (system: Pick<System, 'stdout' | 'stderr' | 'env' | 'now'>, flags: IoFlags): Io => {
  const { env } = system
  const useColor = flags.color && !env.NO_COLOR && env.TERM !== 'dumb' && system.stdout.isTTY === true
  const style: Io['style'] = (format, text) =>
    useColor ? styleText(format, text, { validateStream: false }) : text
  const heading = (text: string) => style('bold', text)

  const fields = flags.fields === undefined ? undefined : chooseFields(flags.fields)
  let complained = false
  const choose = (value: unknown): Readonly<Record<string, unknown>> | undefined => {
    if (fields === undefined) return undefined
    const complaint = complained ? undefined : fields.complaint(value)
    complained = true
    if (complaint !== undefined) system.stderr.write(`${complaint}\n`)
    return fields.pick(value)
  }
  const picked = (value: unknown): unknown => choose(value) ?? value

  let pending = ''
  let scheduled = false
  let hook: () => void = () => undefined
  // Whoever made the stream decides what a reader that went away means; here only nobody waits for it any more.
  let gone = false
  const onError = () => {
    gone = true
  }
  const send = async (): Promise<void> => {
    hook()
    const text = pending
    pending = ''
    if (text === '' || gone) return
    if (!system.stdout.listeners('error').includes(onError)) system.stdout.on('error', onError)
    if (!system.stdout.write(text)) await once(system.stdout, 'drain').catch(onError)
  }
  const raw = (text: string): Promise<void> | undefined => {
    pending += text
    if (pending.length >= bufferSize) return send()
    if (!scheduled) {
      scheduled = true
      // What came in one turn goes out together, and never waits longer than that.
      setImmediate(() => {
        scheduled = false
        void send()
      })
    }
    return undefined
  }
  /** What was printed before stands before it, also where both go to one place. */
  const say = (message: string): void => {
    if (pending !== '') void send()
    system.stderr.write(`${message}\n`)
  }
  const lines = async (source: Iterable<string>): Promise<void> => {
    for (const line of source) await raw(`${line}\n`)
    await send()
  }

  return {
    json: flags.json,
    list: (rows, columns, none) => {
      fields?.check(rows)
      if (flags.json) return lines([JSON.stringify(fields ? rows.map(fields.pick) : rows)])
      // What a person asked for by name is not shortened.
      const layout = {
        aligned: system.stdout.isTTY === true,
        heading,
        cell: fields ? (text: string) => text : shortened,
      }
      if (rows.length > 0) return lines(tableLines(rows, fields?.columns ?? columns, layout))
      if (!flags.quiet) system.stderr.write(`${none}\n`)
      return Promise.resolve()
    },
    one: (value, describe) => {
      if (flags.json) return lines([JSON.stringify(picked(value))])
      return lines(fieldLines(choose(value) ?? describe(value), heading))
    },
    line: (value, forPeople) => {
      if (flags.json) return raw(`${JSON.stringify(picked(value))}\n`)
      const chosen = choose(value)
      return raw(`${chosen ? Object.values(chosen).map(shown).join('\t') : forPeople()}\n`)
    },
    picked,
    beforeSend: (given) => {
      hook = given
    },
    raw,
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
        dumb: env.TERM === 'dumb',
        now: system.now,
      }),
    flush: send,
    style,
  }
}
