const longest = 300

/**
 * Makes text from another program safe to keep and show: one line of bounded length, without control
 * characters.
 */
export function plainText(text: string): string {
  const plain = text
    .slice(0, 4 * longest)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Co}\s]+/gu, ' ')
    .trim()
  return plain.length > longest ? `${plain.slice(0, longest).toWellFormed()}…` : plain
}
