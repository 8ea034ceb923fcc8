import { crc32 } from 'node:zlib'
import { NEVER } from './file-rules.ts'
import { fileOf, grant, rulesOf, type TapView } from './files.ts'
import type { ChipMemory } from './memory.ts'
import { testSignature } from './originality-test-key.ts'
import { FULL, MAC, PLAIN } from './secure-channel.ts'
import { configure } from './set-configuration.ts'
import { Refusal, STATUS } from './status.ts'
import type { TamperLoop } from './tamper.ts'

// The chip's own commands, after decryption. Source: NT4H2421Gx s10.4 to s10.8.

export interface CommandContext {
  readonly memory: ChipMemory
  readonly taps: TapView
  readonly loop: TamperLoop
  /** The key of the session, if any. */
  readonly keyNo: number | undefined
}

export interface OwnCommand {
  /** True if it works before the application is selected. */
  readonly anywhere?: true
  /** Default: 9100. */
  readonly status?: number
  readonly headerLength: number
  readonly takesData?: true
  /** CommMode of command and answer in a session. For file commands it depends on the file in the header. */
  readonly modes: (context: CommandContext, header: Buffer) => { request: number; answer: number }
  /** @returns null if the session ends, which is answered without a MAC */
  readonly run: (context: CommandContext, header: Buffer, data: Buffer) => Buffer | null
}

const NOTHING = Buffer.alloc(0)
const always = (request: number, answer: number) => () => ({ request, answer })

/**
 * Hardware and software, as AN12196's example has them; then UID and production data.
 * Source: Table 54 of NT4H2421Gx, and of NT4H2421Tx for its HWSubType
 */
export function versionFrames(memory: ChipMemory): [Buffer, Buffer, Buffer] {
  const shown = memory.randomId ? Buffer.alloc(7) : memory.uid
  const subtype = (memory.strongModulation ? 0x00 : 0x80) | (memory.tamper ? 0x08 : 0x02)
  return [
    Buffer.of(0x04, 0x04, subtype, 0x30, 0x00, 0x11, 0x05),
    Buffer.from('04040201021105', 'hex'),
    Buffer.concat([shown, memory.production]),
  ]
}

const getKeyVersion: OwnCommand = {
  headerLength: 1,
  modes: always(MAC, MAC),
  run: ({ memory }, header) => Buffer.of(slotOf(memory, header.readUInt8()).version),
}

const getFileSettings: OwnCommand = {
  headerLength: 1,
  modes: always(MAC, MAC),
  run: ({ memory }, header) => {
    const { settings, bytes } = fileOf(memory, header.readUInt8())
    const size = Buffer.of(bytes.length & 0xff, bytes.length >> 8, 0)
    return Buffer.concat([Buffer.of(0x00), settings.subarray(0, 3), size, settings.subarray(3)])
  },
}

const changeFileSettings: OwnCommand = {
  headerLength: 1,
  takesData: true,
  modes: always(FULL, FULL),
  run: ({ memory, keyNo }, header, data) => {
    const number = header.readUInt8()
    const { rules, bytes } = fileOf(memory, number)
    grant([rules.change], FULL, keyNo)
    const { sdm } = rulesOf(memory, data, number, bytes.length)
    // Table 71: a limit must leave at least one tap.
    const counted = rules.sdm ? memory.sdmReadCounter : 0
    if (sdm?.limit !== undefined && sdm.limit <= counted) throw new Refusal('parameter')
    const file = memory.files.get(number)
    if (file) file.settings = Buffer.from(data)
    if (sdm) memory.sdmReadCounter = 0
    return NOTHING
  },
}

const changeKey: OwnCommand = {
  headerLength: 1,
  takesData: true,
  modes: always(FULL, FULL),
  run: ({ memory, keyNo }, header, data) => {
    const slot = slotOf(memory, header.readUInt8())
    // s10.6.1: requires a session with key 0.
    if (keyNo !== 0) throw new Refusal('authentication')
    if (header.readUInt8() === 0) {
      if (data.length !== 17) throw new Refusal('length')
      slot.key = Buffer.from(data.subarray(0, 16))
    } else {
      if (data.length !== 21) throw new Refusal('length')
      const newKey = Buffer.from(data.subarray(0, 16).map((byte, i) => byte ^ slot.key.readUInt8(i)))
      // s10.6.1: CRC32 without the final inversion, which reveals a wrong old key.
      if (data.readUInt32LE(17) !== ~crc32(newKey) >>> 0) throw new Refusal('integrity')
      slot.key = newKey
    }
    slot.version = data.readUInt8(16)
    // s9: a key that failed too often lives again.
    Object.assign(slot, { failedInRow: 0, failedInAll: 0, failedDelays: 0 })
    // s10.6.1: the session's own key was replaced.
    return header.readUInt8() === 0 ? null : NOTHING
  },
}

