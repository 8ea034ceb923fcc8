import type { Font } from './libraries.ts'

/** The characters beyond Latin-1 that the fonts have that every PDF reader brings along. */
const others = '€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ'
const isBuiltIn = (character: string): boolean =>
  /^[\u0020-\u007e\u00a0-\u00ff]$/.test(character) || others.includes(character)

/** Line ends, and marks that turn text around, are no part of what is read on a label. */
const unprinted = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

export const printable = (text: string): string => text.replace(unprinted, ' ').trim().normalize('NFC')

/** `own`: the font that was given. */
export type Face = 'regular' | 'bold' | 'own'

/** Chooses the font of a text as a whole: `own` where it has all characters, else a built-in one where that has. */
export const faceFor = (
  text: string,
  builtIn: 'regular' | 'bold',
  custom: Font | undefined,
): { readonly face: Face } | { readonly missing: string } => {
  const characters = [...text]
  const has = (character: string) => custom?.hasGlyphForCodePoint(character.codePointAt(0) ?? 0) ?? false
  if (custom && characters.every(has)) return { face: 'own' }
  const missing = characters.find((character) => !isBuiltIn(character))
  if (missing === undefined) return { face: builtIn }
  // A character that the given font lacks keeps it from being used.
  return { missing: (custom && characters.find((character) => !has(character))) ?? missing }
}

export interface Fitted {
  /** In points. */
  readonly size: number
  readonly lines: readonly string[]
}

export interface TextBox {
  /** In points. */
  readonly width: number
  readonly height: number
  readonly lines: number
  readonly maxSize: number
  readonly minSize: number
}

/** The distance between lines, in sizes. */
export const leading = 1.18

/**
 * The largest size at which the text fits without breaking a word; else at which it fits; else the smallest, cut with
 * three dots. @param measure the width of a text in points, at a size of one point
 */
export const fitText = (text: string, room: TextBox, measure: (text: string) => number): Fitted => {
  const { width, height, maxSize, minSize } = room
  for (const mayBreak of [false, true])
    for (let size = maxSize; size >= minSize; size -= 0.5) {
      const lines = wrapped(text, width / size, measure, mayBreak)
      if (lines && lines.length <= Math.min(room.lines, Math.floor(height / (size * leading))))
        return { size, lines }
    }
  const count = Math.max(1, Math.min(room.lines, Math.floor(height / (minSize * leading))))
  const lines = wrapped(text, width / minSize, measure, true) ?? []
  if (lines.length <= count) return { size: minSize, lines }
  const last = [...(lines[count - 1] ?? '')]
  while (last.length > 0 && measure(`${last.join('')}...`) > width / minSize) last.pop()
  return { size: minSize, lines: [...lines.slice(0, count - 1), `${last.join('').trimEnd()}...`] }
}

/** @returns undefined if a word is longer than a line, and must not be broken */
const wrapped = (
  text: string,
  width: number,
  measure: (text: string) => number,
  mayBreak: boolean,
): string[] | undefined => {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/ +/)) {
    const longer = line === '' ? word : `${line} ${word}`
    if (measure(longer) <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = word
    if (measure(word) <= width) continue
    if (!mayBreak) return undefined
    line = ''
    for (const character of word) {
      if (line !== '' && measure(line + character) > width) {
        lines.push(line)
        line = ''
      }
      line += character
    }
  }
  if (line !== '') lines.push(line)
  return lines
}
