export const parametersIn = (url: string): [name: string, value: string][] => {
  const at = url.indexOf('?')
  return at < 0 ? [] : [...new URLSearchParams(url.slice(at + 1).split('#', 1)[0])]
}

/** True for a URL that may be a tap: every MAC has 16 hex digits, whatever its parameter is called. */
export const hasMac = (url: string): boolean =>
  parametersIn(url).some(([, value]) => /[0-9A-Fa-f]{16}/.test(value))
