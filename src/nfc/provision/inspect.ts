import { ntag424Version, selectTag, UnknownCard } from '../identify.ts'
import { type ChipVersion, getFileSettings, getKeyVersion } from '../ntag424/commands.ts'
import type { FileSettings } from '../ntag424/file-settings.ts'
import { KEY_NUMBERS, NDEF_FILE } from '../ntag424/layout.ts'
import type { Script } from '../script.ts'
import { uidFromBytes } from '../uid.ts'
import { NotNtag424, RandomIdChip } from './errors.ts'

/** What a chip tells without a key being tried. */
export interface Inspection {
  /** Decimal, as on the wire. */
  readonly uid: string
  /** Of keys 0 to 4. */
  readonly versions: readonly number[]
  readonly ndef: FileSettings
}

/**
 * Looks at a chip before anything is done to it: 10 APDUs, no authentication, no tap.
 * @param atr of the card, to name one that is no tag @throws NotNtag424, RandomIdChip, ChipError
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
    if (error instanceof UnknownCard) throw new NotNtag424(error.what, { cause: error })
    throw error
  }
}

/** Whether every key has the factory's version, so that the keys are the factory's unless somebody hid that. */
export function hasFactoryKeys({ versions }: Pick<Inspection, 'versions'>): boolean {
  return versions.every((version) => version === 0)
}
