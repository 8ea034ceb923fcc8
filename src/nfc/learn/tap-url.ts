import { haloUrlParameters } from '../halo/tap.ts'

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
  if (haloUrlParameters(text))
    return {
      problem:
        'This is the URL of a HaLo chip, which signs with its own key and needs no key set. Register it with its publicKey: tapchip chips import',
    }
  if (text.length > maxLength)
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

/** Why no reading of a URL has the values of a tap. */
export function whyNoTap(text: string): string {
  const values = text
    .slice(text.indexOf('?') + 1)
    .split('&')
    .map((one) => ({ name: one.split('=', 1)[0] ?? '', value: one.slice(one.indexOf('=') + 1) }))
  const last = values.at(-1)
  const digits = last && /[0-9a-f]+$/i.exec(last.value)?.[0].length
  if (values.length === 1 && (digits === 32 || digits === 48))
    return `The URL has no MAC, and ends after ${last?.name}: a shell cuts a URL at & unless it stands in quotes.`
  if (last && digits !== undefined && digits > 2 && ![2, 6, 14, 16].includes(digits) && digits % 32 !== 0)
    return `The URL was cut off: ${last.name} ends in ${digits} hex digits, and a MAC has 16. Copy it again, in quotes.`
  const cut = values.find(
    ({ value }) => /^[0-9a-f]+$/i.test(value) && value.length > 24 && value.length % 16 !== 0,
  )
  if (cut)
    return `A value of the URL was cut off: ${cut.name} has ${cut.value.length} hex digits, and encrypted values have 32, 48, 64, …. Copy it again, in quotes.`
  return 'The URL has no values of a tap: 16 hex digits of a MAC, and either 32 digits (48 in LRP mode) of encrypted PICC data, or 14 of a UID and 6 of a counter.'
}
