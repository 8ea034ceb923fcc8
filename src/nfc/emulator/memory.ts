import * as z from 'zod'
import { CC_FILE, FILE_SIZES, KEY_NUMBERS, NDEF_FILE, PROPRIETARY_FILE } from '../ntag424/layout.ts'

// What an NTAG 424 keeps without power.

export interface KeySlot {
  key: Buffer
  version: number
  /** Failed authentications since the last good one, and in all. Source: NT4H2421Gx s9.1.5 */
  failedInRow: number
  failedInAll: number
}

export interface VirtualFile {
  readonly bytes: Buffer
  /** As ChangeFileSettings takes them, from FileOption on. */
  settings: Buffer
}

export interface ChipMemory {
  /** 7 bytes. */
  readonly uid: Buffer
  /** GetVersion then shows zeros, and only GetCardUID the UID. */
  readonly randomId: boolean
  readonly keys: readonly KeySlot[]
  /** By file number: 1 CC, 2 NDEF, 3 proprietary. */
  readonly files: ReadonlyMap<number, VirtualFile>
  sdmReadCounter: number
  /** Of all keys, good ones not subtracted: what a test counts. */
  failedAuthentications: number
}

// CCLEN, version 2.0, MLe 256, MLc 255, then the two files. Source: NT4H2421Gx s8.2.3.2 Table 7
const FACTORY_CC = Buffer.alloc(FILE_SIZES[CC_FILE])
FACTORY_CC.write('001720010000FF0406E104010000000506E10500808283', 'hex')

/** As a chip leaves the factory: NT4H2421Gx s8.2.3 Tables 6 to 8. @param uid 7 bytes */
export function factoryMemory(uid: Uint8Array, { randomId = false } = {}): ChipMemory {
  if (uid.length !== 7) throw new RangeError(`A chip's UID has 7 bytes, not ${uid.length}`)
  const file = (bytes: Buffer, settings: string) => ({ bytes, settings: Buffer.from(settings, 'hex') })
  return {
    uid: Buffer.from(uid),
    randomId,
    keys: KEY_NUMBERS.map(() => ({
      key: Buffer.alloc(16),
      version: 0,
      failedInRow: 0,
      failedInAll: 0,
    })),
    files: new Map([
      [CC_FILE, file(Buffer.from(FACTORY_CC), '0000E0')],
      [NDEF_FILE, file(Buffer.alloc(FILE_SIZES[NDEF_FILE]), '00E0EE')],
      [PROPRIETARY_FILE, file(Buffer.alloc(FILE_SIZES[PROPRIETARY_FILE]), '033023')],
    ]),
    sdmReadCounter: 0,
    failedAuthentications: 0,
  }
}

const count = z.int().min(0)
const bytes = (length: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9A-F]{${2 * length}}$`))
    .transform((hex) => Buffer.from(hex, 'hex'))
const stored = (length: number) =>
  z.object({
    bytes: bytes(length),
    settings: z
      .string()
      .regex(/^([0-9A-F]{2}){3,}$/)
      .transform((hex) => Buffer.from(hex, 'hex')),
  })
const json = z
  .object({
    version: z.literal(1),
    uid: bytes(7),
    randomId: z.boolean(),
    keys: z
      .array(z.object({ key: bytes(16), version: count.max(255), failedInRow: count, failedInAll: count }))
      .length(KEY_NUMBERS.length),
    files: z.object({
      [CC_FILE]: stored(FILE_SIZES[CC_FILE]),
      [NDEF_FILE]: stored(FILE_SIZES[NDEF_FILE]),
      [PROPRIETARY_FILE]: stored(FILE_SIZES[PROPRIETARY_FILE]),
    }),
    sdmReadCounter: count.max(0xffffff),
    failedAuthentications: count,
  })
  .transform(
    ({ version: _, files, ...rest }): ChipMemory => ({
      ...rest,
      files: new Map([
        [CC_FILE, files[CC_FILE]],
        [NDEF_FILE, files[NDEF_FILE]],
        [PROPRIETARY_FILE, files[PROPRIETARY_FILE]],
      ]),
    }),
  )

/** Bytes become hex in upper case. Holds the chip's keys. */
export function memoryToJson({ uid, keys, files, ...rest }: ChipMemory): unknown {
  const hex = (buffer: Buffer): string => buffer.toString('hex').toUpperCase()
  return {
    version: 1,
    ...rest,
    uid: hex(uid),
    keys: keys.map(({ key, ...slot }) => ({ ...slot, key: hex(key) })),
    files: Object.fromEntries(
      [...files].map(([number, file]) => [number, { bytes: hex(file.bytes), settings: hex(file.settings) }]),
    ),
  }
}

/** @throws ZodError when this is no chip of memoryToJson's */
export function memoryFromJson(value: unknown): ChipMemory {
  return json.parse(value)
}
