const forbidden = new Set(['javascript:', 'data:', 'file:', 'blob:', 'vbscript:', 'about:', 'view-source:'])

/**
 * Why a URL can be no redirect, as far as it shows without the daemon, which has the last word.
 * Undefined: none is known.
 */
export const checkRedirectUrl = (text: string): string | undefined => {
  if (text.length > 4096) return 'is longer than 4096 characters'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the parser below would drop them silently.
  if (/[\u0000-\u0020\u007f]/.test(text)) return 'holds blanks or control characters'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII.
  if (/[^\u0000-\u007e]/.test(text)) return 'holds characters that a URL writes percent-encoded'
  const url = parse(text)
  if (!url) return 'is no URL: it needs its scheme, as in https://example.com/'
  if (forbidden.has(url.protocol)) return `begins with ${url.protocol}, which is refused`
  if (url.username !== '' || url.password !== '') return 'holds a user or a password'
  if ((url.protocol === 'http:' || url.protocol === 'https:') && url.hostname === '') return 'has no host'
  const callback = url.searchParams.get('cb_url')
  if (callback === null) return undefined
  const target = parse(callback)
  if (target?.protocol === 'http:' || target?.protocol === 'https:') {
    return target.username === '' && target.password === ''
      ? undefined
      : 'has a cb_url that holds a user or a password'
  }
  return 'has a cb_url that is not http or https'
}

const parse = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined)
