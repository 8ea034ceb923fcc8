import { UsageError } from '../errors.ts'

/** Scopes as given: repeated, or with commas. */
export const readScopes = <const S extends string>(given: readonly string[], known: readonly S[]): S[] =>
  given
    .flatMap((text) => text.split(','))
    .map((text) => {
      const found = known.find((scope) => scope === text.trim())
      if (found !== undefined) return found
      throw new UsageError(`--scopes must be one of ${known.join(', ')}, not "${text}".`)
    })
