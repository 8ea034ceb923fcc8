const maxLength = 300

/**
 * Makes text from another program safe to keep and show: one line of bounded length, without control
 * characters.
 */
export function plainText(text: string): string {
  const plain = text
    .slice(0, 4 * maxLength)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Co}\s]+/gu, ' ')
    .trim()
  return plain.length > maxLength ? `${plain.slice(0, maxLength).toWellFormed()}…` : plain
}

/** Reads a Retry-After header (RFC 9110, 10.2.3: seconds or a date) within bounds. @returns milliseconds, if any */
export function retryAfterMs(
  header: string | string[] | undefined,
  now: number,
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, min), max)
}
