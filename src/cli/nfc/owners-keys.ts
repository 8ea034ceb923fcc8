import { uidOnWire } from '../../nfc/uid.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { counted } from '../io/text.ts'
import { colons } from '../uid.ts'
import type { Order } from './forward-apdus.ts'
import { type FileKey, readKeysFile } from './keys-file.ts'

const slots = [0, 1, 2, 3, 4] as const

/**
 * The five keys of one chip, from `--keys`. If the file says whose they are, another chip is refused.
 * @param uid the chip whose keys are picked from a file of several, in decimal @throws UsageError
 */
export const ownersKeys = async (
  ctx: CliContext,
  file: string | undefined,
  uid?: string,
): Promise<Pick<Order, 'keys' | 'uid'>> => {
  if (file === undefined) return uid === undefined ? {} : { uid: uidOnWire(uid) }
  const all = await readKeysFile(ctx.system, file)
  const owners = [...new Set(all.flatMap((key) => key.uid ?? []))]
  const [only] = owners
  const owner = uid ?? (owners.length === 1 ? only : undefined)
  if (owners.length > 1 && owner === undefined)
    throw new UsageError(
      `${file} has keys of ${counted(owners.length, 'chip')}.`,
      'Say which of them is on the reader (nfc reset --uid UID), or give a file with the keys of one.',
    )
  if (owner !== undefined && owners.length > 0 && !owners.includes(owner))
    throw new UsageError(`${file} has no keys of ${colons(owner)}.`, 'Give the file of that chip.')
  const own = all.filter((key) => owners.length === 0 || key.uid === owner)
  const keys = slots.map((slot) => keyIn(own, slot, file))
  return { keys, ...(owner === undefined ? {} : { uid: uidOnWire(owner) }) }
}

const keyIn = (keys: readonly FileKey[], slot: number, file: string): string => {
  const found = keys.filter((key) => key.slot === slot)
  const [first] = found
  if (first && found.every(({ key }) => key.equals(first.key))) return first.key.toString('hex')
  throw new UsageError(
    first ? `${file} has several keys ${slot}.` : `${file} has no key ${slot}.`,
    'It takes all five keys of the chip: { "k0": "…", "k1": "…", "k2": "…", "k3": "…", "k4": "…" }, or five lines.',
  )
}
