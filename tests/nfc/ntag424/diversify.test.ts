import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import {
  an10922,
  boltcardFileRead,
  boltcardMetaRead,
  chipKeyInput,
  fileReadKeys,
  keyVersion,
  planKeys,
  sdmBackendLegacyMetaRead,
  sdmBackendLegacyTagKey,
  sdmBackendMetaRead,
  sdmBackendTagKey,
} from '../../../src/nfc/ntag424/diversify.ts'

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

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

describe('derivations of other tools', () => {
  // boltcard/boltcard docs/DETERMINISTIC.md, "Test vectors"
  test('bolt cards', () => {
    const issuer = bytes('00000000000000000000000000000001')
    expect(boltcardMetaRead(issuer).toString('hex')).toBe('55da174c9608993dc27bb3f30a4a7314')
    expect(boltcardFileRead(new AesKey(issuer), bytes('04a39493cc8680'), 1).toString('hex')).toBe(
      'f4b404be700ab285e333e32348fa3d3b',
    )
  })

  // nfc-developer/sdm-backend tests/test_kdf.py
  test.each([
    [
      'C9EB67DF090AFF47C3B19A2516680B9D',
      'a13086f194d7bdfd108dd11716ea2bdf',
      '010203040506AB',
      1,
      'f18cdd9389d47ae7ab381e80e5ab6fe3',
    ],
    [
      'C9EB67DF090AFF47C3B19A2516680B9D',
      'a13086f194d7bdfd108dd11716ea2bdf',
      '03030303030303',
      2,
      '85f7cc459a5b4b2f5d1a5019ded61c88',
    ],
    [
      'B95F4C27E3D0BC333792EA968545217F',
      '3a553c40846fda656faa0fce4f45fdbd',
      '05050505050505',
      2,
      '89ae686de793fdf48057ee6e78505cfc',
    ],
    [
      '00000000000000000000000000000000',
      '00000000000000000000000000000000',
      '03030303030303',
      2,
      '00000000000000000000000000000000',
    ],
  ])('sdm-backend, master %s', (of, metaRead, chip, keyNo, tagKey) => {
    expect(sdmBackendMetaRead(bytes(of)).toString('hex')).toBe(metaRead)
    expect(sdmBackendTagKey(bytes(of), bytes(chip), keyNo).toString('hex')).toBe(tagKey)
  })

  // Computed with Python's hashlib by libsdm/legacy_derive.py.
  test('sdm-backend as it was before 2023', () => {
    const of = bytes('C9EB67DF090AFF47C3B19A2516680B9D')
    expect(sdmBackendLegacyMetaRead(of).toString('hex')).toBe('a78399936d9887a07e7d3958ff8831f9')
    expect(sdmBackendLegacyTagKey(of, bytes('03030303030303'), 2).toString('hex')).toBe(
      'dac1d59b625d779bc788ce502184fa9f',
    )
  })

  test('a bolt card has the version of its key set, raised by its generation', () => {
    const issuer = bytes('00000000000000000000000000000001')
    const keys = (version: string) =>
      fileReadKeys({ diversification: 'boltcard', master: issuer, systemIdentifier: bytes(version) })
    const fingerprint = (version: string, generation: number) =>
      keys(version)(bytes('04a39493cc8680'), generation).cmac(Buffer.alloc(1)).toString('hex')
    const first = new AesKey(bytes('f4b404be700ab285e333e32348fa3d3b')).cmac(Buffer.alloc(1)).toString('hex')
    expect([fingerprint('01000000', 0), fingerprint('', 1), fingerprint('00000000', 1)]).toEqual([
      first,
      first,
      first,
    ])
    expect([fingerprint('', 0), fingerprint('01000000', 1)]).not.toContain(first)
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
