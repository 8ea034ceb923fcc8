import { createCipheriv, createDecipheriv } from 'node:crypto'
import { type AesKey, BLOCK, double, xorInto } from './cmac.ts'

// The chip uses m = 4: 16 plaintexts, and input is processed nibble by nibble.
const NIBBLES = 16
const ZERO = Buffer.alloc(BLOCK)
const AA = Buffer.alloc(BLOCK, 0xaa)
const FIFTY_FIVE = Buffer.alloc(BLOCK, 0x55)

const cache = new WeakMap<AesKey, LrpKey>()

/** Caches the tables for the lifetime of the AES key. */
export function lrpKey(key: AesKey): LrpKey {
  let lrp = cache.get(key)
  if (lrp === undefined) {
    lrp = new LrpKey(key)
    cache.set(key, lrp)
  }
  return lrp
}

/**
 * NXP's Leakage Resilient Primitive over AES-128, for chips that were switched to LRP mode. This is the verifier's
 * side, which is not hardened against side channels.
 * Source: AN12304
 */
export class LrpKey {
  readonly #plaintexts: readonly Buffer[]
  /** Updated keys: number 0 makes MACs, number 1 encrypts. */
  readonly #updated: readonly [Buffer, Buffer]
  #subkeys: { k1: Buffer; k2: Buffer } | undefined

  constructor(key: AesKey) {
    // AN12304 algorithm 1: plaintexts.
    let h = key.encryptBlock(FIFTY_FIVE)
    const plaintexts: Buffer[] = []
    for (let i = 0; i < NIBBLES; i += 1) {
      plaintexts.push(aes(h, AA))
      h = aes(h, FIFTY_FIVE)
    }
    this.#plaintexts = plaintexts
    // AN12304 algorithm 2: updated keys, of which SDM uses two.
    h = key.encryptBlock(AA)
    this.#updated = [aes(h, AA), aes(aes(h, FIFTY_FIVE), AA)]
  }

  /** LRP-CMAC, 16 bytes. Source: AN12304 CMAC_LRP, NT4H2421Gx s9.2.3 */
  cmac(message: Uint8Array): Buffer {
    if (this.#subkeys === undefined) {
      const k1 = double(this.#evaluate(0, ZERO))
      this.#subkeys = { k1, k2: double(k1) }
    }
    const blocks = Math.max(1, Math.ceil(message.length / BLOCK))
    const padded = Buffer.alloc(blocks * BLOCK)
    padded.set(message)
    const isFullBlock = message.length === padded.length
    if (!isFullBlock) padded[message.length] = 0x80
    xorInto(padded, padded.length - BLOCK, isFullBlock ? this.#subkeys.k1 : this.#subkeys.k2)
    let mac: Buffer = Buffer.alloc(BLOCK)
    for (let at = 0; at < padded.length; at += BLOCK) {
      xorInto(mac, 0, padded.subarray(at, at + BLOCK))
      mac = this.#evaluate(0, mac)
    }
    return mac
  }

  /**
   * LRICB encryption without padding. @param counter its first value, of any length @param data a multiple of
   * 16 bytes @throws RangeError
   * Source: AN12304 LRICBEnc, NT4H2421Gx s9.2.4
   */
  encrypt(updatedKey: 0 | 1, counter: Uint8Array, data: Uint8Array): Buffer {
    return this.#eachBlock(updatedKey, counter, data, aes)
  }

  /** The inverse of encrypt, with the same parameters. */
  decrypt(updatedKey: 0 | 1, counter: Uint8Array, data: Uint8Array): Buffer {
    return this.#eachBlock(updatedKey, counter, data, aesInverse)
  }

  #eachBlock(updatedKey: 0 | 1, counter: Uint8Array, data: Uint8Array, apply: typeof aes): Buffer {
    if (data.length % BLOCK !== 0)
      throw new RangeError(`LRP takes whole blocks of 16 bytes, not ${data.length} bytes`)
    const count = Buffer.from(counter)
    const out = Buffer.alloc(data.length)
    for (let at = 0; at < data.length; at += BLOCK) {
      out.set(apply(this.#evaluate(updatedKey, count), data.subarray(at, at + BLOCK)), at)
      increment(count)
    }
    return out
  }

  /** AN12304 algorithm 3, with the final step. */
  #evaluate(updatedKey: 0 | 1, input: Uint8Array): Buffer {
    let y = this.#updated[updatedKey]
    for (const byte of input) {
      y = aes(y, this.#plaintexts[byte >> 4] ?? ZERO)
      y = aes(y, this.#plaintexts[byte & 0x0f] ?? ZERO)
    }
    return aes(y, ZERO)
  }
}

// These keys serve one block each, so keeping ciphers open would gain nothing.
function aes(key: Uint8Array, block: Uint8Array): Buffer {
  return createCipheriv('aes-128-ecb', key, null).update(block)
}

function aesInverse(key: Uint8Array, block: Uint8Array): Buffer {
  return createDecipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(block)
}

/** Big-endian; wraps to zero. */
function increment(counter: Buffer): void {
  for (let i = counter.length - 1; i >= 0; i -= 1) {
    const next = ((counter[i] ?? 0) + 1) & 0xff
    counter[i] = next
    if (next !== 0) return
  }
}
