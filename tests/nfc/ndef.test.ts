import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NdefFormatError, parseNdef, uriFile, uriIn } from '../../src/nfc/ndef.ts'

const uriOf = (hex: string) => uriIn(parseNdef(Buffer.from(hex.replaceAll(' ', ''), 'hex')))
const text = (ascii: string) => Buffer.from(ascii).toString('hex')

describe('an NDEF message', () => {
  test('of one short record', () => {
    expect(uriOf(`D1 01 0A 55 04 ${text('n.example')}`)).toBe('https://n.example')
  })

  test('of a long record, whose length has four bytes', () => {
    expect(uriOf(`C1 01 0000000A 55 04 ${text('n.example')}`)).toBe('https://n.example')
  })

  test('with several records: the first URI counts', () => {
    const message = `91 01 05 54 02 ${text('enhi')} 11 01 02 55 03 ${text('a')} 51 01 02 55 03 ${text('b')}`
    expect(uriOf(message)).toBe('http://a')
  })

  test('with an id before the payload', () => {
    expect(uriOf(`D9 01 02 03 55 ${text('idx')} 04 ${text('a')}`)).toBe('https://a')
  })

  test('in chunks', () => {
    expect(uriOf(`B1 01 02 55 04 ${text('a')} 36 00 01 ${text('b')} 56 00 01 ${text('c')}`)).toBe(
      'https://abc',
    )
  })

  test('without a URI, or empty', () => {
    expect(uriOf(`D1 01 05 54 02 ${text('enhi')}`)).toBeUndefined()
    expect(uriOf('')).toBeUndefined()
  })

  test.each([
    ['a record longer than the message', 'D1 01 0A 55 04'],
    ['a length that is cut off', 'C1 01 0000'],
    ['a chunk without a first one', '56 00 01 61'],
    ['a chunk without a last one', 'B1 01 02 55 04 61'],
  ])('with %s is refused', (_, hex) => {
    expect(() => uriOf(hex)).toThrow(NdefFormatError)
  })

  test('whatever the bytes are, reading them ends, with records or the error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          parseNdef(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(NdefFormatError)
        }
      }),
    )
  })
})

describe('a file with a URI', () => {
  const start = fc.constantFrom(
    'https://',
    'http://',
    'https://www.',
    'http://www.',
    'tel:',
    'urn:epc:id:',
    'x:',
  )
  const rest = fc.string({ unit: fc.constantFrom(...'abcXYZ019./?&=%-_~:#'), minLength: 1, maxLength: 600 })

  test('gives the URI back, short and long', () => {
    fc.assert(
      fc.property(start, rest, (scheme, tail) => {
        const { bytes, textAt, abbreviated } = uriFile(scheme + tail)
        expect(bytes.readUInt16BE()).toBe(bytes.length - 2)
        expect(uriIn(parseNdef(bytes.subarray(2)))).toBe(scheme + tail)
        expect(bytes.subarray(textAt).toString()).toBe((scheme + tail).slice(abbreviated))
      }),
    )
  })

  test('takes nothing but printable ASCII', () => {
    expect(() => uriFile('https://ñ.example')).toThrow(RangeError)
    expect(() => uriFile('https://n.example/a b')).toThrow(RangeError)
  })
})
