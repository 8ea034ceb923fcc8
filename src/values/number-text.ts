const plain = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** @returns why a text is no number that marketplaces read, which can follow the text in quotes */
export function reasonAgainstNumber(text: string): string | undefined {
  if (plain.test(text))
    return Number.isFinite(Number(text))
      ? undefined
      : 'must be a number that programs can read: at most 1.7e308'
  return /^-?\d+,\d+$/.test(text)
    ? `must be a number with a point and without commas: ${text.replace(',', '.')}`
    : 'must be a number, such as 12 or 0.5'
}
