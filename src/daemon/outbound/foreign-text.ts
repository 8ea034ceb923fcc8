const longest = 300

/** What somebody else's program said, as it may be kept and shown: no longer than a line, and nothing but text. */
export function plainText(text: string): string {
  const plain = text
    .slice(0, 4 * longest)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Co}\s]+/gu, ' ')
    .trim()
  return plain.length > longest ? `${plain.slice(0, longest).toWellFormed()}…` : plain
}
