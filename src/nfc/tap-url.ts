import { haloUrlParameters } from './halo/tap.ts'
import { readings } from './learn/readings.ts'

/** The URL of a tap as text, from what people copy. */
export interface TapUrl {
  /** With a scheme, with `?`, and without a fragment. */
  readonly text: string
  readonly warnings: readonly string[]
}

/** More than any chip shows, and as much as a template has. */
const maxLength = 400

/** @returns `problem`, in a sentence, if no chip's values can be in it */
export function readTapUrl(input: string): TapUrl | { readonly problem: string } {
  const warnings: string[] = []
  let text = input.trim().replace(/^(["'<])(.*)["'>]$/s, '$2')
  if (/&(amp|#38);/i.test(text)) {
    text = text.replace(/&(amp|#38);/gi, '&')
    warnings.push(
      'The URL is HTML-escaped: it has &amp; in place of &. It was read with &; if the chip itself shows &amp;, phones send parameters with other names.',
    )
  }
  if (text.includes('\\')) text = text.replace(/\\([?&=])/g, '$1')
  const [, beforeHash = text, fragment] = /^([^#]*)#(.*)$/s.exec(text) ?? []
  if (fragment?.includes('?') && !beforeHash.includes('?')) {
    text = `${beforeHash.replace(/\/$/, '')}${fragment.replace(/^!?\/?/, '/')}`
    warnings.push(
      'The URL has its parameters behind a #, where a browser keeps them from the server: /t cannot take these taps. Your page has to send the parameters to GET /chips/find.',
    )
  } else text = beforeHash
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) text = `https://${text}`
  if (text.length > maxLength && !haloUrlParameters(text))
    return {
      problem: `The URL has ${text.length} characters, and the file of a chip has 256 bytes: give the URL that the chip shows.`,
    }
  if (!text.includes('?'))
    return {
      problem: /[0-9a-f]{14,}/i.test(text)
        ? 'The URL has its values in the path, and Tapchip reads them from parameters: have your server pass them on as ?uid=…&ctr=…&c=…'
        : 'The URL has no parameters. Use the complete URL that the chip shows: tapchip nfc read --json prints it',
    }
  return { text, warnings }
}

/**
 * Why a chip cannot have written a URL; undefined if it may have. Factory settings and templates have zeros where a chip
 * writes, and no MAC and no ciphertext is only zeros.
 */
export function whyUnfilled(
  parameters: Iterable<readonly [name: string, value: unknown]>,
): string | undefined {
  for (const [name, value] of parameters)
    if (typeof value === 'string' && /(?:^|[^0-9a-f])0{16,}$/i.test(value))
      return `The URL has only zeros in ${name}, where a chip writes its values at each tap: its SDM (Secure Dynamic Messaging) is off, or this is a copy of the template. Tap the chip itself; if it shows the same, it was not set up for taps.`
  return undefined
}

/**
 * Why a URL shows no tap, in a sentence; undefined if it may: which values are where depends on the key set.
 * @param isCopied by a person, and not read from a chip
 */
export function whyNoTap(text: string, isCopied: boolean): string | undefined {
  if (haloUrlParameters(text)) return undefined
  const unfilled = whyUnfilled(parametersIn(text))
  if (unfilled !== undefined) return unfilled
  for (const _ of readings(text.slice(text.indexOf('?') + 1))) return undefined
  const isMaybe = parametersIn(text).some(([, value]) => /[0-9a-f]{16}/i.test(value))
  return whyCut(text, isCopied) ?? (isMaybe ? undefined : noValues)
}

export const parametersIn = (url: string): [name: string, value: string][] => {
  const at = url.indexOf('?')
  return at < 0 ? [] : [...new URLSearchParams(url.slice(at + 1).split('#', 1)[0])]
}

/** Why no reading of a URL has the values of a tap. */
export const whyNoValues = (text: string): string => whyCut(text, true) ?? noValues

const noValues =
  'The URL has no values of a tap: 16 hex digits of a MAC, and either 32 digits (48 in LRP mode) of encrypted PICC data, or 14 of a UID and 6 of a counter.'

/** @param isCopied by a person, and not read from a chip */
function whyCut(text: string, isCopied: boolean): string | undefined {
  const again = isCopied ? ' Copy it again, in quotes.' : ''
  const values = text
    .slice(text.indexOf('?') + 1)
    .split('&')
    .map((one) => ({ name: one.split('=', 1)[0] ?? '', value: one.slice(one.indexOf('=') + 1) }))
  const last = values.at(-1)
  const digits = last && /[0-9a-f]+$/i.exec(last.value)?.[0].length
  if (values.length === 1 && (digits === 32 || digits === 48))
    return `The URL has no MAC, and ends after ${last?.name}${isCopied ? ': a shell cuts a URL at & unless it stands in quotes' : ''}.`
  if (last && digits !== undefined && digits > 2 && ![2, 6, 14, 16].includes(digits) && digits % 32 !== 0)
    return `The URL was cut off: ${last.name} ends in ${digits} hex digits, and a MAC has 16.${again}`
  const cut = values.find(
    ({ value }) => /^[0-9a-f]+$/i.test(value) && value.length > 24 && value.length % 16 !== 0,
  )
  if (cut)
    return `A value of the URL was cut off: ${cut.name} has ${cut.value.length} hex digits, and encrypted values have 32, 48, 64, ….${again}`
  return undefined
}
