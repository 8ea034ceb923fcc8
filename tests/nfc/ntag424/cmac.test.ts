import { createCipheriv } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'

const block = fc.uint8Array({ minLength: 16, maxLength: 16 })
const message = fc.uint8Array({ maxLength: 600 })
const blocks = fc
  .integer({ min: 1, max: 40 })
  .chain((n) => fc.uint8Array({ minLength: n * 16, maxLength: n * 16 }))

/** One-shot AES by the book, to compare the long-lived ciphers with. */
function aes(mode: 'cbc' | 'ecb', key: Uint8Array, iv: Uint8Array | null, data: Uint8Array): Buffer {
  const cipher = createCipheriv(`aes-128-${mode}`, key, iv).setAutoPadding(false)
  return Buffer.concat([cipher.update(data), cipher.final()])
}

/** RFC 4493 s2.4 with big integers. */
function cmacByTheBook(key: Uint8Array, text: Uint8Array): string {
  const double = (n: bigint) => BigInt.asUintN(128, n << 1n) ^ (n >> 127n ? 0x87n : 0n)
  const k1 = double(BigInt(`0x${aes('ecb', key, null, Buffer.alloc(16)).toString('hex')}`))
  const whole = text.length > 0 && text.length % 16 === 0
  const padded = whole
    ? Buffer.from(text)
    : Buffer.concat([text, Buffer.of(0x80), Buffer.alloc(15 - (text.length % 16))])
  const last = BigInt(`0x${padded.subarray(-16).toString('hex')}`) ^ (whole ? k1 : double(k1))
  const lastBytes = Buffer.from(last.toString(16).padStart(32, '0'), 'hex')
  const input = Buffer.concat([padded.subarray(0, -16), lastBytes])
  return aes('cbc', key, Buffer.alloc(16), input).subarray(-16).toString('hex')
}

describe('AesKey', () => {
  test('does each operation as a fresh cipher would, whatever came before it', () => {
    const operation = fc.oneof(
      fc.record({ op: fc.constant('encryptBlock' as const), data: block }),
      fc.record({ op: fc.constant('decryptBlock' as const), data: block }),
      fc.record({ op: fc.constant('encryptCbc' as const), iv: block, data: blocks }),
      fc.record({ op: fc.constant('decryptCbc' as const), iv: block, data: blocks }),
      fc.record({ op: fc.constant('cmac' as const), data: message }),
    )
    fc.assert(
      fc.property(block, fc.array(operation, { minLength: 1, maxLength: 12 }), (raw, operations) => {
        const key = new AesKey(raw)
        for (const o of operations) {
          if (o.op === 'encryptBlock') expect(key.encryptBlock(o.data)).toEqual(aes('ecb', raw, null, o.data))
          else if (o.op === 'decryptBlock')
            expect(aes('ecb', raw, null, key.decryptBlock(o.data))).toEqual(Buffer.from(o.data))
          else if (o.op === 'encryptCbc')
            expect(key.encryptCbc(o.iv, o.data)).toEqual(aes('cbc', raw, o.iv, o.data))
          else if (o.op === 'decryptCbc')
            expect(aes('cbc', raw, o.iv, key.decryptCbc(o.iv, o.data))).toEqual(Buffer.from(o.data))
          else expect(key.cmac(o.data).toString('hex')).toBe(cmacByTheBook(raw, o.data))
        }
      }),
    )
  })

  test('is not disturbed by a caller who overwrites a result or the key', () => {
    const raw = Buffer.alloc(16, 7)
    const key = new AesKey(raw)
    const first = key.cmac(Buffer.from('tap'))
    const copy = Buffer.from(first)
    first.fill(0xff)
    raw.fill(0)
    expect(key.cmac(Buffer.from('tap'))).toEqual(copy)
  })

  test('shows nothing of the key when it is printed or serialised', () => {
    const key = new AesKey(Buffer.from('0123456789abcdef'))
    key.cmac(Buffer.alloc(0))
    expect(inspect(key, { depth: 9, showHidden: true })).toBe('AesKey {}')
    expect(JSON.stringify(key)).toBe('{}')
  })

  test('refuses keys, blocks and IVs of another length, and CBC over parts of blocks', () => {
    const key = new AesKey(Buffer.alloc(16))
    const short = Buffer.alloc(15)
    expect(() => new AesKey(short)).toThrow(RangeError)
    expect(() => key.encryptBlock(Buffer.alloc(32))).toThrow(RangeError)
    expect(() => key.decryptBlock(short)).toThrow(RangeError)
    expect(() => key.encryptCbc(short, Buffer.alloc(16))).toThrow(RangeError)
    expect(() => key.encryptCbc(Buffer.alloc(16), Buffer.alloc(17))).toThrow(RangeError)
    expect(() => key.decryptCbc(Buffer.alloc(16), Buffer.alloc(0))).toThrow(RangeError)
  })
})
