import type { Cipher } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Seals } from '../../src/daemon/domain/codes/seals.ts'
import { SecretBox } from '../../src/daemon/store/data-dir/secret-box.ts'
import { randomFrom } from '../support/random.ts'

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const boxOf = (byte: number) => new SecretBox(new Uint8Array(32).fill(byte))
const at = '2026-06-01T12:00:00.123Z'
const bytesOf = (text: string) => Buffer.from(`${text}A`, 'base64url')
const seals = new Seals(boxOf(7), ['first'])
const openers = ['openRef', 'openCode', 'openCookie'] as const
const opened = (by: Seals, text: string) => openers.filter((open) => by[open](text) !== undefined)
/** One of each purpose. */
const ofTap = (by: Seals, id: number) =>
  [by.ref({ id, at }, 0), by.code({ id, at }, 0), by.cookie({ id, at })] as const

describe('nobody makes one without the data key', () => {
  test('of another data key, or of another era', () => {
    const others = [new Seals(boxOf(8), ['first']), new Seals(boxOf(7), ['second'])]
    for (let id = 1; id <= 100; id += 1)
      for (const other of others) for (const text of ofTap(other, id)) expect(opened(seals, text)).toEqual([])
  })

  test('of random digits', () => {
    const random = randomFrom(1)
    for (let tries = 0; tries < 20_000; tries += 1) {
      const text = Array.from({ length: 21 }, () => digits[Math.floor(random() * 64)]).join('')
      expect(opened(seals, text)).toEqual([])
    }
  })

  test('of a good one in which a bit was changed, or which was cut or made longer', () => {
    for (const text of ofTap(seals, 2 ** 40 - 1)) {
      expect(opened(seals, text)).toHaveLength(1)
      for (let at = 0; at < 21; at += 1)
        for (let bit = 0; bit < 6; bit += 1) {
          const changed = digits[digits.indexOf(text[at] ?? '') ^ (1 << bit)]
          expect(opened(seals, text.slice(0, at) + changed + text.slice(at + 1))).toEqual([])
        }
      for (const other of [text.slice(1), text.slice(0, 20), `${text}A`, `A${text}`, `${text}=`, `${text}\n`])
        expect(opened(seals, other)).toEqual([])
    }
  })
})

test('one says what was sealed, and is the same each time', () => {
  const other = new Seals(boxOf(7), ['second', 'first'])
  for (const [id, ordinal] of [
    [1, 0],
    [2 ** 40 - 1, 2 ** 14 - 1],
    [12_345, 51],
  ] as const) {
    const text = seals.ref({ id, at }, ordinal)
    expect(text).toMatch(/^[A-Za-z0-9_-]{21}$/)
    expect(seals.ref({ id, at }, ordinal)).toBe(text)
    expect(seals.openRef(text)).toEqual({ tapId: id, ordinal, moment: 123, isCurrent: true })
    expect(other.openRef(text)).toEqual({ tapId: id, ordinal, moment: 123, isCurrent: false })
  }
  expect(() => seals.ref({ id: 2 ** 40, at }, 0)).toThrow(RangeError)
  expect(() => seals.code({ id: 1, at }, 2 ** 14)).toThrow(RangeError)
})

describe('of two, nobody can tell whether they are of one tap', () => {
  const count = 4000
  const kinds = [
    ['two refs', (id: number) => seals.ref({ id, at }, 0), (id: number) => seals.ref({ id, at }, 1)],
    ['a ref and a code', (id: number) => seals.ref({ id, at }, 0), (id: number) => seals.code({ id, at }, 0)],
    [
      'a ref and a cookie',
      (id: number) => seals.ref({ id, at }, 0),
      (id: number) => seals.cookie({ id, at }),
    ],
  ] as const
  /** How often each bit of the two differs. */
  const differences = (pairs: readonly (readonly [string, string])[]) => {
    const counts = new Array<number>(126).fill(0)
    for (const [one, other] of pairs) {
      const [a, b] = [bytesOf(one), bytesOf(other)]
      for (let bit = 0; bit < 126; bit += 1)
        if (((((a[bit >> 3] ?? 0) ^ (b[bit >> 3] ?? 0)) >> (7 - (bit & 7))) & 1) === 1)
          counts[bit] = (counts[bit] ?? 0) + 1
    }
    return counts
  }
  // Of a fair coin, 5 standard deviations: these are the same in each run.
  const isFair = (heads: number) => Math.abs(heads - count / 2) < (5 * Math.sqrt(count)) / 2

  test.each(kinds)('%s', (_, first, second) => {
    const taps = Array.from({ length: count }, (_, n) => n + 1)
    const ofOne = taps.map((id) => [first(id), second(id)] as const)
    const ofTwo = taps.map((id) => [first(id), second(id + 1)] as const)
    for (const pairs of [ofOne, ofTwo]) {
      expect(differences(pairs).filter((heads) => !isFair(heads))).toEqual([])
      // Four digits are the same by chance once in 16 million.
      for (const [one, other] of pairs) {
        expect(one.slice(0, 4)).not.toBe(other.slice(0, 4))
        expect(one.slice(-4)).not.toBe(other.slice(-4))
      }
    }
  })

  test('each bit of one is a coin', () => {
    const nothing = 'A'.repeat(21)
    const all = Array.from({ length: count }, (_, n) => [seals.ref({ id: n + 1, at }, 0), nothing] as const)
    expect(differences(all).filter((heads) => !isFair(heads))).toEqual([])
  })
})

test('no two purposes share a key', () => {
  for (let id = 1; id <= 100; id += 1)
    expect(ofTap(seals, id).map((text) => opened(seals, text))).toEqual(openers.map((open) => [open]))
  const ciphers: Cipher[] = []
  const key = new Uint8Array(32).fill(7)
  const box = {
    withKey: (use: (key: Uint8Array) => Cipher) => {
      const cipher = use(key)
      ciphers.push(cipher)
      return cipher
    },
  }
  new Seals(box as unknown as SecretBox, ['first', 'second'])
  // Three purposes, a tag and a mask each, in two eras.
  const answers = ciphers.map((cipher) => cipher.update(Buffer.alloc(16)).toString('hex'))
  expect(new Set(answers).size).toBe(12)
})
