import { type ChipVersion, getVersion } from './ntag424/commands.ts'
import { ChipError, ChipStatusError } from './ntag424/errors.ts'
import type { Script } from './script.ts'
import { BROKEN_OFF, selectApplication } from './type4.ts'

export class UnknownCard extends Error {
  readonly advice = 'Use an NTAG 424 DNA or a HaLo tag'
  /** A description that can follow `The card is`. */
  readonly kind: string

  constructor(kind: string) {
    super(`The card is ${kind}, not an NTAG 424 DNA or a HaLo tag`)
    this.name = new.target.name
    this.kind = kind
  }
}

/** True with and without a tamper loop. Source: NT4H2421Gx s10.5.2 */
function isNtag424({ vendor, type, majorVersion }: ChipVersion): boolean {
  return vendor === 0x04 && type === 0x04 && majorVersion === 0x30
}

/**
 * Selects the NDEF application, the first step with every tag.
 * @param atr used to name a card that has no NDEF application @throws UnknownCard
 */
export function* selectTag(atr?: Uint8Array): Script<void> {
  try {
    yield* selectApplication()
  } catch (error) {
    if (!(error instanceof ChipStatusError)) throw error
    if (error.status === BROKEN_OFF) return yield* selectApplication()
    throw new UnknownCard(storageCard(atr) ?? (yield* otherCard()))
  }
}

/** NXP's cards identify themselves even without the NDEF application. */
function* otherCard(): Script<string> {
  try {
    return namedByVersion(yield* getVersion())
  } catch (error) {
    if (error instanceof ChipError) return 'no NFC tag with a URL'
    throw error
  }
}

/** GetVersion of an NTAG 424. @throws UnknownCard */
export function* ntag424Version(): Script<ChipVersion> {
  let version: ChipVersion
  try {
    version = yield* getVersion()
  } catch (error) {
    // Only NXP's cards support the command.
    if (error instanceof ChipStatusError) throw new UnknownCard('a Type 4 tag from another maker')
    throw error
  }
  assertNtag424(version)
  return version
}

/** @throws UnknownCard */
export function assertNtag424(version: ChipVersion): void {
  if (!isNtag424(version)) throw new UnknownCard(namedByVersion(version))
}

const TYPES: Readonly<Record<number, string>> = {
  1: 'a MIFARE DESFire',
  2: 'a MIFARE Plus',
  3: 'a MIFARE Ultralight',
}

function namedByVersion({ vendor, type, majorVersion }: ChipVersion): string {
  if (vendor !== 0x04) return 'a Type 4 tag from another maker'
  const name = TYPES[type] ?? (type === 0x04 ? 'another NTAG' : 'a chip of NXP')
  return `${name} (type ${type}, version ${majorVersion.toString(16)})`
}

// Storage cards give their kind in the ATR, after the registered application identifier of PC/SC.
// Source: PC/SC 2.01 part 3, supplemental document
const STORAGE = Buffer.from('A000000306', 'hex')
const STORAGE_NAMES: Readonly<Record<number, string>> = {
  1: 'a MIFARE Classic 1K',
  2: 'a MIFARE Classic 4K',
  3: 'a MIFARE Ultralight or NTAG 21x',
  38: 'a MIFARE Mini',
  58: 'a MIFARE Ultralight C',
}

function storageCard(atr: Uint8Array = Buffer.alloc(0)): string | undefined {
  const bytes = Buffer.from(atr)
  const at = bytes.indexOf(STORAGE)
  const name = at + STORAGE.length + 1
  if (at < 0 || name + 2 > bytes.length) return undefined
  return STORAGE_NAMES[bytes.readUInt16BE(name)] ?? 'a storage card'
}
