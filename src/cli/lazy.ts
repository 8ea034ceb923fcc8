/** Makes a thing when it is first asked for, and gives the same one from then on. */
export const lazy = <T>(make: () => T): (() => T) => {
  let made: { readonly thing: T } | undefined
  return () => {
    made ??= { thing: make() }
    return made.thing
  }
}
