import { AesKey, oddBytes } from '../ntag424/cmac.ts'
import { FREE, NEVER, type ParsedSdm, type ParsedSettings, parseSettings } from './file-rules.ts'
import type { ChipMemory, VirtualFile } from './memory.ts'
import { PLAIN } from './secure-channel.ts'
import { Refusal } from './status.ts'

const COUNTER_END = 0xffffff

/** @throws Refusal noSuchFile */
export function fileOf(memory: ChipMemory, number: number): VirtualFile & { rules: ParsedSettings } {
  const file = memory.files.get(number)
  if (!file) throw new Refusal('noSuchFile')
  return { ...file, rules: parseSettings(file.settings, number, file.bytes.length) }
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
  readonly #random: (length: number) => Buffer

  constructor(memory: ChipMemory, random: (length: number) => Buffer) {
    this.#memory = memory
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
      const padding = this.#random(5)
      this.#shown = {
        file: number,
        by,
        bytes: mirrored({ sdm, file: file.bytes, uid, counter, keys, padding }),
      }
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
}

/** Secure Dynamic Messaging: the file as shown in one tap. Source: NT4H2421Gx s9.3 */
export function mirrored({ sdm, file, uid, counter, keys, padding }: Mirroring): Buffer {
  const shown = Buffer.from(file)
  const put = (at: number, hex: string): void => {
    shown.write(hex.toUpperCase(), at, 'ascii')
  }
  const counterLsb = Buffer.of(counter & 0xff, (counter >> 8) & 0xff, counter >> 16)
  const keyOf = (no: number): AesKey => new AesKey(keys[no]?.key ?? Buffer.alloc(16))

  if (sdm.uidOffset !== undefined) put(sdm.uidOffset, uid.toString('hex'))
  // The plain counter is big-endian: s9.3.3.
  if (sdm.counterOffset !== undefined) put(sdm.counterOffset, counter.toString(16).padStart(6, '0'))
  const uidPart = sdm.uid ? uid : Buffer.alloc(0)
  const counterPart = sdm.counter ? counterLsb : Buffer.alloc(0)
  if (sdm.piccOffset !== undefined) {
    // s9.3.4.1: tag, UID, counter, random up to a block.
    const tag = (sdm.uid ? 0x80 : 0) | (sdm.counter ? 0x40 : 0) | (sdm.uid ? 7 : 0)
    const filled = Buffer.concat([Buffer.of(tag), uidPart, counterPart, padding, padding, padding])
    put(sdm.piccOffset, keyOf(sdm.metaRead).encryptBlock(filled.subarray(0, 16)).toString('hex'))
  }
  if (sdm.macOffset === undefined || sdm.macInputOffset === undefined) return shown
  const fileKey = keyOf(sdm.fileRead)
  // s9.3.9.1: session vectors contain the mirrored values, padded with zeros.
  const vector = (start: string): Buffer => {
    const out = Buffer.alloc(16)
    Buffer.concat([Buffer.from(start, 'hex'), uidPart, counterPart]).copy(out)
    return out
  }
  if (sdm.encOffset !== undefined && sdm.encLength !== undefined) {
    const enc = new AesKey(fileKey.cmac(vector('C33C00010080')))
    const iv = enc.encryptBlock(Buffer.concat([counterLsb, Buffer.alloc(13)]))
    // s9.3.6: only the first half of the placeholder is encrypted, since hex doubles its length.
    const plain = file.subarray(sdm.encOffset, sdm.encOffset + sdm.encLength / 2)
    put(sdm.encOffset, enc.encryptCbc(iv, plain).toString('hex'))
  }
  const mac = new AesKey(fileKey.cmac(vector('3CC300010080')))
  const covered = shown.subarray(sdm.macInputOffset, sdm.macOffset)
  put(sdm.macOffset, oddBytes(mac.cmac(covered)).toString('hex'))
  return shown
}
