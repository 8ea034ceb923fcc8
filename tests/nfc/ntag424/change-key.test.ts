import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changeKeyCommand, changeKeyData, jamCrc32 } from '../../../src/nfc/ntag424/commands.ts'

const key = fc.uint8Array({ minLength: 16, maxLength: 16 })

test('the CRC is the inverse of the common one', () => {
  // The check value of CRC-32/JAMCRC.
  expect(jamCrc32(Buffer.from('123456789'))).toBe(0x340bc6d9)
})

test('a key other than the session’s travels XORed with the old one, so the old one must be right', () => {
  fc.assert(
    fc.property(key, key, fc.integer({ min: 0, max: 255 }), (newKey, oldKey, version) => {
      const data = changeKeyData({ keyNo: 3, newKey, oldKey, version })
      expect(data).toHaveLength(21)
      expect(data.subarray(0, 16).map((byte, i) => byte ^ (oldKey[i] ?? 0))).toEqual(Buffer.from(newKey))
      expect(data[16]).toBe(version)
      expect(data.readUInt32LE(17)).toBe(jamCrc32(newKey))
    }),
  )
})

test('key 0 travels as it is', () => {
  const newKey = Buffer.alloc(16, 1)
  expect(changeKeyCommand({ keyNo: 0, newKey, version: 2 })).toEqual({
    ins: 0xc4,
    header: Buffer.of(0),
    data: Buffer.concat([newKey, Buffer.of(2)]),
  })
})

test('keys of another length and versions beyond a byte are refused', () => {
  const newKey = Buffer.alloc(16)
  expect(() => changeKeyData({ keyNo: 0, newKey: Buffer.alloc(15), version: 1 })).toThrow(RangeError)
  expect(() => changeKeyData({ keyNo: 1, newKey, oldKey: Buffer.alloc(17), version: 1 })).toThrow(RangeError)
  expect(() => changeKeyData({ keyNo: 0, newKey, version: 256 })).toThrow(RangeError)
})