const getCardUid: OwnCommand = {
  headerLength: 0,
  modes: always(MAC, FULL),
  run: ({ memory, keyNo }) => {
    if (keyNo === undefined) throw new Refusal('authentication')
    return Buffer.from(memory.uid)
  },
}

const getFileCounters: OwnCommand = {
  headerLength: 1,
  modes: always(MAC, FULL),
  run: ({ memory, keyNo }, header) => {
    const { sdm } = fileOf(memory, header.readUInt8()).rules
    grant([sdm?.counterRead ?? NEVER], FULL, keyNo)
    const count = memory.sdmReadCounter
    return Buffer.of(count & 0xff, (count >> 8) & 0xff, count >> 16, 0, 0)
  },
}

const readData: OwnCommand = {
  headerLength: 7,
  modes: ({ memory, keyNo }, header) => {
    const { rules } = fileOf(memory, header.readUInt8())
    const { sdm } = rules
    // s8.2.3.3: without a session, SDMFileRead opens the file too.
    const open = keyNo === undefined && sdm !== undefined && sdm.fileRead !== NEVER
    const mode = open ? PLAIN : grant([rules.read, rules.readWrite], rules.mode, keyNo)
    return { request: mode === FULL ? MAC : mode, answer: mode }
  },
  run: ({ memory, taps, keyNo }, header) => {
    const [number, offset, requested] = place(header)
    const { bytes } = fileOf(memory, number)
    const length = requested === 0 ? bytes.length - offset : requested
    if (length <= 0 || offset + length > bytes.length) throw new Refusal('boundary')
    // s9.3.1: reading with a key returns the stored bytes and counts no tap.
    const shown = keyNo === undefined ? taps.bytes(number, 'own') : bytes
    return Buffer.from(shown.subarray(offset, offset + length))
  },
}

const writeData: OwnCommand = {
  headerLength: 7,
  takesData: true,
  modes: ({ memory, keyNo }, header) => {
    const { rules } = fileOf(memory, header.readUInt8())
    const mode = grant([rules.write, rules.readWrite], rules.mode, keyNo)
    return { request: mode, answer: mode === FULL ? MAC : mode }
  },
  run: ({ memory }, header, data) => {
    const [number, offset, length] = place(header)
    const { bytes } = fileOf(memory, number)
    if (data.length !== length || length === 0) throw new Refusal('length')
    if (offset + length > bytes.length) throw new Refusal('boundary')
    data.copy(bytes, offset)
    return NOTHING
  },
}

const setConfiguration: OwnCommand = {
  headerLength: 1,
  takesData: true,
  modes: always(FULL, FULL),
  run: ({ memory, keyNo }, header, data) => {
    if (keyNo !== 0) throw new Refusal('authentication')
    return configure(memory, header.readUInt8(), data) ? null : NOTHING
  },
}

/** Source: NT4H2421Gx s10.10.1; real chips answer 9190, as the example in AN12196 s7.2 */
const readSignature: OwnCommand = {
  anywhere: true,
  status: STATUS.signed,
  headerLength: 1,
  modes: always(MAC, FULL),
  run: ({ memory, keyNo }, header) => {
    const { signature, uid } = memory
    if (signature === 'none') throw new Refusal('unknownCommand')
    if (memory.randomId && keyNo === undefined) throw new Refusal('noSignature')
    if (header.readUInt8() !== 0) throw new Refusal('signatureFormat')
    return signature === 'test' ? testSignature(uid) : signature
  },
}

/** Source: NT4H2421Tx s11.9.1 */
const getTamperStatus: OwnCommand = {
  headerLength: 0,
  modes: always(MAC, FULL),
  run: ({ memory, loop, keyNo }) => {
    if (!memory.tamper) throw new Refusal('unknownCommand')
    grant([memory.tamper.keyNo], FULL, keyNo)
    return loop.status()
  },
}

export const OWN_COMMANDS: ReadonlyMap<number, OwnCommand> = new Map([
  [0x64, getKeyVersion],
  [0xf5, getFileSettings],
  [0x5f, changeFileSettings],
  [0xc4, changeKey],
  [0x51, getCardUid],
  [0xf6, getFileCounters],
  [0xad, readData],
  [0x8d, writeData],
  [0x5c, setConfiguration],
  [0x3c, readSignature],
  [0xf7, getTamperStatus],
])

function slotOf(memory: ChipMemory, keyNo: number) {
  const slot = memory.keys[keyNo]
  if (!slot) throw new Refusal('noSuchKey')
  return slot
}

function place(header: Buffer): [number, number, number] {
  return [header.readUInt8(), header.readUIntLE(1, 3), header.readUIntLE(4, 3)]
}
