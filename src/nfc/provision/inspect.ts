import { assertNtag424, ntag424Version, selectTag, UnknownCard } from '../identify.ts'
import { getFileSettings, getKeyVersion, getVersion } from '../ntag424/commands.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { type FileSettings, sameFileSettings } from '../ntag424/file-settings.ts'
import { CC_FILE, NDEF_FILE } from '../ntag424/layout.ts'
import { accepts, type Originality, originalityOf, readSignature } from '../ntag424/originality.ts'
import { type Script, together } from '../script.ts'
import { BROKEN_OFF, selectApplication } from '../type4.ts'
import { uidFromBytes, uidToBytes } from '../uid.ts'
import { NotGenuine, NotNtag424, ProvisionError } from './errors.ts'
import { FACTORY_SETTINGS } from './plan.ts'

/** The state of a chip as far as it can be read without a key. */
export interface Inspection {
  /** Decimal, as on the wire. */
  readonly uid: string
  /** Versions of keys 0 to 4. */
  readonly versions: readonly number[]
  readonly ndef: FileSettings
  /** Of the capability file. */
  readonly capabilities: FileSettings
  readonly isTagTamper: boolean
  /** Its originality signature; undefined when it gave none. */
  readonly signature: Buffer | undefined
  /** It shows a random UID; `uid` and `signature` were read under a key. */
  readonly randomId?: true | undefined
  /** It is known to be in LRP mode. */
  readonly isLrp?: boolean | undefined
}

/** A chip whose UID is not known yet. */
export type AnonymousInspection = Omit<Inspection, 'uid' | 'signature'>

/** The chip shows a random UID at each tap, for ever, and nothing known opens it. */
export class RandomIdChip extends ProvisionError {
  readonly seen: AnonymousInspection

  constructor(seen: AnonymousInspection, options?: ErrorOptions) {
    super(
      'The chip hides its UID behind a random one, and no key known here opens it',
      'If it is yours, give its keys: --keys FILE (nfc provision --rekey, nfc reset). Otherwise use another chip',
      options,
    )
    this.seen = seen
  }
}

/**
 * Reads the state of a chip with 12 APDUs in one burst, no authentication, and no tap.
 * @param atr used to name a card that is not a tag @throws NotNtag424, RandomIdChip, ChipError
 */
export function* inspect(atr?: Uint8Array): Script<Inspection> {
  try {
    return yield* inspected(atr)
  } catch (error) {
    if (error instanceof UnknownCard) throw new NotNtag424(error.kind, { cause: error })
    throw error
  }
}

function* inspected(atr: Uint8Array | undefined, isAgain = false): Script<Inspection> {
  try {
    const [, version, v0, v1, v2, v3, v4, ndef, capabilities, signature] = yield* together([
      selectApplication(),
      getVersion(),
      getKeyVersion(0),
      getKeyVersion(1),
      getKeyVersion(2),
      getKeyVersion(3),
      getKeyVersion(4),
      getFileSettings(NDEF_FILE),
      getFileSettings(CC_FILE),
      readSignature(),
    ])
    assertNtag424(version)
    const { uid, isTagTamper } = version
    const state = { versions: [v0, v1, v2, v3, v4], ndef, capabilities, isTagTamper }
    if (uid.every((byte) => byte === 0)) throw new RandomIdChip({ ...state, randomId: true })
    return { ...state, uid: uidFromBytes(uid), signature }
  } catch (error) {
    if (!(error instanceof ChipStatusError)) throw error
    if (error.status === BROKEN_OFF && !isAgain) return yield* inspected(atr, true)
    // An NTAG 424 carries out all of these commands, so this names another card.
    yield* selectTag(atr)
    yield* ntag424Version()
    throw error
  }
}

/** @param accepted kinds of chips, of which it must belong to one @returns its own kind @throws NotGenuine */
export function assertOriginal(
  { uid, signature }: Pick<Inspection, 'uid' | 'signature'>,
  accepted: readonly Originality[],
): Originality {
  const kind = originalityOf(uidToBytes(uid), signature)
  if (accepted.some((one) => accepts(one, kind))) return kind
  throw new NotGenuine(signature ? 'wrong' : 'none')
}

/** True if nothing that can be read without a key differs from a chip that nobody has set up. */
export const isLikeNew = ({ versions, ndef }: Pick<Inspection, 'versions' | 'ndef'>): boolean =>
  hasFactoryKeys({ versions }) && sameFileSettings(ndef, FACTORY_SETTINGS)

/** True if every key has the factory's version, which is no proof of factory keys. */
export function hasFactoryKeys({ versions }: Pick<Inspection, 'versions'>): boolean {
  return versions.every((version) => version === 0)
}
