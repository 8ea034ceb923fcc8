import { type CardReader, NoReader } from '../../nfc/card.ts'
import { UsageError } from '../errors.ts'

/**
 * The name of the reader to use: the one that was asked for by its name or a part of it, else the only one that has a
 * card. undefined: whichever gets a card first. @throws NoReader, UsageError when several fit
 */
export const chooseReader = (
  readers: readonly CardReader[],
  asked: string | undefined,
): string | undefined => {
  const names = readers.map(({ name }) => name)
  if (asked === undefined) {
    const [first, ...others] = readers.filter(({ state }) => state !== 'empty')
    if (others.length === 0) return first?.name
    throw several(
      'Several readers have a card',
      readers.filter(({ state }) => state !== 'empty').map(({ name }) => name),
    )
  }
  const whole = names.find((name) => name === asked)
  if (whole !== undefined) return whole
  const [found, ...others] = names.filter((name) => name.toLowerCase().includes(asked.toLowerCase()))
  if (found === undefined) throw new NoReader(asked, names)
  if (others.length > 0) throw several(`Several readers are called "${asked}"`, [found, ...others])
  return found
}

const several = (what: string, names: readonly string[]): UsageError =>
  new UsageError(`${what}: ${names.join(', ')}.`, `Say which: --reader "${names[0]}"`)
