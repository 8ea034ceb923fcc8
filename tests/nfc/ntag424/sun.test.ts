import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import {
  decryptFileData,
  decryptPiccData,
  encryptPiccData,
  type SdmMode,
  sunMac,
  verifySunMac,
} from '../../../src/nfc/ntag424/sun.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const counter = fc.integer({ min: 0, max: 0xffffff })
const modes: { mode: SdmMode; random: number; e: number }[] = [
  { mode: 'aes', random: 5, e: 16 },
  { mode: 'lrp', random: 13, e: 24 },
]
const uid = Buffer.from('04DE5F1EACC040', 'hex')
const key = new AesKey(Buffer.alloc(16, 5))

describe.each(modes)('a tap in $mode mode', ({ mode, random, e }) => {
  test('decrypts to the UID and counter that went in', () => {
    fc.assert(
      fc.property(bytes(16), bytes(7), counter, bytes(random), (raw, anyUid, count, padding) => {
        const meta = new AesKey(raw)
        const encrypted = encryptPiccData(meta, { uid: anyUid, counter: count, mode }, padding)
        expect(encrypted).toHaveLength(e)
        expect(decryptPiccData(meta, encrypted)).toEqual({ uid: Buffer.from(anyUid), counter: count, mode })
      }),
      { numRuns: 50 },
    )
  })

  test('is another one under another key', () => {
    const encrypted = encryptPiccData(key, { uid, counter: 7, mode }, Buffer.alloc(random))
    expect(decryptPiccData(new AesKey(Buffer.alloc(16, 6)), encrypted)).toBeUndefined()
  })

  test('verifies with its own MAC, and with no MAC of another length, text, UID, counter or key', () => {
    const tap = { uid, counter: 7, mode }
    const text = 'd=101&e=00&c='
    const c = sunMac(key, tap, text)
    expect(c).toHaveLength(8)
    expect(verifySunMac(key, tap, text, c)).toBe(true)
    expect(verifySunMac(key, tap, text, c.subarray(0, 7))).toBe(false)
    expect(verifySunMac(key, tap, text, Buffer.alloc(0))).toBe(false)
    expect(verifySunMac(key, tap, 'e=00&c=', c)).toBe(false)
    expect(verifySunMac(key, { ...tap, counter: 8 }, text, c)).toBe(false)
    expect(verifySunMac(key, { ...tap, uid: Buffer.from('04DE5F1EACC041', 'hex') }, text, c)).toBe(false)
    expect(verifySunMac(new AesKey(Buffer.alloc(16, 6)), tap, text, c)).toBe(false)
    for (let bit = 0; bit < 64; bit += 1) {
      const changed = Buffer.from(c)
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(verifySunMac(key, tap, text, changed)).toBe(false)
    }
  })

  test('is refused when it does not fit: random bytes, UID, counter', () => {
    const padding = Buffer.alloc(random)
    const tap = { uid, counter: 1, mode }
    expect(() => encryptPiccData(key, tap, Buffer.alloc(random + 1))).toThrow(RangeError)
    expect(() => encryptPiccData(key, { ...tap, uid: Buffer.alloc(4) }, padding)).toThrow(RangeError)
    expect(() => encryptPiccData(key, { ...tap, counter: 0x1000000 }, padding)).toThrow(RangeError)
    expect(() => sunMac(key, { ...tap, counter: -1 }, '')).toThrow(RangeError)
  })

  test('gives no file data for parts of blocks', () => {
    const tap = { uid, counter: 1, mode }
    expect(decryptFileData(key, tap, Buffer.alloc(0))).toBeUndefined()
    expect(decryptFileData(key, tap, Buffer.alloc(17))).toBeUndefined()
    expect(decryptFileData(key, tap, Buffer.alloc(32))).toHaveLength(32)
  })
})

test('an e of any other length is none', () => {
  for (let length = 0; length <= 40; length += 1)
    if (length !== 16 && length !== 24) expect(decryptPiccData(key, Buffer.alloc(length))).toBeUndefined()
})

test.each([0x00, 0x47, 0x87, 0xc4, 0xc6, 0xd7, 0xe7, 0xff])(
  'only the tag C7 is taken, not %i: others mirror less, or a UID of another length',
  (tag) => {
    const plain = Buffer.concat([Buffer.of(tag), uid, Buffer.alloc(8)])
    expect(decryptPiccData(key, key.encryptBlock(plain))).toBeUndefined()
  },
)
