import { AesKey, oddBytes } from '../ntag424/cmac.ts'
import { LrpKey } from '../ntag424/lrp.ts'
import { FREE, NEVER, type ParsedSdm, type ParsedSettings, parseSettings } from './file-rules.ts'
import type { ChipMemory, VirtualFile } from './memory.ts'
import { PLAIN } from './secure-channel.ts'
import { Refusal } from './status.ts'
import { TamperLoop } from './tamper.ts'

const COUNTER_END = 0xffffff

/** @throws Refusal noSuchFile */
export function fileOf(memory: ChipMemory, number: number): VirtualFile & { rules: ParsedSettings } {
  const file = memory.files.get(number)
  if (!file) throw new Refusal('noSuchFile')
  return { ...file, rules: rulesOf(memory, file.settings, number, file.bytes.length) }
}

/** The meaning of settings on this chip. @throws Refusal length, parameter, permissionDenied */
export function rulesOf(
  { lrp, tamper }: ChipMemory,
  settings: Buffer,
  number: number,
  size: number,
): ParsedSettings {
  return parseSettings(settings, number, size, { lrp, hasLoop: tamper !== null })
}

/**
 * Checks access. @param keyNo the session's key, if any
 * @returns the file's mode if the session's key has access; PLAIN if access is free
 * @throws Refusal permissionDenied where nobody has access, authentication where another key has
 * Source: NT4H2421Gx s8.2.3.3, s8.2.3.5, Tables 80 and 83
 */
export function grant(rights: readonly number[], mode: number, keyNo: number | undefined): number {
  if (keyNo !== undefined && rights.includes(keyNo)) return mode
  if (rights.includes(FREE)) return PLAIN
  throw new Refusal(rights.every((right) => right === NEVER) ? 'permissionDenied' : 'authentication')
}

/** Refusals of a read that would count beyond the limit, and beyond what 24 bits hold: Tables 80 and 89. */
const SPENT = {
  own: ['permissionDenied', 'integrity'],
  iso: ['isoSecurity', 'isoSecurity'],
} as const

/** The current tap: every chunk shows the same bytes until another command comes in between. */
export class TapView {
  #shown: { file: number; by: keyof typeof SPENT; bytes: Buffer } | undefined
  readonly #memory: ChipMemory
  readonly #loop: TamperLoop
  readonly #random: (length: number) => Buffer

  constructor(memory: ChipMemory, random: (length: number) => Buffer, loop = new TamperLoop(memory)) {
    this.#memory = memory
    this.#loop = loop
    this.#random = random
  }

  end(): void {
    this.#shown = undefined
  }

  /**
   * The file as shown without a key. Counts the tap once, and again when ReadData follows READ BINARY or the other way
   * round. @throws Refusal at the counter's limit. Source: NT4H2421Gx s9.3.1, s9.3.2
   */
  bytes(number: number, by: keyof typeof SPENT): Buffer {
    const memory = this.#memory
    const file = fileOf(memory, number)
    const { sdm } = file.rules
    if (!sdm) return file.bytes
    if (this.#shown?.file !== number || this.#shown.by !== by) {
      const [atLimit, atEnd] = SPENT[by]
      if (sdm.limit !== undefined && memory.sdmReadCounter >= sdm.limit) throw new Refusal(atLimit)
      if (memory.sdmReadCounter >= COUNTER_END) throw new Refusal(atEnd)
      memory.sdmReadCounter += 1
      const counter = memory.sdmReadCounter
      const { uid, keys } = memory
      const nonce = memory.lrp ? this.#random(8) : undefined
      const padding = this.#random(5)
      const tamper = this.#loop.status()
      const bytes = mirrored({ sdm, file: file.bytes, uid, counter, keys, padding, tamper, nonce })
      this.#shown = { file: number, by, bytes }
    }
    return this.#shown.bytes
  }
}

interface Mirroring {
  readonly sdm: ParsedSdm
  readonly file: Buffer
  /** 7 bytes. */
  readonly uid: Buffer
  /** SDMReadCtr of this tap. */
  readonly counter: number
  readonly keys: readonly { readonly key: Buffer }[]
  /** 5 bytes, the same for every chunk of a tap. */
  readonly padding: Buffer
  /** PICCRand, 8 bytes, which only chips in LRP mode have. */
  readonly nonce?: Buffer | undefined
  /** Two characters, which only TagTamper chips mirror. */
  readonly tamper?: Buffer
}

