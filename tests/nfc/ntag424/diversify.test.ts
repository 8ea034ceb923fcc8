import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import { an10922, chipKeyInput, keyVersion, planKeys } from '../../../src/nfc/ntag424/diversify.ts'

const uid = Buffer.from('04782E21801D80', 'hex')
const systemIdentifier = Buffer.from('3042F54E585020416275', 'hex')
const master = Buffer.from('00112233445566778899AABBCCDDEEFF', 'hex')

describe('an10922', () => {
  // NXP AN10922 s2.2.1 Table 2: M = UID ‖ AID ‖ "NXP Abu".
  const expected = 'A8DD63A3B89D54B37CA802473FDA9175'

  test('takes a key or its bytes', () => {
    const m = chipKeyInput({ uid, systemIdentifier, generation: 0 })
    expect(an10922(master, m).toString('hex').toUpperCase()).toBe(expected)
    expect(an10922(new AesKey(master), m).toString('hex').toUpperCase()).toBe(expected)
  })

  test('differs from a plain CMAC when M fits into one block, and agrees when it does not', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 31 }), (m) => {
        const cmac = new AesKey(master).cmac(Buffer.concat([Buffer.of(1), m]))
        expect(an10922(master, m).equals(cmac)).toBe(m.length + 1 > 16)
      }),
    )
  })

  test.each([0, 32, 40])('refuses an input of %i bytes and says what to change', (length) => {
    expect(() => an10922(master, Buffer.alloc(length))).toThrow(/1 to 31 bytes, not \d+: shorten/)
  })
})

describe('chipKeyInput', () => {
  test('is UID and system identifier at first, and ends in the generation after that', () => {
    const first = chipKeyInput({ uid, systemIdentifier, generation: 0 })
    expect(first).toEqual(Buffer.concat([uid, systemIdentifier]))
    expect(chipKeyInput({ uid, systemIdentifier, generation: 2 })).toEqual(
      Buffer.concat([first, Buffer.of(2)]),
    )
  })

  test.each([-1, 1.5, 255, Number.NaN])('refuses the generation %d', (generation) => {
    expect(() => chipKeyInput({ uid, systemIdentifier, generation })).toThrow(RangeError)
  })

  test('refuses a UID that has not 7 bytes', () => {
    expect(() => chipKeyInput({ uid: uid.subarray(1), systemIdentifier, generation: 0 })).toThrow(RangeError)
  })
})

describe('planKeys', () => {
  const fileRead = Buffer.alloc(16, 1)
  const metaRead = Buffer.alloc(16, 2)
  const plan = (generation: number) =>
    planKeys({ uid, systemIdentifier, generation, applicationMaster: master, fileRead, metaRead })

  test('gives key 1 to reading the file, key 2 to reading the metadata, the rest to the application', () => {
    const m = Buffer.concat([uid, systemIdentifier])
    expect(plan(0)).toEqual([
      { keyNo: 0, key: an10922(master, m), version: 1 },
      { keyNo: 1, key: fileRead, version: 1 },
      { keyNo: 2, key: metaRead, version: 1 },
      { keyNo: 3, key: an10922(master, Buffer.concat([Buffer.of(3), m])), version: 1 },
      { keyNo: 4, key: an10922(master, Buffer.concat([Buffer.of(4), m])), version: 1 },
    ])
  })

  test('gives a chip personalised again other keys, with versions that tell the generation', () => {
    const [first, again] = [plan(0), plan(1)]
    for (const keyNo of [0, 3, 4])
      expect(again[keyNo]?.key.equals(first[keyNo]?.key ?? Buffer.alloc(0))).toBe(false)
    expect(again.map(({ version }) => version)).toEqual([2, 2, 2, 2, 2])
    expect(keyVersion(254)).toBe(255)
  })
})
