import fastStringWidth from 'fast-string-width'
import { stringifyExact } from '../../values/json.ts'
import { isCi, type System } from '../system.ts'

// Control characters and bidirectional marks: data from a daemon must not steer a terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern matches them.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const escaped = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
/** Replaces control characters with visible escapes. */
export const clean = (text: string): string => text.replace(unsafe, escaped)

/** Keeps the lines of a text. */
export const cleanLines = (text: string): string => text.replace(unsafe, (c) => (c === '\n' ? c : escaped(c)))

/** Keeps lines and tabs. In JSON the escapes are the same characters. */
export const cleanCells = (text: string): string =>
  text.replace(unsafe, (c) => (c === '\n' || c === '\t' ? c : escaped(c)))

/** JSON for whoever looks at it: its text may be anybody's. */
export const jsonLine = (value: unknown): string => cleanCells(`${stringifyExact(value)}\n`)

export const widthOf = (text: string): number => fastStringWidth(text)

/** `-` if there is no value. */
export const shown = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(shown).join(', ')
  return clean(typeof value === 'object' ? stringifyExact(value) : String(value))
}

/** Shortens hashes and addresses: 0x1234…abcd. */
export const shortened = (text: string): string =>
  text.replace(/\b(0x[0-9a-fA-F]{4})(?:[0-9a-fA-F]{56}|[0-9a-fA-F]{32})([0-9a-fA-F]{4})\b/g, '$1…$2')

/** Quoted for a shell, in commands that people copy. */
export const shellQuoted = (text: string): string =>
  /^[\w.,:/=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** 1,000. */
export const formatNumber = (n: number): string => n.toLocaleString('en-US')

/** 3 chips, 1 chip, 1,000 chips. */
export const counted = (n: number, noun: string, plural = `${noun}s`): string =>
  `${formatNumber(n)} ${n === 1 ? noun : plural}`

export interface PlotArea {
  /** In characters. */
  readonly width: number
  /** False where the terminal may not show block characters. */
  readonly unicode: boolean
}

/** @returns undefined if standard output is not a terminal that people look at */
export const plotArea = ({ stdout, env }: Pick<System, 'stdout' | 'env'>): PlotArea | undefined => {
  if (stdout.isTTY !== true || env.TERM === 'dumb' || isCi({ env })) return undefined
  return { width: stdout.columns || 80, unicode: hasUnicode(env) }
}

/** False where a terminal may not show block characters. */
export const hasUnicode = (env: System['env']): boolean => {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ''
  return /utf-?8/i.test(locale) && env.TERM !== 'linux'
}

/** One character per value, and fewer where they do not fit: then each stands for the sum of several. */
export const sparkline = (values: readonly number[], { width, unicode }: PlotArea): string => {
  const levels = unicode ? '▁▂▃▄▅▆▇█' : '.:-=+*#@'
  const each = Math.ceil(values.length / Math.max(1, width))
  const sums: number[] = []
  for (let at = 0; at < values.length; at += each)
    sums.push(values.slice(at, at + each).reduce((sum, value) => sum + value, 0))
  const max = Math.max(...sums)
  // Zero must look different from a small value.
  const levelOf = (sum: number) =>
    sum === 0 ? ' ' : levels[Math.min(levels.length - 1, Math.floor((sum / max) * levels.length))]
  return sums.map(levelOf).join('')
}

/** @param max the value of the longest bar */
export const bar = (value: number, max: number, { width, unicode }: PlotArea): string => {
  if (value === 0 || width < 1) return ''
  const length = (value / max) * width
  if (!unicode) return '#'.repeat(Math.max(1, Math.round(length)))
  const eighths = Math.max(1, Math.round(length * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + (['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8] ?? '')
}
