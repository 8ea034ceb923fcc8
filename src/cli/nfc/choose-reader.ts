import { type CardReader, NoReader, type ReaderFilter } from '../../nfc/card.ts'
import { UsageError } from '../errors.ts'

/**
 * The name of the reader to use: the one named in full or in part, else the only one, else the only one with a card;
 * undefined: whichever gets a card first. A slot for cards with contacts is used only if it is named.
 * @throws NoReader, UsageError if several match
 */
export const chooseReader = (
  readers: readonly CardReader[],
  name: string | undefined,
): string | undefined => {
  if (name !== undefined) return named(readers, name)
  const fields = readers.filter(({ isContact }) => !isContact)
  const [first, ...others] = fields.filter(({ state }) => state !== 'empty')
  if (first !== undefined && others.length > 0)
    throw several('Several readers have a card', [first, ...others])
  return first?.name ?? (fields.length === 1 ? fields[0]?.name : undefined)
}

const named = (readers: readonly CardReader[], requestedName: string): string => {
  const exact = readers.find(({ name }) => name === requestedName)
  if (exact !== undefined) return exact.name
  const matching = readers.filter(({ name }) => name.toLowerCase().includes(requestedName.toLowerCase()))
  const fields = matching.filter(({ isContact }) => !isContact)
  const [found, ...others] = fields.length > 0 ? fields : matching
  if (found !== undefined && others.length > 0)
    throw several(`Several readers are called "${requestedName}"`, [found, ...others])
  if (found !== undefined) return found.name
  throw new NoReader(
    requestedName,
    readers.map(({ name }) => name),
  )
}

/** The readers to connect to: the chosen one, else all that have a field. */
export const fieldsOf = (chosen: string | undefined): ReaderFilter =>
  chosen === undefined ? ({ isContact }) => !isContact : ({ name }) => name === chosen

const several = (what: string, readers: readonly CardReader[]): UsageError =>
  new UsageError(
    `${what}: ${readers.map(({ name }) => name).join(', ')}.`,
    `Specify which: --reader "${readers[0]?.name}"`,
  )
