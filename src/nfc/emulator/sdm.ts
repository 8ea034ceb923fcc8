import { AesKey, oddBytes } from '../ntag424/cmac.ts'
import type { ParsedSdm } from './file-rules.ts'

// Secure Dynamic Messaging on the chip: what a reader without a key sees instead of the file's own bytes.
// Source: NT4H2421Gx s9.3.

export interface Mirroring {
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

/** The whole file as it is shown in one tap. */
export function mirrored({ sdm, file, uid, counter, keys, padding }: Mirroring): Buffer {
  const shown = Buffer.from(file)
  const put = (at: number, hex: string): void => {
    shown.write(hex.toUpperCase(), at, 'ascii')
  }
  const counterLsb = Buffer.of(counter & 0xff, (counter >> 8) & 0xff, counter >> 16)
  const keyOf = (no: number): AesKey => new AesKey(keys[no]?.key ?? Buffer.alloc(16))

  if (sdm.uidOffset !== undefined) put(sdm.uidOffset, uid.toString('hex'))
  // In plain the counter stands most significant byte first: s9.3.3.
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
  // s9.3.9.1: the session vectors hold what is mirrored and are padded with zeros.
  const vector = (start: string): Buffer => {
    const out = Buffer.alloc(16)
    Buffer.concat([Buffer.from(start, 'hex'), uidPart, counterPart]).copy(out)
    return out
  }
  if (sdm.encOffset !== undefined && sdm.encLength !== undefined) {
    const enc = new AesKey(fileKey.cmac(vector('C33C00010080')))
    const iv = enc.encryptBlock(Buffer.concat([counterLsb, Buffer.alloc(13)]))
    // s9.3.6: the first half of the placeholder is what is encrypted; in hex it takes all of it.
    const plain = file.subarray(sdm.encOffset, sdm.encOffset + sdm.encLength / 2)
    put(sdm.encOffset, enc.encryptCbc(iv, plain).toString('hex'))
  }
  const mac = new AesKey(fileKey.cmac(vector('3CC300010080')))
  const covered = shown.subarray(sdm.macInputOffset, sdm.macOffset)
  put(sdm.macOffset, oddBytes(mac.cmac(covered)).toString('hex'))
  return shown
}
