import { CliError, UsageError } from '../errors.ts'

/**
 * Finds what a person named. The ways of naming are tried in order: a group may be called 3 while another has the ID 3.
 * @throws CliError that names the command which lists them
 */
export const findNamed = <T>(
  all: readonly T[],
  nameOrId: string,
  { noun, list, by }: { noun: string; list: string; by: readonly ((one: T) => unknown)[] },
): T => {
  for (const nameOf of by) {
    const found = all.find((one) => String(nameOf(one)) === nameOrId)
    if (found !== undefined) return found
  }
  throw new CliError(`There is no ${noun} "${nameOrId}".`, { advice: `List them: tapchip ${list}` })
}

const anyId = /^\d{1,15}$/
/** Events are counted from 1. */
export const eventId = /^[1-9]\d{0,14}$/

/** @param list the command that shows the IDs. @throws UsageError */
export const readId = (
  text: string,
  { noun, list }: { noun: string; list: string },
  isId = anyId,
): number => {
  if (isId.test(text)) return Number(text)
  throw new UsageError(
    `The id of ${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun} is a number, not "${text}".`,
    `List them: tapchip ${list}`,
  )
}
