const least = 1_000
const most = 3_600_000

/**
 * How long an answer asks to wait, as seconds or as a date, within reason: a second to an hour.
 * @returns milliseconds; undefined where it does not ask
 */
export function retryAfter(header: string | string[] | undefined, now: number): number | undefined {
  const text = Array.isArray(header) ? header[0] : header
  if (text === undefined || text.trim() === '') return undefined
  const ms = /^\s*\d+\s*$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, least), most)
}
