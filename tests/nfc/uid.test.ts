import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseUid, uidFromBytes, uidToBytes, uidToColons, uidToHex } from '../../src/nfc/uid.ts'

const MAX = '72057594037927935'
const sevenBytes = fc
  .uint8Array({ minLength: 7, maxLength: 7 })
  .filter((bytes) => bytes.some((byte) => byte !== 0))

const reason = (text: string) => {
  const parsed = parseUid(text)
  return parsed.ok ? undefined : parsed.reason
}

describe('parseUid', () => {
  test.each([
    ['decimal', '1293660434600336'],
    ['hex', '049893CAAA1190'],
    ['hex in lower case', '049893caaa1190'],
    ['hex with colons', '04:98:93:CA:AA:11:90'],
    ['hex with colons in lower case', '04:98:93:ca:aa:11:90'],
    ['hex with dashes', '04-98-93-ca-aa-11-90'],
    ['hex with spaces, as Proxmark prints it', '04 98 93 CA AA 11 90'],
    ['hex with two spaces, as libnfc prints it', '04  98  93  ca  aa  11  90'],
    ['hex with 0x', '0x049893caaa1190'],
    ['hex with 0X', '0X049893CAAA1190'],
    ['bytes with 0x each', '0x04 0x98 0x93 0xCA 0xAA 0x11 0x90'],
    ['bytes of a C array', '0x04, 0x98, 0x93, 0xCA, 0xAA, 0x11, 0x90'],
    ['hex with what nobody sees', '\uFEFF04\u200B98\u00A093CA\u2060AA11\u200E90\u200D'],
    ['hex with the apostrophe of a spreadsheet', "'04:98:93:CA:AA:11:90"],
    ['decimal with the apostrophe of a spreadsheet', "'1293660434600336"],
    ['decimal between blanks', ' 1293660434600336 '],
    ['decimal with what nobody sees', '\u200B1293660434600336\uFEFF'],
  ])('reads %s', (_, text) => {
    expect(parseUid(text)).toEqual({ ok: true, uid: '1293660434600336' })
  })

  test('takes 14 characters for hex, digits alone included', () => {
    expect(parseUid('04989300001190')).toEqual({ ok: true, uid: String(0x04989300001190) })
    expect(parseUid('10000000000001')).toEqual({ ok: true, uid: String(0x10000000000001) })
  })

  test('reads the smallest and the greatest UID', () => {
    expect(parseUid('1')).toEqual({ ok: true, uid: '1' })
    expect(parseUid(MAX)).toEqual({ ok: true, uid: MAX })
    expect(parseUid('FFFFFFFFFFFFFF')).toEqual({ ok: true, uid: MAX })
    expect(parseUid('9007199254740993')).toEqual({ ok: true, uid: '9007199254740993' })
  })

  test.each(['72057594037927936', '99999999999999999', '100000000000000000'])(
    'refuses %s as too great',
    (text) => {
      expect(reason(text)).toBe(`must be at most ${MAX}, which is 7 bytes`)
    },
  )

  test.each([
    '1.29366E+15',
    '1,29366E+15',
    '1.29366043460034E15',
    '1E15',
    '1.e5',
    '-1.5e+3',
    '1293660434.6E6',
  ])('refuses %s as what a spreadsheet leaves of a UID', (text) => {
    expect(reason(text)).toMatch(/^must not be in scientific notation: a spreadsheet/)
  })

  test.each(['0', '000', '00000000000000', '00:00:00:00:00:00:00'])('refuses %s as zero', (text) => {
    expect(reason(text)).toBe('must not be zero')
  })

  test('refuses leading zeros', () => {
    expect(reason('01293660434600336')).toMatch(/^must not begin with 0/)
  })

  test.each([
    '',
    ' ',
    '-1',
    '+1',
    '1.5',
    '0x1',
    '049893CAAA119',
    '049893CAAA119G',
    '12 34',
    '04-98:93-CA-AA-11-90',
    '04-9893-CAAA-1190',
    '04 98 93 CA AA 11',
    '0x04 98 93 CA AA 11 90 00',
    '0x1293660434600336',
    '04 98 93\nCA AA 11 90',
    '١٢',
  ])('refuses %j as no UID', (text) => {
    expect(reason(text)).toMatch(/^must be a UID: 14 hex digits/)
  })
})

test('bytes, hex, colons and decimal are the same UID', () => {
  fc.assert(
    fc.property(sevenBytes, (bytes) => {
      const uid = uidFromBytes(bytes)
      const hex = Buffer.from(bytes).toString('hex').toUpperCase()
      expect(uid).toBe(BigInt(`0x${hex}`).toString())
      expect(uidToBytes(uid)).toEqual(Buffer.from(bytes))
      expect(uidToHex(uid)).toBe(hex)
      expect(uidToColons(uid).replaceAll(':', '')).toBe(hex)
      expect(uidToColons(uid)).toMatch(/^([0-9A-F]{2}:){6}[0-9A-F]{2}$/)
      expect(parseUid(hex)).toEqual({ ok: true, uid })
      expect(parseUid(uidToColons(uid).toLowerCase())).toEqual({ ok: true, uid })
      if (uid.length !== 14) expect(parseUid(uid)).toEqual({ ok: true, uid })
    }),
  )
})

test('what is read is always a UID of seven bytes', () => {
  const text = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[0-9]{1,18}$/),
    fc.stringMatching(/^[0-9a-fA-F:]{1,20}$/),
  )
  fc.assert(
    fc.property(text, (any) => {
      const parsed = parseUid(any)
      if (parsed.ok) expect(uidFromBytes(uidToBytes(parsed.uid))).toBe(parsed.uid)
      else expect(parsed.reason).toMatch(/^must /)
    }),
  )
})

test('a UID of another number of bytes is refused', () => {
  expect(() => uidFromBytes(Buffer.alloc(4))).toThrow(RangeError)
})
