import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseSettings } from '../../../src/nfc/emulator/file-rules.ts'
import { Refusal } from '../../../src/nfc/emulator/status.ts'
import {
  type AccessCondition,
  decodeFileSettings,
  encodeFileSettings,
  type FileSettings,
  type SdmSettings,
} from '../../../src/nfc/ntag424/file-settings.ts'

const hex = (text: string) => Buffer.from(text, 'hex')
/** What GetFileSettings answers where ChangeFileSettings was given this. */
const answered = (data: Buffer) =>
  Buffer.concat([hex('00'), data.subarray(0, 3), hex('000100'), data.subarray(3)])

describe('file settings', () => {
  test('AN12196 Table 7: read as printed', () => {
    const settings = decodeFileSettings(hex('0040EEEE000100D1FE001F00004400004400002000006A0000'))
    expect(settings).toMatchObject({
      mode: 'plain',
      access: { read: 'free', write: 'free', readWrite: 'free', change: 'free' },
      sdm: {
        uid: true,
        counter: true,
        metaRead: 0,
        fileRead: 0,
        counterRead: 'free',
        piccDataOffset: 0x1f,
        macInputOffset: 0x44,
        encrypted: { offset: 0x44, length: 0x20 },
        macOffset: 0x6a,
      },
    })
  })

  test('AN12196 Table 18: written as printed', () => {
    const settings = decodeFileSettings(answered(hex('4000E0C1F121200000430000430000')))
    expect(encodeFileSettings(settings).toString('hex').toUpperCase()).toBe('4000E0C1F121200000430000430000')
  })

  test("the factory's", () => {
    expect(decodeFileSettings(hex('0000E0EE000100'))).toEqual({
      mode: 'plain',
      access: { read: 'free', write: 'free', readWrite: 'free', change: 0 },
    })
  })

  const condition = fc.constantFrom<AccessCondition>(0, 1, 2, 3, 4, 'free', 'never')
  const offset = fc.option(fc.integer({ min: 0, max: 260 }), { nil: undefined })
  const loose: fc.Arbitrary<SdmSettings> = fc.record({
    uid: fc.boolean(),
    counter: fc.boolean(),
    metaRead: condition,
    fileRead: condition,
    counterRead: condition,
    uidOffset: offset,
    counterOffset: offset,
    piccDataOffset: offset,
    macInputOffset: offset,
    macOffset: offset,
    encrypted: fc.option(
      fc.record({ offset: fc.integer({ min: 0, max: 256 }), length: fc.constantFrom(0, 16, 32, 64) }),
      { nil: undefined },
    ),
    counterLimit: fc.option(fc.integer({ min: 1, max: 0xffffff }), { nil: undefined }),
  })
  // Half of them with offsets just where they belong, so that enough get through.
  const tidy = loose.map((one): SdmSettings => {
    const plain = one.metaRead === 'free'
    const mac = one.fileRead === 'never' ? undefined : (one.macOffset ?? 200)
    return {
      ...one,
      uidOffset: plain && one.uid ? (one.uidOffset ?? 0) : undefined,
      counterOffset: plain && one.counter ? (one.counterOffset ?? 20) : undefined,
      piccDataOffset: typeof one.metaRead === 'number' ? (one.piccDataOffset ?? 0) : undefined,
      macOffset: mac,
      macInputOffset: mac === undefined ? undefined : Math.min(mac, one.macInputOffset ?? 40),
      encrypted: mac === undefined ? undefined : one.encrypted,
    }
  })
  const sdm = fc.oneof(loose, tidy)
  const any: fc.Arbitrary<FileSettings> = fc.record({
    mode: fc.constantFrom('plain' as const, 'mac' as const, 'full' as const),
    access: fc.record({ read: condition, write: condition, readWrite: condition, change: condition }),
    sdm: fc.option(sdm, { nil: undefined }),
  })

  test('that we would send, the chip takes, and reads back the same', () => {
    let sent = 0
    fc.assert(
      fc.property(any, (settings) => {
        let data: Buffer
        try {
          data = encodeFileSettings(settings)
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
          return
        }
        sent += 1
        expect(() => parseSettings(data, 2, 256)).not.toThrow()
        expect(encodeFileSettings(decodeFileSettings(answered(data)))).toEqual(data)
      }),
      { numRuns: 3000 },
    )
    expect(sent).toBeGreaterThan(500)
  })

  const good: SdmSettings = {
    uid: true,
    counter: true,
    metaRead: 2,
    fileRead: 1,
    counterRead: 1,
    piccDataOffset: 20,
    macInputOffset: 60,
    macOffset: 100,
  }
  const plainMirror = {
    metaRead: 'free',
    piccDataOffset: undefined,
    uidOffset: 20,
    counterOffset: 40,
  } as const
  /** Unchecked, by the table of the data sheet. */
  const raw = (sdm: SdmSettings): Buffer => {
    const right = (one: AccessCondition) => (one === 'free' ? 0xe : one === 'never' ? 0xf : one)
    const bit = (value: unknown, mask: number) => (value ? mask : 0)
    const options =
      bit(sdm.uid, 0x80) | bit(sdm.counter, 0x40) | bit(sdm.counterLimit, 0x20) | bit(sdm.encrypted, 0x10) | 1
    const { encrypted } = sdm
    const offsets = [
      ...[sdm.uidOffset, sdm.counterOffset, sdm.piccDataOffset, sdm.macInputOffset],
      ...[encrypted?.offset, encrypted?.length, sdm.macOffset, sdm.counterLimit],
    ].flatMap((at) => (at === undefined ? [] : [at & 0xff, at >> 8, 0]))
    const reads = (right(sdm.metaRead) << 4) | right(sdm.fileRead)
    return Buffer.of(0x40, 0x00, 0xe0, options, 0xf0 | right(sdm.counterRead), reads, ...offsets)
  }
  test.each<[string, Partial<SdmSettings>]>([
    ['the MACed text after the MAC', { macInputOffset: 101 }],
    ['encrypted data of a length that is no multiple of 32', { encrypted: { offset: 60, length: 16 } }],
    ['encrypted data that reaches into the MAC', { encrypted: { offset: 70, length: 32 } }],
    ['encrypted data before the MACed text', { encrypted: { offset: 52, length: 32 } }],
    ['a MAC beyond the file', { macOffset: 241 }],
    ['PICCData that overlaps the MAC', { piccDataOffset: 90 }],
    ['PICCData without a key', { metaRead: 'free' }],
    ['a MAC for everybody', { fileRead: 'free' }],
    ['a MAC without a place', { macOffset: undefined }],
    ['a limit without a counter', { counter: false, counterRead: 'never', counterLimit: 5 }],
    ['a counter that is off, but may be asked for', { counter: false }],
    [
      'a plain mirror of nothing',
      { metaRead: 'free', piccDataOffset: undefined, uid: false, counter: false, counterRead: 'never' },
    ],
    ['a UID that is shown nowhere', { metaRead: 'never', piccDataOffset: undefined }],
    ['a plain UID that overlaps the counter', { ...plainMirror, counterOffset: 33 }],
    ['a plain counter that overlaps the MAC', { ...plainMirror, counterOffset: 95 }],
    ['plain mirrors without places', { metaRead: 'free', piccDataOffset: undefined }],
    ['encrypted data without a UID', { uid: false, encrypted: { offset: 60, length: 32 } }],
  ])('with %s are refused before they are sent, and by the chip', (_, change) => {
    const settings = (sdm: SdmSettings): FileSettings => ({
      mode: 'plain',
      access: { read: 'free', write: 0, readWrite: 0, change: 0 },
      sdm,
    })
    expect(() => encodeFileSettings(settings(good))).not.toThrow()
    expect(() => encodeFileSettings(settings({ ...good, ...change }))).toThrow(RangeError)
    expect(() => parseSettings(raw(good), 2, 256)).not.toThrow()
    expect(() => parseSettings(raw({ ...good, ...change }), 2, 256)).toThrow(Refusal)
  })
})
