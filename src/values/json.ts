/** An object of JSON that is no array. */
export type JsonObject = Readonly<Record<string, unknown>>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)

export const parseObject = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = parseExact(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

// JavaScript reads numbers of JSON as doubles, which lose the digits of a uint256. Node 20 cannot see a number's text
// while it parses, so such numbers travel through JSON.parse and JSON.stringify as marked text.

/** A number of JSON whose digits would be lost as a JavaScript number. `text` is as it was written. */
export class ExactNumber {
  constructor(readonly text: string) {}

  /** Digits as text for those who know nothing of exact numbers. */
  toJSON(): string {
    if (!isMarking) return this.text
    hasMarked = true
    return marks().mark + this.text
  }
}

// Nobody outside can guess it, so no text of a user can pass for a number.
let made: { mark: string; marked: RegExp } | undefined
/** Made when it is needed, since most commands need none and Node's part for it takes a while to load. */
function marks() {
  if (made) return made
  const mark = `number-${globalThis.crypto.randomUUID()}:`
  made = { mark, marked: new RegExp(`"${mark}([^"]+)"`, 'g') }
  return made
}
let isMarking = false
let hasMarked = false

/** Numbers stand after these signs, and UIDs in quotes, so that a list of UIDs costs no second look. */
const suspicious = /(?:^|[:[,\s])-?(?:[\d.]{16}|[\d.]+[eE])/
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs

/** False for nearly all JSON, without parsing it. */
export const mayLoseDigits = (text: string): boolean => suspicious.test(text)

/**
 * Like JSON.parse, with an `ExactNumber` for each number that a JavaScript number would change.
 * @throws SyntaxError
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!mayLoseDigits(text)) return value
  let isExact = true
  const { mark } = marks()
  const withMarks = text.replace(tokens, (token) => {
    if (token.startsWith('"') || keepsDigits(token)) return token
    isExact = false
    return `"${mark}${token}"`
  })
  return isExact ? value : JSON.parse(withMarks, revive)
}

const revive = (_name: string, value: unknown): unknown =>
  typeof value === 'string' && value.startsWith(marks().mark)
    ? new ExactNumber(value.slice(marks().mark.length))
    : value

/** Like JSON.stringify, with exact numbers as numbers. @param space as for JSON.stringify */
export function stringifyExact(value: unknown, space?: number): string {
  isMarking = true
  hasMarked = false
  try {
    const text = JSON.stringify(value, null, space)
    return hasMarked ? text.replace(marks().marked, '$1') : text
  } finally {
    isMarking = false
  }
}

/** @param text a number as JSON writes it */
export const numberOf = (text: string): number | ExactNumber =>
  keepsDigits(text) ? Number(text) : new ExactNumber(text)

function keepsDigits(text: string): boolean {
  const number = Number(text)
  const shown = String(number)
  if (shown === text) return true
  // Programs that read a uint256 do not read 1e+30.
  if (/^-?\d+$/.test(text) && !Number.isSafeInteger(number)) return false
  return decimalOf(shown) === decimalOf(text)
}

const form = /^(-?)0*(\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** The same for numbers that are equal: 1.50, 15e-1. */
function decimalOf(text: string): string | undefined {
  const [match, sign = '', integer = '', fraction = '', exponent = '0'] = form.exec(text) ?? []
  if (match === undefined) return undefined
  const digits = (integer + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return end === 0
    ? '0'
    : `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

// Validates JSON of our files and of other servers by its shape.
export const isText = (value: unknown): value is string => typeof value === 'string'
export const isNumber = (value: unknown): value is number => typeof value === 'number'
export const orNull = (isValid: (value: unknown) => boolean) => (value: unknown) =>
  value === null || isValid(value)
export const orAbsent = (isValid: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isValid(value)
export const shape =
  <T>(members: { readonly [K in keyof T]-?: (value: unknown) => boolean }) =>
  (value: unknown): value is T => {
    if (!isJsonObject(value)) return false
    for (const name in members) if (!members[name](value[name])) return false
    return true
  }
