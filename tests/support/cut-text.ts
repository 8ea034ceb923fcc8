import fc from 'fast-check'

/** The text in pieces of `size` characters. */
export const cut = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))

export const pieceSize = fc.integer({ min: 1, max: 20 })
