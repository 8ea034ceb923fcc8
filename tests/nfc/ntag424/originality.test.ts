import { describe, expect, test } from 'vitest'
import { originalityOf } from '../../../src/nfc/ntag424/originality.ts'

// AN12196 Table 30, and two chips whose answers to Read_Sig were recorded (Amperstrand/ntag424, read_sig.rs).
const signed = [
  [
    '04518DFAA96180',
    'D1940D17CFEDA4BFF80359AB975F9F6514313E8F90C1D3CAAF5941AD744A1CDF9A83F883CAFE0FE95D1939B1B7E47113993324473B785D21',
  ],
  [
    '04A9707A0B1090',
    '03F0A17889E3063D2D01CD8750734601BC031C26812705A1BD3B75361604B19B762DC285DCE303A5B6DE5F2814F0449BA64AB445A7AEC4CF',
  ],
  [
    '04407A7A0B1090',
    '5F019173DA747943318455D4DD9413858C8D335D4B488DC52A606386115C5C796CE79E95A499C430B6DD5D1CD41BF23F258C678070DBD42C',
  ],
] as const

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
const [[uid, signature]] = signed

describe('the originality signature', () => {
  test.each(signed)('of %s is verified', (of, by) => {
    expect(originalityOf(bytes(of), bytes(by))).toBe('genuine')
  })

  test.each([
    ['of another chip', bytes(signed[1][1])],
    ['with one bit changed', Buffer.concat([bytes(signature).subarray(0, 55), Buffer.of(0x20)])],
    ['that is too short', bytes(signature).subarray(1)],
    ['of zeros', Buffer.alloc(56)],
    ['beyond the order of the curve', Buffer.alloc(56, 0xff)],
    ['that is missing', undefined],
  ])('%s is refused', (_, wrong) => {
    expect(originalityOf(bytes(uid), wrong)).toBe('any')
  })
})
