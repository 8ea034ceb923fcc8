import { type Cipher, createCipheriv, createDecipheriv, type Decipher } from 'node:crypto'

/** Bytes of an AES block and of an AES-128 key. */
export const BLOCK = 16

const ZERO = Buffer.alloc(BLOCK)

// Reused buffers for padded messages, by number of blocks. This is safe since nothing below awaits, and avoids almost
// all allocations, since the text of a tap takes three blocks.
const PADDED = Array.from({ length: 17 }, (_, blocks) => Buffer.alloc(blocks * BLOCK))

/**
 * An AES-128 key with reusable ciphers, since creating a cipher costs as much as three calls to one.
 * Keep one AesKey per stored key; the raw bytes cannot be read back, printed, or serialized.
 */
export class AesKey {
  readonly #key: Buffer
  // This CBC cipher lives as long as the key. XORing its last output block into the next input cancels the chaining, so
  // that it serves as ECB, as CBC with any IV, and as CBC-MAC, with one native call for a message of any length.
  #cipher: Cipher | undefined
  readonly #last = Buffer.from(ZERO)
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
    return this.encryptCbc(ZERO, block)
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
    const input = PADDED[data.length / BLOCK] ?? Buffer.alloc(data.length)
    input.set(data)
    xorInto(input, 0, iv)
    return this.#chain(input)
  }

  /** Without padding. @param iv 16 bytes @param data one or more blocks of 16 bytes @throws RangeError */
  decryptCbc(iv: Uint8Array, data: Uint8Array): Buffer {
    checkCbc(iv, data)
    this.#decipher ??= createDecipheriv('aes-128-ecb', this.#key, null).setAutoPadding(false)
    const plain = this.#decipher.update(data)
    xorInto(plain, 0, iv)
    for (let at = BLOCK; at < data.length; at += 1) plain[at] = byteAt(plain, at) ^ byteAt(data, at - BLOCK)
    return plain
  }

  /** AES-CMAC, 16 bytes. Source: RFC 4493 s2.4 */
  cmac(message: Uint8Array): Buffer {
    const { k1, k2 } = this.subkeys()
    const length = message.length
    const blocks = Math.max(1, Math.ceil(length / BLOCK))
    const input = PADDED[blocks] ?? Buffer.alloc(blocks * BLOCK)
    input.set(message)
    const whole = length === blocks * BLOCK
    if (!whole) input.fill(0, length)
    if (!whole) input[length] = 0x80
    xorInto(input, input.length - BLOCK, whole ? k1 : k2)
    const chained = this.#chain(input)
    return blocks === 1 ? chained : chained.subarray(-BLOCK)
  }

  /** 16 bytes each, not to be modified. Source: RFC 4493 s2.3 */
  subkeys(): CmacSubkeys {
    if (this.#subkeys === undefined) {
      const k1 = double(this.encryptBlock(ZERO))
      this.#subkeys = { k1, k2: double(k1) }
    }
    return this.#subkeys
  }

  /** CBC with IV 0. Overwrites the input. */
  #chain(input: Buffer): Buffer {
    this.#cipher ??= createCipheriv('aes-128-cbc', this.#key, ZERO)
    xorInto(input, 0, this.#last)
    const output = this.#cipher.update(input)
    // Copied, since the caller owns the output and may change it.
    output.copy(this.#last, 0, output.length - BLOCK)
    return output
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
