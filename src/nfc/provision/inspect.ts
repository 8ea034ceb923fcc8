import { ntag424Version, selectTag, UnknownCard } from '../identify.ts'
import { type ChipVersion, getFileSettings, getKeyVersion } from '../ntag424/commands.ts'
import type { FileSettings } from '../ntag424/file-settings.ts'
import { KEY_NUMBERS, NDEF_FILE } from '../ntag424/layout.ts'
import type { Script } from '../script.ts'
import { uidFromBytes } from '../uid.ts'
import { NotNtag424, RandomIdChip } from './errors.ts'

/** The state of a chip as far as it can be read without a key. */
export interface Inspection {
  /** Decimal, as on the wire. */
  readonly uid: string
  /** Versions of keys 0 to 4. */
  readonly versions: readonly number[]
  readonly ndef: FileSettings
}

/**
 * Reads the state of a chip with 10 APDUs, no authentication, and no tap.
 * @param atr used to name a card that is not a tag @throws NotNtag424, RandomIdChip, ChipError
 */
export function* inspect(atr?: Uint8Array): Script<Inspection> {
  const { uid } = yield* identified(atr)
  if (uid.every((byte) => byte === 0)) throw new RandomIdChip()
  const versions: number[] = []
  for (const keyNo of KEY_NUMBERS) versions.push(yield* getKeyVersion(keyNo))
  return { uid: uidFromBytes(uid), versions, ndef: yield* getFileSettings(NDEF_FILE) }
}

function* identified(atr: Uint8Array | undefined): Script<ChipVersion> {
  try {
    yield* selectTag(atr)
    return yield* ntag424Version()
  } catch (error) {
    if (error instanceof UnknownCard) throw new NotNtag424(error.kind, { cause: error })
    throw error
  }
}

/** True if every key has the factory's version, which is no proof of factory keys. */
export function hasFactoryKeys({ versions }: Pick<Inspection, 'versions'>): boolean {
  return versions.every((version) => version === 0)
}
