// Letters that are read from two metres: five rows of five dots each, a number a row, its highest bit on the left.

const glyphs: Readonly<Record<string, readonly number[]>> = {
  A: [14, 17, 31, 17, 17],
  B: [30, 17, 30, 17, 30],
  C: [15, 16, 16, 16, 15],
  D: [30, 17, 17, 17, 30],
  E: [31, 16, 30, 16, 31],
  F: [31, 16, 30, 16, 16],
  G: [15, 16, 19, 17, 15],
  H: [17, 17, 31, 17, 17],
  I: [14, 4, 4, 4, 14],
  J: [7, 2, 2, 18, 12],
  K: [17, 18, 28, 18, 17],
  L: [16, 16, 16, 16, 31],
  M: [17, 27, 21, 17, 17],
  N: [17, 25, 21, 19, 17],
  O: [14, 17, 17, 17, 14],
  P: [30, 17, 30, 16, 16],
  Q: [14, 17, 21, 18, 13],
  R: [30, 17, 30, 18, 17],
  S: [15, 16, 14, 1, 30],
  T: [31, 4, 4, 4, 4],
  U: [17, 17, 17, 17, 14],
  V: [17, 17, 17, 10, 4],
  W: [17, 17, 21, 27, 17],
  X: [17, 10, 4, 10, 17],
  Y: [17, 10, 4, 4, 4],
  Z: [31, 2, 4, 8, 31],
  0: [14, 19, 21, 25, 14],
  1: [4, 12, 4, 4, 14],
  2: [30, 1, 14, 16, 31],
  3: [30, 1, 14, 1, 30],
  4: [18, 18, 31, 2, 2],
  5: [31, 16, 30, 1, 30],
  6: [14, 16, 30, 17, 14],
  7: [31, 1, 2, 4, 4],
  8: [14, 17, 14, 17, 14],
  9: [14, 17, 15, 1, 14],
  '-': [0, 0, 14, 0, 0],
  '/': [1, 2, 4, 8, 16],
  '.': [0, 0, 0, 0, 4],
  ',': [0, 0, 0, 4, 8],
  ' ': [0, 0, 0, 0, 0],
}

const [rows, columns] = [5, 5]
/** With the gap after it. */
const pitch = columns + 1

/**
 * Draws a text as large as it fits, one string a line, all of one width.
 * @param space in characters @param ink one character
 * @returns undefined where it does not fit, or has a character without a glyph
 */
export const blockLetters = (
  text: string,
  space: { readonly width: number; readonly height: number },
  ink: string,
): string[] | undefined => {
  const shapes = [...text.toUpperCase()].map((letter) => glyphs[letter])
  const dots = shapes.length * pitch - 1
  if (shapes.length === 0 || shapes.includes(undefined)) return undefined
  const maxHeight = Math.floor(space.height / rows)
  // A character is twice as high as it is wide.
  const wide = Math.min(Math.floor(space.width / dots), 2 * maxHeight + 1)
  if (wide < 1 || maxHeight < 1) return undefined
  const high = Math.min(maxHeight, Math.max(1, Math.round(wide / 2)))
  const line = (row: number): string =>
    shapes
      .map((shape) =>
        Array.from({ length: columns }, (_, at) =>
          ((shape?.[row] ?? 0) >> (columns - 1 - at)) & 1 ? ink.repeat(wide) : ' '.repeat(wide),
        ).join(''),
      )
      .join(' '.repeat(wide))
  return Array.from({ length: rows }, (_, row) => Array<string>(high).fill(line(row))).flat()
}
