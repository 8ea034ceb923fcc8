import * as z from 'zod'
import { CC_FILE, FILE_SIZES, KEY_NUMBERS, NDEF_FILE, PROPRIETARY_FILE } from '../ntag424/layout.ts'

const SIGNATURE_LENGTH = 56
/** TotFailCtrLimit and TotFailCtrDecr. Source: NT4H2421Gx s10.5.1 */
const FAILURES = { enabled: true, limit: 1000, decrement: 10 }

/** From an example in AN12196 s5.5. */
const PRODUCTION = Buffer.from('CD65935D402118', 'hex')

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
  /** Number of attempts that the delay after failed ones has refused so far. */
  failedDelays: count.default(0),
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

/** Only TagTamper chips (NT4H2421Tx) have it. */
const tamper = z.object({
  /** Turned on by SetConfiguration, for ever. */
  enabled: z.boolean(),
  /** The key that GetTTStatus requires; 14 requires none, 15 forbids it. */
  keyNo: count.max(15),
  /** Stored state of the loop: C closed, O opened. */
  permanent: z.enum(['C', 'O']),
  /** The wire loop itself. Tests and people change it. */
  current: z.enum(['C', 'O']),
})

/** The non-volatile memory of an NTAG 424. Fields with a default are missing in files of earlier versions. */
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
    /** Result of Read_Sig: signed by the test key, none, or any other. */
    signature: z.union([z.literal('test'), z.literal('none'), hexBytes(SIGNATURE_LENGTH)]).default('test'),
    /** Switched on by SetConfiguration, for ever. */
    lrp: z.boolean().default(false),
    tamper: tamper.nullable().default(null),
    /** A key that failed as often as the limit is blocked; each success forgives some failures. */
    failures: z
      .object({ enabled: z.boolean(), limit: count.max(0xffff), decrement: count.max(0xffff) })
      .default(FAILURES),
    /** PDCap2.5 and PDCap2.6. */
    capabilities: hexBytes(2).default(() => Buffer.alloc(2)),
    strongModulation: z.boolean().default(true),
    /** Batch, week and year, as GetVersion shows them. */
    production: hexBytes(7).default(() => Buffer.from(PRODUCTION)),
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

export interface Variant {
  readonly randomId?: boolean
  /** Default: test. */
  readonly signature?: ChipMemory['signature']
  /** A chip that somebody switched to LRP mode. */
  readonly lrp?: boolean
  /** A TagTamper chip, as delivered: closed, and with the feature turned off. */
  readonly tamper?: boolean
}

/** The factory state. Source: NT4H2421Gx s8.2.3 Tables 6 to 8, NT4H2421Tx s8.2.4.5 @param uid 7 bytes */
export function factoryMemory(
  uid: Uint8Array,
  { randomId = false, signature = 'test', lrp = false, tamper: hasLoop = false }: Variant = {},
): ChipMemory {
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
      failedDelays: 0,
    })),
    files: new Map([
      [CC_FILE, file(Buffer.from(FACTORY_CC), '0000E0')],
      [NDEF_FILE, file(Buffer.alloc(FILE_SIZES[NDEF_FILE]), '00E0EE')],
      [PROPRIETARY_FILE, file(Buffer.alloc(FILE_SIZES[PROPRIETARY_FILE]), '033023')],
    ]),
    sdmReadCounter: 0,
    failedAuthentications: 0,
    signature,
    lrp,
    tamper: hasLoop ? { enabled: false, keyNo: 14, permanent: 'C', current: 'C' } : null,
    failures: { ...FAILURES },
    capabilities: Buffer.alloc(2),
    strongModulation: true,
    production: Buffer.from(PRODUCTION),
  }
}

/** Contains the chip's keys. Bytes become upper-case hex. */
export function memoryToJson(memory: ChipMemory): unknown {
  const { uid, keys, files, signature, capabilities, production, ...rest } = memory
  const hex = (buffer: Buffer): string => buffer.toString('hex').toUpperCase()
  return {
    version: 1,
    ...rest,
    uid: hex(uid),
    production: hex(production),
    signature: Buffer.isBuffer(signature) ? hex(signature) : signature,
    capabilities: hex(capabilities),
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
