/** @returns the scheme of a URL that runs or reads something on the device of whoever opens it, if it has one */
export function harmfulScheme(url: string): string | undefined {
  // Browsers ignore whitespace and control characters in the scheme of a URL.
  const scheme = /^([a-z]+):/i.exec(url.slice(0, 200).replace(/[\s\p{Cc}\p{Cf}]/gu, ''))?.[1]?.toLowerCase()
  return scheme !== undefined && ['javascript', 'vbscript', 'file'].includes(scheme) ? scheme : undefined
}
