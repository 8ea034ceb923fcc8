import { UsageError } from '../errors.ts'

/** The number of a thing, as its list shows it. */
export const readId = (text: string): number => {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`An id is a number, not "${text}".`, 'The list shows it in the column ID.')
}
