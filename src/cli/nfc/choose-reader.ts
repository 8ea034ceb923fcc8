import { type CardReader, NoReader, type ReaderFilter } from '../../nfc/card.ts'
import { UsageError } from '../errors.ts'

/** Some readers have a slot for a contact card, which PC/SC lists as another reader. */
export const isSamSlot = (name: string): boolean => /\bSAM\b/i.test(name)

/**
 * The name of the reader to use: the one named in full or in part, else the only one, else the only one with a card;
 * undefined: whichever gets a card first. @throws NoReader, UsageError if several match
 */
export const chooseReader = (
  readers: readonly CardReader[],
  name: string | undefined,
): string | undefined => {
  if (name !== undefined) return named(readers, name)
  const fields = withoutSam(readers)
  const [first, ...others] = fields.filter(({ state }) => state !== 'empty')
  if (first !== undefined && others.length > 0)
    throw several('Several readers have a card', [first, ...others])
  return first?.name ?? (fields.length === 1 ? fields[0]?.name : undefined)
}

const named = (readers: readonly CardReader[], requestedName: string): string => {
  const exact = readers.find(({ name }) => name === requestedName)
  if (exact !== undefined) return exact.name
  const matching = readers.filter(({ name }) => name.toLowerCase().includes(requestedName.toLowerCase()))
  const [found, ...others] = withoutSam(matching)
  if (found !== undefined && others.length > 0)
    throw several(`Several readers are called "${requestedName}"`, [found, ...others])
  if (found !== undefined) return found.name
  throw new NoReader(
    requestedName,
    readers.map(({ name }) => name),
  )
}

/**
 * The readers to connect to: the chosen one, else all but the slots for contact cards, unless there is nothing else.
 * @param readers those that are plugged in now
 */
export const fieldsOf = (readers: readonly CardReader[], chosen: string | undefined): ReaderFilter => {
  if (chosen !== undefined) return (name) => name === chosen
  const onlySam = readers.length > 0 && readers.every(({ name }) => isSamSlot(name))
  return (name) => onlySam || !isSamSlot(name)
}

const withoutSam = (readers: readonly CardReader[]): readonly CardReader[] => {
  const fields = readers.filter(({ name }) => !isSamSlot(name))
  return fields.length > 0 ? fields : readers
}

const several = (what: string, readers: readonly CardReader[]): UsageError =>
  new UsageError(
    `${what}: ${readers.map(({ name }) => name).join(', ')}.`,
    `Specify which: --reader "${readers[0]?.name}"`,
  )
