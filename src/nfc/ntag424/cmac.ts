import { type Cipher, createCipheriv, createDecipheriv, type Decipher } from 'node:crypto'

/** Bytes of an AES block and of an AES-128 key. */
export const BLOCK = 16

const ZERO = Buffer.alloc(BLOCK)

/**
 * An AES-128 key. Its raw bytes cannot be read back, printed, or serialized.
 */
export class AesKey {
  readonly #key: Buffer
  // Kept, since making one takes longer than to use it: 5 % of a replayed tap.
  #encipher: Cipher | undefined
  #decipher: Decipher | undefined
  #subkeys: CmacSubkeys | undefined

  /** @param key 16 bytes, copied @throws RangeError */
  constructor(key: Uint8Array) {
    if (key.length !== BLOCK) throw new RangeError(`An AES-128 key has 16 bytes, not ${key.length}`)
    this.#key = Buffer.from(key)
  }

  /** @param block 16 bytes @throws RangeError */
  encryptBlock(block: Uint8Array): Buffer {
    if (block.length !== BLOCK) throw new RangeError(`A block has 16 bytes, not ${block.length}`)
    this.#encipher ??= createCipheriv('aes-128-ecb', this.#key, null).setAutoPadding(false)
    return this.#encipher.update(block)
  }

  /** @param block 16 bytes @throws RangeError */
  decryptBlock(block: Uint8Array): Buffer {
    if (block.length !== BLOCK) throw new RangeError(`A block has 16 bytes, not ${block.length}`)
    this.#decipher ??= createDecipheriv('aes-128-ecb', this.#key, null).setAutoPadding(false)
    return this.#decipher.update(block)
  }

  /** Without padding. @param iv 16 bytes @param data one or more blocks of 16 bytes @throws RangeError */
  encryptCbc(iv: Uint8Array, data: Uint8Array): Buffer {
    checkCbc(iv, data)
    return createCipheriv('aes-128-cbc', this.#key, iv).update(data)
  }

  /** Without padding. @param iv 16 bytes @param data one or more blocks of 16 bytes @throws RangeError */
  decryptCbc(iv: Uint8Array, data: Uint8Array): Buffer {
    checkCbc(iv, data)
    return createDecipheriv('aes-128-cbc', this.#key, iv).setAutoPadding(false).update(data)
  }

  /** AES-CMAC, 16 bytes. Source: RFC 4493 s2.4 */
  cmac(message: Uint8Array): Buffer {
    const { k1, k2 } = this.subkeys()
    const padded = Buffer.alloc(Math.max(1, Math.ceil(message.length / BLOCK)) * BLOCK)
    padded.set(message)
    const isWhole = message.length === padded.length
    if (!isWhole) padded[message.length] = 0x80
    xorInto(padded, padded.length - BLOCK, isWhole ? k1 : k2)
    let mac = this.encryptBlock(padded.subarray(0, BLOCK))
    for (let at = BLOCK; at < padded.length; at += BLOCK) {
      xorInto(mac, 0, padded.subarray(at, at + BLOCK))
      mac = this.encryptBlock(mac)
    }
    return mac
  }

  /** 16 bytes each, not to be modified. Source: RFC 4493 s2.3 */
  subkeys(): CmacSubkeys {
    if (this.#subkeys === undefined) {
      const k1 = double(this.encryptBlock(ZERO))
      this.#subkeys = { k1, k2: double(k1) }
    }
    return this.#subkeys
  }
}

interface CmacSubkeys {
  readonly k1: Buffer
  readonly k2: Buffer
}

/** Multiplication by x in GF(2^128), for CMAC's subkeys. Source: RFC 4493 s2.3 */
export function double(block: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(BLOCK)
  for (let i = 0; i < BLOCK; i += 1) out[i] = (byteAt(block, i) << 1) | (byteAt(block, i + 1) >> 7)
  if (byteAt(block, 0) & 0x80) out[BLOCK - 1] = byteAt(out, BLOCK - 1) ^ 0x87
  return out
}

/** @param block 16 bytes */
export function xorInto(target: Buffer, offset: number, block: Uint8Array): void {
  for (let i = 0; i < BLOCK; i += 1) target[offset + i] = byteAt(target, offset + i) ^ byteAt(block, i)
}

/** Truncates a CMAC to bytes 1, 3, …, 15. Source: NT4H2421Gx s9.1.3 */
export function oddBytes(cmac: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(BLOCK / 2)
  for (let i = 0; i < out.length; i += 1) out[i] = byteAt(cmac, 2 * i + 1)
  return out
}

function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}

function checkCbc(iv: Uint8Array, data: Uint8Array): void {
  if (iv.length !== BLOCK) throw new RangeError(`An IV has 16 bytes, not ${iv.length}`)
  if (data.length === 0 || data.length % BLOCK !== 0)
    throw new RangeError(`CBC takes whole blocks of 16 bytes, not ${data.length} bytes`)
}
