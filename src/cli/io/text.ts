import fastStringWidth from 'fast-string-width'

// Controls, and the marks that reorder text: what a daemon stores must not steer a terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** Text as it may be shown: controls become visible escapes. */
export const clean = (text: string): string =>
  text.replace(unsafe, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Columns that a terminal gives the text. */
export const widthOf = (text: string): number => fastStringWidth(text)

/** A value as a person reads it: `-` for nothing. */
export const shown = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(shown).join(', ')
  return clean(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

/** Hashes and addresses as a person tells them apart: 0x1234…abcd. */
export const shortened = (text: string): string =>
  text.replace(/\b(0x[0-9a-fA-F]{4})(?:[0-9a-fA-F]{56}|[0-9a-fA-F]{32})([0-9a-fA-F]{4})\b/g, '$1…$2')

/** As a shell takes it for one word: in a command that a person copies. */
export const shellQuoted = (text: string): string =>
  /^[\w.,:/=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** 1,000. */
export const formatNumber = (n: number): string => n.toLocaleString('en-US')

/** 3 chips, 1 chip, 1,000 chips. */
export const counted = (n: number, noun: string, plural = `${noun}s`): string =>
  `${formatNumber(n)} ${n === 1 ? noun : plural}`