/** Secure Dynamic Messaging: the file as shown in one tap. Source: NT4H2421Gx s9.3 */
export function mirrored(tap: Mirroring): Buffer {
  const { sdm, file, uid, counter, keys, padding, nonce, tamper } = tap
  const shown = Buffer.from(file)
  const put = (at: number, hex: string): void => {
    shown.write(hex.toUpperCase(), at, 'ascii')
  }
  const counterLsb = Buffer.of(counter & 0xff, (counter >> 8) & 0xff, counter >> 16)
  const keyOf = (no: number): AesKey => new AesKey(keys[no]?.key ?? Buffer.alloc(16))

  // First of all, since it may be encrypted with what is around it.
  if (sdm.tamperOffset !== undefined) tamper?.copy(shown, sdm.tamperOffset)

  if (sdm.uidOffset !== undefined) put(sdm.uidOffset, uid.toString('hex'))
  // The plain counter is big-endian: s9.3.3.
  if (sdm.counterOffset !== undefined) put(sdm.counterOffset, counter.toString(16).padStart(6, '0'))
  const uidPart = sdm.uid ? uid : Buffer.alloc(0)
  const counterPart = sdm.counter ? counterLsb : Buffer.alloc(0)
  if (sdm.piccOffset !== undefined) {
    // s9.3.4.1: tag, UID, counter, random up to a block.
    const tag = (sdm.uid ? 0x80 : 0) | (sdm.counter ? 0x40 : 0) | (sdm.uid ? 7 : 0)
    const filled = Buffer.concat([Buffer.of(tag), uidPart, counterPart, padding, padding, padding])
    put(sdm.piccOffset, piccData(keyOf(sdm.metaRead), filled.subarray(0, 16), nonce).toString('hex'))
  }
  if (sdm.macOffset === undefined || sdm.macInputOffset === undefined) return shown
  const session = readingKeys(keyOf(sdm.fileRead), Buffer.concat([uidPart, counterPart]), nonce !== undefined)
  if (sdm.encOffset !== undefined && sdm.encLength !== undefined) {
    // s9.3.6: only the first half of the placeholder is encrypted, since hex doubles its length.
    const plain = Buffer.from(shown.subarray(sdm.encOffset, sdm.encOffset + sdm.encLength / 2))
    put(sdm.encOffset, session.encrypt(counterLsb, plain).toString('hex'))
  }
  const covered = shown.subarray(sdm.macInputOffset, sdm.macOffset)
  put(sdm.macOffset, oddBytes(session.mac(covered)).toString('hex'))
  return shown
}

/** @param plain one block @returns 16 bytes, or 24 in LRP mode. Source: NT4H2421Gx s9.3.4 */
function piccData(key: AesKey, plain: Buffer, nonce: Buffer | undefined): Buffer {
  if (!nonce) return key.encryptBlock(plain)
  return Buffer.concat([nonce, new LrpKey(key).encrypt(0, nonce, plain)])
}

interface ReadingKeys {
  readonly mac: (message: Buffer) => Buffer
  readonly encrypt: (counterLsb: Buffer, plain: Buffer) => Buffer
}

/** The session keys of one tap. @param shown what is mirrored of UID and counter. Source: NT4H2421Gx s9.3.6, s9.3.9 */
function readingKeys(fileKey: AesKey, shown: Buffer, lrp: boolean): ReadingKeys {
  const vector = (start: string, end = ''): Buffer => {
    const out = Buffer.alloc(16)
    Buffer.concat([Buffer.from(start, 'hex'), shown]).copy(out)
    Buffer.from(end, 'hex').copy(out, out.length - end.length / 2)
    return out
  }
  if (lrp) {
    const session = new LrpKey(new AesKey(new LrpKey(fileKey).cmac(vector('00010080', '1EE1'))))
    return {
      mac: (message) => session.cmac(message),
      encrypt: (counterLsb, plain) => session.encrypt(1, Buffer.concat([counterLsb, Buffer.alloc(3)]), plain),
    }
  }
  const mac = new AesKey(fileKey.cmac(vector('3CC300010080')))
  const enc = new AesKey(fileKey.cmac(vector('C33C00010080')))
  return {
    mac: (message) => mac.cmac(message),
    encrypt: (counterLsb, plain) =>
      enc.encryptCbc(enc.encryptBlock(Buffer.concat([counterLsb, Buffer.alloc(13)])), plain),
  }
}
