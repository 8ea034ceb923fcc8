import { AnswerFormatError } from './errors.ts'
import { FILE_SIZES, NDEF_FILE } from './layout.ts'
import type { CommMode } from './secure-session.ts'

// File settings with Secure Dynamic Messaging. Source: NT4H2421Gx s8.2.3.3 (access), s10.7.1 and s10.7.2 (layout).

/** A key number, or access for everybody or nobody. */
export type AccessCondition = 0 | 1 | 2 | 3 | 4 | 'free' | 'never'

interface AccessRights {
  readonly read: AccessCondition
  readonly write: AccessCondition
  readonly readWrite: AccessCondition
  readonly change: AccessCondition
}

/** Offsets count bytes of the file, starting with NLEN; undefined where nothing is mirrored. */
export interface SdmSettings {
  readonly uid: boolean
  readonly counter: boolean
  /** With a key, UID and counter are mirrored encrypted (`e`); with `free`, in plain. */
  readonly metaRead: AccessCondition
  /** The key of the MAC (`c`) and of encrypted file data; with `never` there is neither. */
  readonly fileRead: AccessCondition
  /** Access to GetFileCounters. */
  readonly counterRead: AccessCondition
  readonly uidOffset?: number | undefined
  readonly counterOffset?: number | undefined
  readonly piccDataOffset?: number | undefined
  /** A TagTamper mirrors the status of its loop here, as two characters. */
  readonly tamperOffset?: number | undefined
  readonly macInputOffset?: number | undefined
  readonly macOffset?: number | undefined
  readonly encrypted?: { readonly offset: number; readonly length: number } | undefined
  readonly counterLimit?: number | undefined
}

export interface FileSettings {
  readonly mode: CommMode
  readonly access: AccessRights
  readonly sdm?: SdmSettings | undefined
}

const SDM_ENABLED = 0x40
// Bit 3 and its offset: NT4H2421Tx s11.7.1.
const OPTION = { uid: 0x80, counter: 0x40, limit: 0x20, encrypted: 0x10, tamper: 0x08, ascii: 0x01 } as const
const MODES: readonly CommMode[] = ['plain', 'mac', 'plain', 'full']
const MODE_BITS: Readonly<Record<CommMode, number>> = { plain: 0, mac: 1, full: 3 }

/** Length of each mirror in characters. */
export const MIRRORED = { uid: 14, counter: 6, piccData: 32, lrpPiccData: 48, tamper: 2, mac: 16 } as const

/** The data of ChangeFileSettings. @throws RangeError when the settings break one of the chip's rules */
export function encodeFileSettings(settings: FileSettings, fileSize: number = FILE_SIZES[NDEF_FILE]): Buffer {
  if (settings.sdm) checkSdm(settings.sdm, fileSize)
  return encode(settings)
}

export function sameFileSettings(a: FileSettings, b: FileSettings): boolean {
  return encode(a).equals(encode(b))
}

function encode({ mode, access, sdm }: FileSettings): Buffer {
  const head = Buffer.of(
    (sdm ? SDM_ENABLED : 0) | MODE_BITS[mode],
    (nibble(access.readWrite) << 4) | nibble(access.change),
    (nibble(access.read) << 4) | nibble(access.write),
  )
  if (!sdm) return head
  const options =
    (sdm.uid ? OPTION.uid : 0) |
    (sdm.counter ? OPTION.counter : 0) |
    (sdm.counterLimit === undefined ? 0 : OPTION.limit) |
    (sdm.encrypted ? OPTION.encrypted : 0) |
    (sdm.tamperOffset === undefined ? 0 : OPTION.tamper) |
    OPTION.ascii
  const offsets = [
    sdm.uidOffset,
    sdm.counterOffset,
    sdm.piccDataOffset,
    sdm.tamperOffset,
    sdm.macInputOffset,
    sdm.encrypted?.offset,
    sdm.encrypted?.length,
    sdm.macOffset,
    sdm.counterLimit,
  ]
  const sdmAccess = [0xf0 | nibble(sdm.counterRead), (nibble(sdm.metaRead) << 4) | nibble(sdm.fileRead)]
  return Buffer.concat([head, Buffer.of(options, ...sdmAccess), ...offsets.map(threeBytes)])
}

/** The answer to GetFileSettings. @throws AnswerFormatError */
export function decodeFileSettings(answer: Uint8Array): FileSettings {
  const bytes = Buffer.from(answer)
  let at = 0
  const byte = (): number => take(1).readUInt8()
  const three = (): number => take(3).readUIntLE(0, 3)
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new AnswerFormatError('whole file settings', bytes.length + 2)
    at += length
    return bytes.subarray(at - length, at)
  }
  byte() // File type: only one exists.
  const option = byte()
  const [low, high] = [byte(), byte()]
  three() // File size: fixed for each file.
  const access = {
    read: condition(high >> 4),
    write: condition(high & 15),
    readWrite: condition(low >> 4),
    change: condition(low & 15),
  }
  const mode = MODES[option & 3] ?? 'plain'
  if (!(option & SDM_ENABLED)) return { mode, access }
  const options = byte()
  const [returns, reads] = [byte(), byte()]
  const metaRead = condition(reads >> 4)
  const fileRead = condition(reads & 15)
  const flag = (bit: number): boolean => (options & bit) !== 0
  const encryptedMeta = typeof metaRead === 'number'
  const hasMac = fileRead !== 'never'
  const sdm: SdmSettings = {
    uid: flag(OPTION.uid),
    counter: flag(OPTION.counter),
    metaRead,
    fileRead,
    counterRead: condition(returns & 15),
    // Evaluation order is the order on the wire.
    uidOffset: flag(OPTION.uid) && metaRead === 'free' ? three() : undefined,
    counterOffset: flag(OPTION.counter) && metaRead === 'free' ? three() : undefined,
    piccDataOffset: encryptedMeta ? three() : undefined,
    tamperOffset: flag(OPTION.tamper) ? three() : undefined,
    macInputOffset: hasMac ? three() : undefined,
    encrypted: hasMac && flag(OPTION.encrypted) ? { offset: three(), length: three() } : undefined,
    macOffset: hasMac ? three() : undefined,
    counterLimit: flag(OPTION.limit) ? three() : undefined,
  }
  return { mode, access, sdm }
}

