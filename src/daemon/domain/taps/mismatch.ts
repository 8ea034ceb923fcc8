import type { TapParameters } from '../../../nfc/ntag424/template/match.ts'

/** Why a tap does not fit a template. `reason` can follow the parameter's name. */
export interface Mismatch {
  readonly parameter: string
  readonly reason: string
  readonly isMissing: boolean
}

const maxNames = 6

/**
 * The reason of a mismatch in words that say what became of the URL. Apps and people read them, so they name only what
 * the URL has.
 * @param query all parameters @param known those that a key set or a HaLo chip has
 */
export function whyMismatched(
  query: Readonly<Record<string, unknown>>,
  known: TapParameters,
  { parameter, reason, isMissing }: Mismatch,
) {
  if (!isMissing) return withLength(reason, known[parameter] ?? '')
  const names = Object.keys(query)
  if (names.length === 0)
    return 'is missing: there are no parameters. Open the complete URL that the chip shows. If it has a # before the ?, browsers keep what follows to themselves: the page has to pass it on'
  if (names.some((name) => /^(amp|#38);/i.test(name)))
    return 'is missing: the URL is HTML-escaped, with &amp; in place of &. Send it with & alone; if the chip itself shows &amp;, set it up again'
  const others = names.filter((name) => known[name] === undefined && /[0-9a-f]{6}/i.test(String(query[name])))
  if (others.length === 0) return reason
  const found = names.filter((name) => known[name] !== undefined || others.includes(name))
  const shown = found.slice(0, maxNames).map((name) => (/^[\w.~-]{1,32}$/.test(name) ? name : '…'))
  return `is missing: no key set has the parameters of this URL (${shown.join(', ')}). Find the one that fits with your keys: tapchip key-sets learn --url URL --keys FILE`
}

function withLength(reason: string, value: string): string {
  if (!reason.includes('hex digits') || !/^[0-9a-f]*$/i.test(value)) return reason
  return `${reason}, and has ${value.length}: the URL was cut off or changed. Open the complete URL that the chip shows`
}
