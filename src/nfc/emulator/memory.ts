import * as z from 'zod'
import { CC_FILE, FILE_SIZES, KEY_NUMBERS, NDEF_FILE, PROPRIETARY_FILE } from '../ntag424/layout.ts'

const count = z.int().min(0)
const hexBytes = (length: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9A-F]{${2 * length}}$`))
    .transform((hex): Buffer => Buffer.from(hex, 'hex'))

const keySlot = z.object({
  key: hexBytes(16),
  version: count.max(255),
  /** Failed authentications since the last successful one, and in total. Source: NT4H2421Gx s9.1.5 */
  failedInRow: count,
  failedInAll: count,
})
export type KeySlot = z.infer<typeof keySlot>

const virtualFile = (length: number) =>
  z.object({
    bytes: hexBytes(length),
    /** In the format of ChangeFileSettings, starting with FileOption. */
    settings: z
      .string()
      .regex(/^([0-9A-F]{2}){3,}$/)
      .transform((hex): Buffer => Buffer.from(hex, 'hex')),
  })
export type VirtualFile = z.infer<ReturnType<typeof virtualFile>>

/** The non-volatile memory of an NTAG 424. */
const chipMemory = z
  .object({
    version: z.literal(1),
    uid: hexBytes(7),
    /** If true, GetVersion shows zeros, and only GetCardUID the UID. */
    randomId: z.boolean(),
    keys: z.array(keySlot).length(KEY_NUMBERS.length),
    files: z.object({
      [CC_FILE]: virtualFile(FILE_SIZES[CC_FILE]),
      [NDEF_FILE]: virtualFile(FILE_SIZES[NDEF_FILE]),
      [PROPRIETARY_FILE]: virtualFile(FILE_SIZES[PROPRIETARY_FILE]),
    }),
    sdmReadCounter: count.max(0xffffff),
    /** Total for all keys; used by tests. */
    failedAuthentications: count,
  })
  .transform(({ version: _, files, ...rest }) => ({
    ...rest,
    files: new Map<number, VirtualFile>([
      [CC_FILE, files[CC_FILE]],
      [NDEF_FILE, files[NDEF_FILE]],
      [PROPRIETARY_FILE, files[PROPRIETARY_FILE]],
    ]),
  }))
export type ChipMemory = z.infer<typeof chipMemory>

// CCLEN, version 2.0, MLe 256, MLc 255, then the two files. Source: NT4H2421Gx s8.2.3.2 Table 7
const FACTORY_CC = Buffer.alloc(FILE_SIZES[CC_FILE])
FACTORY_CC.write('001720010000FF0406E104010000000506E10500808283', 'hex')

/** The factory state. Source: NT4H2421Gx s8.2.3 Tables 6 to 8 @param uid 7 bytes */
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

/** Contains the chip's keys. Bytes become upper-case hex. */
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

/** @param value from memoryToJson @throws ZodError */
export function memoryFromJson(value: unknown): ChipMemory {
  return chipMemory.parse(value)
}
