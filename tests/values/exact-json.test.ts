import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ExactNumber, numberOf, parseExact, stringifyExact } from '../../src/values/json.ts'

describe('exact JSON', () => {
  test.each([
    '115792089237316195423570985008687907853269984665640564039457584007913129639935',
    '[-9007199254740993,9007199254740993]',
    '{"a":[{"b":0.12345678901234567890}],"c":"12345678901234567890"}',
    '[1e400,-1e-400,100000000000000000000000]',
    ' \n12345678901234567890',
    '{"\\"12345678901234567890":12345678901234567890,"x\\\\":"\\\\\\",12345678901234567890"}',
  ])('keeps the digits: %s', (text) => {
    expect(stringifyExact(parseExact(text))).toBe(text.trim())
    expect(stringifyExact({ inside: parseExact(text) }, 2).replace(/\s/g, '')).toBe(
      `{"inside":${text.replace(/\s/g, '')}}`,
    )
  })

  test('leaves numbers that JavaScript has alone', () => {
    for (const text of [
      '1.50',
      '1e5',
      '-0',
      '15e-1',
      '9007199254740991',
      '0.1',
      '0.30000000000000004',
      '1E+2',
    ])
      expect(parseExact(`[${text}]`)).toEqual([Number(text)])
    expect(numberOf('12.5')).toBe(12.5)
    expect(numberOf('12345678901234567890')).toEqual(new ExactNumber('12345678901234567890'))
  })

  test.each([
    '{12345678901234567890:1}',
    '[12345678901234567890',
    '[01234567890123456789]',
    '1234567890123456.',
    '[-]',
  ])('takes nothing that is no JSON: %s', (text) => expect(() => parseExact(text)).toThrow(SyntaxError))

  test('text that looks like what stands for a number stays text', () => {
    const forged = '["number-00000000-0000-0000-0000-000000000000:1",12345678901234567890]'
    expect(stringifyExact(parseExact(forged))).toBe(forged)
    expect(JSON.stringify(parseExact('12345678901234567890'))).toBe('"12345678901234567890"')
    expect(Object.keys(parseExact('{"__proto__":12345678901234567890}') as object)).toEqual(['__proto__'])
  })

  test('any document comes back the same, whatever numbers it holds', () => {
    const digits = fc.bigInt({ min: -(2n ** 256n), max: 2n ** 256n }).map(String)
    const fraction = fc
      .tuple(digits, fc.stringMatching(/^\d{1,30}[1-9]$/))
      .map(([whole, rest]) => `${whole}.${rest}`)
    const leaf = fc.oneof(
      digits,
      fraction,
      fc.json(),
      fc.string({ unit: 'binary' }).map((s) => JSON.stringify(s)),
    )
    const document = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, leaf, tie('list'), tie('object')),
      list: fc.array(tie('any'), { maxLength: 5 }).map((all) => `[${all.join(',')}]`),
      object: fc.dictionary(fc.string(), tie('any'), { maxKeys: 5 }).map(
        (all) =>
          `{${Object.entries(all)
            .map(([name, value]) => `${JSON.stringify(name)}:${value}`)
            .join(',')}}`,
      ),
    })).any
    fc.assert(
      fc.property(document, (text) => {
        const value = parseExact(text as string)
        const again = stringifyExact(value)
        // What was written once is written the same for ever, and means what JSON means elsewhere.
        expect(stringifyExact(parseExact(again))).toBe(again)
        expect(isDeepStrictEqual(parseExact(again), value)).toBe(true)
        expect(JSON.parse(again)).toEqual(JSON.parse(JSON.stringify(JSON.parse(text as string))))
      }),
      { numRuns: 300 },
    )
  })
})