// Rules that the chip enforces with 919E. Source: NT4H2421Gx s10.7.1 Tables 69 and 71
function checkSdm(sdm: SdmSettings, fileSize: number): void {
  const { encrypted, macInputOffset: macInput, macOffset: mac } = sdm
  const isSet = (value: unknown): boolean => value !== undefined
  const rules: readonly [boolean, string][] = [
    [
      isSet(sdm.uidOffset) === (sdm.uid && sdm.metaRead === 'free'),
      'a UID offset needs a plain UID, and vice versa',
    ],
    [
      isSet(sdm.counterOffset) === (sdm.counter && sdm.metaRead === 'free'),
      'a counter offset needs a plain counter, and vice versa',
    ],
    [
      isSet(sdm.piccDataOffset) === (typeof sdm.metaRead === 'number'),
      'a PICCData offset needs a key that encrypts it, and vice versa',
    ],
    [
      isSet(macInput) === (sdm.fileRead !== 'never') && isSet(mac) === isSet(macInput),
      'a MAC needs a key and offsets',
    ],
    [sdm.metaRead === 'never' || sdm.uid || sdm.counter, 'PICCData holds a UID or a counter'],
    [sdm.metaRead !== 'never' || !sdm.uid, 'a UID is mirrored plain or in PICCData'],
    [sdm.counterRead === 'never' || sdm.counter, 'a counter that is off cannot be asked for'],
    [sdm.fileRead !== 'free', 'the MAC needs a key'],
    [!encrypted || (sdm.uid && sdm.counter && isSet(mac)), 'encrypted data needs UID, counter and MAC'],
    [(macInput ?? 0) <= (mac ?? 0), 'the MACed text must begin before the MAC'],
    [
      !encrypted || (encrypted.length > 0 && encrypted.length % 32 === 0),
      'encrypted data takes 32, 64, … digits',
    ],
    [
      !encrypted ||
        (encrypted.offset >= (macInput ?? 0) && encrypted.offset + encrypted.length <= (mac ?? 0)),
      'encrypted data must lie in the MACed text',
    ],
    [!isSet(sdm.counterLimit) || sdm.counter, 'a limit needs the counter'],
  ]
  const broken = rules.find(([isMet]) => !isMet)
  if (broken) throw new RangeError(`These file settings are invalid: ${broken[1]}`)
  checkOverlaps(sdm, fileSize)
}

function checkOverlaps(sdm: SdmSettings, fileSize: number): void {
  const mirrors = [
    [sdm.uidOffset, MIRRORED.uid],
    [sdm.counterOffset, MIRRORED.counter],
    [sdm.piccDataOffset, MIRRORED.piccData],
    [isEncryptedStatus(sdm) ? undefined : sdm.tamperOffset, MIRRORED.tamper],
    [sdm.encrypted?.offset, sdm.encrypted?.length ?? 0],
    [sdm.macOffset, MIRRORED.mac],
  ] as const
  let free = 0
  const ranges = mirrors.flatMap(([start, length]) =>
    start === undefined ? [] : [{ start, end: start + length }],
  )
  for (const { start, end } of ranges.sort((a, b) => a.start - b.start)) {
    if (start < free) throw new RangeError('These file settings are invalid: two mirrors overlap')
    if (end > fileSize) throw new RangeError('These file settings are invalid: a mirror ends beyond the file')
    free = end
  }
}

/** A status in the first half of the encrypted part, whose content the chip encrypts, is mirrored into that content. */
function isEncryptedStatus({ tamperOffset, encrypted }: SdmSettings): boolean {
  if (tamperOffset === undefined || !encrypted) return false
  const { offset, length } = encrypted
  return tamperOffset >= offset && tamperOffset + MIRRORED.tamper <= offset + length / 2
}

function nibble(condition: AccessCondition): number {
  return condition === 'free' ? 0xe : condition === 'never' ? 0xf : condition
}

function condition(value: number): AccessCondition {
  if (value === 0xe) return 'free'
  return value === 0 || value === 1 || value === 2 || value === 3 || value === 4 ? value : 'never'
}

function threeBytes(value: number | undefined): Buffer {
  if (value === undefined) return Buffer.alloc(0)
  const out = Buffer.alloc(3)
  out.writeUIntLE(value, 0, 3)
  return out
}
