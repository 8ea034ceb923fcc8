import fastStringWidth from 'fast-string-width'
import { stringifyExact } from '../../values/exact-json.ts'

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
