import { readMoment } from '../../values/date.ts'
import { UsageError } from '../errors.ts'

export type Completion = 'chip-group' | 'key-set' | 'context' | 'batch' | 'team' | 'file' | readonly string[]

export type Raw = string | boolean | readonly string[] | undefined

export interface OptionSpec<T> {
  readonly flags: string
  readonly description: string
  readonly repeatable?: boolean
  readonly completion?: Completion
  readonly read: (raw: Raw) => T
}

export interface ArgumentSpec<T> {
  /** `<uid>`, `[name]`, `<uids...>`. */
  readonly written: string
  readonly description: string
  readonly completion?: Completion
  readonly read: (raw: Raw) => T
}

export type OptionSpecs = Readonly<Record<string, OptionSpec<unknown>>>
export type ArgumentSpecs = Readonly<Record<string, ArgumentSpec<unknown>>>
export type Values<S extends Readonly<Record<string, { read: (raw: Raw) => unknown }>>> = {
  readonly [K in keyof S]: ReturnType<S[K]['read']>
}

const longOf = (flags: string): string => /--[a-z-]+/.exec(flags)?.[0] ?? flags
const asText = (raw: Raw): string | undefined => (typeof raw === 'string' ? raw : undefined)

const complete = (completion: Completion | undefined) => (completion === undefined ? {} : { completion })

export const text = (
  flags: string,
  description: string,
  completion?: Completion,
): OptionSpec<string | undefined> => ({
  flags,
  description,
  ...complete(completion),
  read: asText,
})

export const flag = (flags: string, description: string): OptionSpec<boolean> => ({
  flags,
  description,
  read: (raw) => raw === true,
})

export const integer = (
  flags: string,
  description: string,
  [min, max]: readonly [number, number],
  completion?: Completion,
): OptionSpec<number | undefined> => ({
  flags,
  description,
  ...complete(completion),
  read: (raw) => {
    if (raw === undefined) return undefined
    const number = /^\d{1,16}$/.test(String(raw)) ? Number(raw) : Number.NaN
    if (number >= min && number <= max) return number
    throw new UsageError(
      `${longOf(flags)} must be a whole number from ${min} to ${max}, not "${String(raw)}".`,
    )
  },
})

/** @param bare the value if the option has none */
export const integerOrBare = (
  flags: string,
  description: string,
  range: readonly [number, number],
  bare: number,
): OptionSpec<number | undefined> => {
  const { read } = integer(flags, description, range)
  return { flags, description, read: (raw) => (raw === true ? bare : read(raw)) }
}

export const choice = <const C extends string>(
  flags: string,
  description: string,
  choices: readonly C[],
): OptionSpec<C | undefined> => ({
  flags,
  description: `${description} (${choices.join(', ')})`,
  completion: choices,
  read: (raw) => {
    if (raw === undefined) return undefined
    const found = choices.find((c) => c === raw)
    if (found !== undefined) return found
    throw new UsageError(`${longOf(flags)} must be one of ${choices.join(', ')}, not "${String(raw)}".`)
  },
})

export const repeated = (
  flags: string,
  description: string,
  completion?: Completion,
): OptionSpec<readonly string[]> => ({
  flags,
  description,
  repeatable: true,
  ...complete(completion),
  read: (raw) => (Array.isArray(raw) ? raw.map(String) : []),
})

/** Values of a repeated option, which may also be separated by commas. @throws UsageError */
export const chosen = <const C extends string>(
  flag: string,
  values: readonly string[],
  known: readonly C[],
): C[] =>
  values
    .flatMap((text) => text.split(','))
    .map((text) => {
      const found = known.find((one) => one === text.trim())
      if (found !== undefined) return found
      throw new UsageError(`${flag} must be one of ${known.join(', ')}, not "${text}".`)
    })

/** `true` if the option has no value. */
export const textOrBare = (flags: string, description: string): OptionSpec<string | true | undefined> => ({
  flags,
  description,
  read: (raw) => (raw === true ? true : asText(raw)),
})

export const argument = (
  written: string,
  description: string,
  completion?: Completion,
): ArgumentSpec<string> => ({
  written: `<${written}>`,
  description,
  ...complete(completion),
  read: (raw) => String(raw ?? ''),
})

export const optionalArgument = (
  written: string,
  description: string,
  completion?: Completion,
): ArgumentSpec<string | undefined> => ({
  written: `[${written}]`,
  description,
  ...complete(completion),
  read: asText,
})

/** All that follows, as it is. */
export const operands = (written: string, description: string): ArgumentSpec<readonly string[]> => ({
  written: `[${written}...]`,
  description,
  read: (raw) => (Array.isArray(raw) ? raw.map(String) : []),
})

export const yes = flag('-y, --yes', 'Do not ask for confirmation')
export const team = text(
  '--team <name|id>',
  'The team (default: the team of the API key, or the only team)',
  'team',
)

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** In milliseconds. */
export const span = (
  flags: string,
  description: string,
  maxDays: number,
): OptionSpec<number | undefined> => ({
  flags,
  description,
  read: (raw) => {
    if (raw === undefined) return undefined
    const [, count, unit = ''] = /^(?:(\d{1,6})([mhd])|0)$/.exec(String(raw)) ?? [undefined, '']
    const ms = Number(count ?? 0) * (units[unit] ?? 0)
    if (ms > maxDays * 86_400_000)
      throw new UsageError(`${longOf(flags)} must be at most ${maxDays}d, not "${String(raw)}".`)
    if (count !== '') return ms
    throw new UsageError(
      `${longOf(flags)} must be a span such as 30m, 24h or 7d, or 0, not "${String(raw)}".`,
    )
  },
})

/** A time that may be relative to now. */
export type Moment = (now: Date) => string

export const moment = (
  flags: string,
  description: string,
  direction: 'ago' | 'ahead',
): OptionSpec<Moment | undefined> => ({
  flags,
  description: `${description}: a date, an ISO 8601 time, or 30m, 2h, 7d ${direction === 'ago' ? 'ago' : 'from now'}`,
  read: (raw) => (typeof raw === 'string' ? readTime(longOf(flags), raw, direction) : undefined),
})

/** @throws UsageError also for a day that does not exist */
export const readTime = (what: string, text: string, direction: 'ago' | 'ahead'): Moment => {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (count !== undefined) {
    const span = Number(count) * (units[unit] ?? 0)
    return (now) => new Date(now.getTime() + (direction === 'ago' ? -span : span)).toISOString()
  }
  const time = readMoment(text)
  if (time !== undefined) return () => time
  throw new UsageError(
    `${what} must be a date (2026-12-31), an ISO 8601 time with a time zone, or a span such as 30m, 2h or 7d, not "${text}".`,
  )
}
