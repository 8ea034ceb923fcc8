import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import { LrpKey, lrpKey } from '../../../src/nfc/ntag424/lrp.ts'

const block = fc.uint8Array({ minLength: 16, maxLength: 16 })
const blocks = fc
  .integer({ min: 0, max: 5 })
  .chain((n) => fc.uint8Array({ minLength: n * 16, maxLength: n * 16 }))
const few = { numRuns: 30 }

test('what LRP encrypts it decrypts, with either updated key and a counter of any size', () => {
  const counter = fc.uint8Array({ minLength: 1, maxLength: 16 })
  fc.assert(
    fc.property(block, fc.constantFrom(0, 1), counter, blocks, (raw, updatedKey, start, data) => {
      const key = new LrpKey(new AesKey(raw))
      const encrypted = key.encrypt(updatedKey, start, data)
      expect(encrypted).toHaveLength(data.length)
      expect(key.decrypt(updatedKey, start, encrypted)).toEqual(Buffer.from(data))
    }),
    few,
  )
})

test('each block is encrypted with the next counter, which wraps to zero', () => {
  const key = new LrpKey(new AesKey(Buffer.alloc(16, 3)))
  const both = key.encrypt(1, Buffer.from('ffff', 'hex'), Buffer.alloc(32))
  expect(both.subarray(0, 16)).toEqual(key.encrypt(1, Buffer.from('ffff', 'hex'), Buffer.alloc(16)))
  expect(both.subarray(16)).toEqual(key.encrypt(1, Buffer.from('0000', 'hex'), Buffer.alloc(16)))
})

test('the counter that the caller gave stays as it was', () => {
  const counter = Buffer.from('00ff', 'hex')
  new LrpKey(new AesKey(Buffer.alloc(16))).encrypt(0, counter, Buffer.alloc(48))
  expect(counter.toString('hex')).toBe('00ff')
})

test('a MAC changes with any bit of the message and with its length', () => {
  const key = new LrpKey(new AesKey(Buffer.alloc(16, 9)))
  const texts = fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }))
  fc.assert(
    fc.property(texts, ([a, b]) => {
      expect(key.cmac(a).equals(key.cmac(b))).toBe(Buffer.from(a).equals(Buffer.from(b)))
    }),
    few,
  )
})

test('the tables of a stored key are computed once', () => {
  const key = new AesKey(Buffer.alloc(16))
  expect(lrpKey(key)).toBe(lrpKey(key))
})

test('parts of blocks are refused', () => {
  const key = new LrpKey(new AesKey(Buffer.alloc(16)))
  expect(() => key.encrypt(0, Buffer.alloc(8), Buffer.alloc(15))).toThrow(RangeError)
})
