/** The parameters of a tap that a URL shows. */
export interface TapParameters {
  readonly e: string
  readonly c: string
  readonly d: string | null
}

/** The parameters of a URL, in their order. */
export const parametersIn = (url: string): [name: string, value: string][] => {
  const at = url.indexOf('?')
  return at < 0 ? [] : [...new URLSearchParams(url.slice(at + 1).split('#', 1)[0])]
}

// A chip mirrors in upper case: 16 bytes of encrypted UID and counter (24 in LRP mode), and 8 bytes of MAC.
const isE = (value: string): boolean => /^([0-9A-F]{32}|[0-9A-F]{48})$/.test(value)
const isC = (value: string): boolean => /^[0-9A-F]{16}$/.test(value)
const isD = (value: string): boolean => /^[0-9]{1,10}$/.test(value)

/**
 * e, c and d by what they look like: a key set gives them other names, which the daemon alone knows. d is the number
 * next to them. undefined when no tap is there, or it could be read in two ways.
 */
export const tapByShape = (url: string): TapParameters | undefined => {
  const values = parametersIn(url).map(([, value]) => value)
  const [e, c] = [values.filter(isE), values.filter(isC)]
  if (e.length !== 1 || c.length !== 1 || e[0] === undefined || c[0] === undefined) return undefined
  const numbers = values.slice(0, values.indexOf(c[0])).filter(isD)
  return { e: e[0], c: c[0], d: numbers.at(-1) ?? null }
}
