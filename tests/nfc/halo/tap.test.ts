import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type HaloParams,
  haloUid,
  isHaloTap,
  parseHaloTap,
  verifyHaloAttestation,
  verifyHaloTap,
} from '../../../src/nfc/halo/tap.ts'
import { keyOfPoint, parseHaloPublicKey } from '../../../src/values/halo-public-key.ts'
import { haloAttestor, haloChip } from '../../support/halo.ts'

const chip = haloChip('tap tests')

function tapOf(params: HaloParams) {
  const parsed = parseHaloTap(params)
  if (!parsed.ok) throw new Error(`${parsed.parameter} ${parsed.reason}`)
  return parsed.tap
}

describe('a tap of a HaLo chip', () => {
  test('verifies, and counts', () => {
    const fresh = haloChip()
    const taps = [fresh.tap(), fresh.tap(), fresh.tap(0xffffffff)].map(tapOf)
    expect(taps.map((tap) => verifyHaloTap(tap))).toEqual([true, true, true])
    expect(taps.map((tap) => tap.counter)).toEqual([1, 2, 0xffffffff])
  })

  test('verifies with a key that was kept', () => {
    const key = keyOfPoint(Buffer.from(chip.pk2, 'hex'))
    expect(verifyHaloTap(tapOf(chip.tap()), key)).toBe(true)
    const other = keyOfPoint(Buffer.from(haloChip().pk2, 'hex'))
    expect(verifyHaloTap(tapOf(chip.tap()), other)).toBe(false)
  })

  // Tap URLs that chips showed, as published in the tests and the documentation of other projects.
  test.each([
    {
      source: 'HaloNoncePCD tests, chip of firmware 01.C5.000005',
      counter: 2,
      pk2: '0471CC36704882589A6FF388D88B011E019739ACBC3502E668A4AE4D44B2EF7A3FEFA582CF4C67AA6EBF265B3E0CC47AEE6255DA3D9E55C14562805B132CC6FF9D',
      rnd: '00000002BB0A7B388734198E0B94EE9431C54FA820E97075CE67977CD9A91B00',
      rndsig:
        '3044022008626013151524BD93C205F7882AF81E2884B1AE6316417076E4A826BC00847302207C4C14488CF769D64D3736BA57266123EE5CF522EC3E673BEFF80D027C569B940471',
    },
    {
      source: 'ERS redirect documentation, chip with a latch',
      counter: 80,
      pk2: '040523464ACA95D50C5945A40FF62F36E2227A9123AFBED627ED3E11207B593C24FFC78E17B28039F30E572B90C4496AB42AA12755092270FEBCCA2BA7DF0139FF',
      rnd: '000000507A27899EC02BF491F5B469D48CC45BE4C045E206903E3865BA96D382',
      rndsig:
        '304502202FB534B05B6B36B5DCB73D180BF3BC001F1EC06D8B9DC7DAC3036C910B2A5BFF022100C89E36BA52647F3AC89175A6D3D7436F550FB02977DF89E4D0DDA27F11FAC66E04',
    },
  ])('verifies as shown by $source', ({ counter, ...params }) => {
    const tap = tapOf(params)
    expect(verifyHaloTap(tap)).toBe(true)
    expect(tap.counter).toBe(counter)
  })

  test('reads the keys of an older chip from static', () => {
    const { rnd, rndsig } = chip.tap()
    const tap = tapOf({ static: chip.static, rnd, rndsig })
    expect(tap.pk1?.toString('hex').toUpperCase()).toBe(chip.pk1)
    expect(tap.pk2.toString('hex').toUpperCase()).toBe(chip.pk2)
    expect(verifyHaloTap(tap)).toBe(true)
    expect(tapOf({ static: `${chip.static.slice(0, -2)}41${chip.pk1}00`, rnd, rndsig })).toEqual(tap)
    expect(tapOf({ static: chip.static.slice(0, -2), rnd, rndsig })).toEqual(tap)
  })

  test('needs no pk1', () => {
    const { pk2, rnd, rndsig } = chip.tap()
    expect(tapOf({ pk2, rnd, rndsig }).pk1).toBeUndefined()
  })

  // docs.arx.org/HaLo/non-interactive
  const older = {
    static: `41046ACA3F246833017F8932A42518BBC0602E7B41FC4A03F02417B73685FF01AEAB8D653466D6FA2450A085C29BA31169F83A489DE46BC4CB0BB4F567DF7A66BE8E4104BDC6288D344F129820317411D8A8283942DCDB4B2D2F86E78F22F944160B6038C9E8DC747710349C2E55E6BC52D8745B749B39051BF72A0307B339257A48AECF${'0'.repeat(124)}`,
    cmd: '810200000002F202C592C809428C2C763C3AB3A4BBF5475DD4567A45F8200E82C63D00',
    res: '30450221009FB0D4E3F7BF343219E4A8779059412E3E1A2F26EAAE69B6246EA1AD118D3EE40220783DEBF12DF1D60DF6488543C8100937E9A596028B2D97D65279378713157CF10000000000',
  }
  test('of the older family verifies as its maker shows it', () => {
    const tap = tapOf(older)
    expect([tap.form, tap.counter, verifyHaloTap(tap)]).toEqual(['cmd', 2, true])
    expect(verifyHaloTap(tapOf({ ...older, cmd: older.cmd.replace('F202', 'F203') }))).toBe(false)
    expect(verifyHaloTap(tapOf({ ...older, static: haloChip().static }))).toBe(false)
    expect(verifyHaloTap(tapOf(haloChip().olderTap(3)))).toBe(true)
  })

  test.each([
    ['another command', `0102${'11'.repeat(32)}00`],
    ['no command', '0'.repeat(70)],
    ['a count that no chip reaches', `8102${'7F'.repeat(32)}00`],
  ])('of the older family without a counter is refused in words: %s', (_, cmd) => {
    const reason = expect.stringMatching(
      /^has no counter, so a copy of this URL could not be told from a tap\./,
    )
    expect(parseHaloTap({ ...older, cmd })).toEqual({ ok: false, parameter: 'cmd', reason })
  })

  test('is not valid when a bit of rnd or the key changed', () => {
    const good = chip.tap()
    for (let at = 0; at < 64; at += 1) {
      const digit = (Number.parseInt(good.rnd.charAt(at), 16) ^ 1).toString(16)
      expect(
        verifyHaloTap(tapOf({ ...good, rnd: good.rnd.slice(0, at) + digit + good.rnd.slice(at + 1) })),
      ).toBe(false)
    }
    expect(verifyHaloTap(tapOf({ ...good, pk2: haloChip().pk2 }))).toBe(false)
  })

  test('is not valid with the first key’s signature, whatever pk1 says', () => {
    const good = chip.tap()
    expect(verifyHaloTap(tapOf({ ...good, pk1: good.pk2, pk2: good.pk1 }))).toBe(false)
  })

  test('never throws: points off the curve and broken signatures are not valid', () => {
    const good = chip.tap()
    const point = `04${'11'.repeat(64)}`
    expect(keyOfPoint(Buffer.from(point, 'hex'))).toBeUndefined()
    expect(verifyHaloTap(tapOf({ ...good, pk2: point }))).toBe(false)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 74 }), (body) => {
        const rndsig = Buffer.from([0x30, body.length, ...body]).toString('hex')
        expect(verifyHaloTap(tapOf({ ...good, rndsig }))).toBe(false)
      }),
    )
  })
})

describe('a malformed tap names the parameter', () => {
  const older = chip.olderTap(1)
  const good = { pk1: chip.pk1, pk2: chip.pk2, rnd: '00'.repeat(32), rndsig: '3000' }
  const key = `41${chip.pk1}`

  test.each([
    ['pk2', { ...good, pk2: undefined }],
    ['pk2', { ...good, pk2: '' }],
    ['pk2', { ...good, pk2: chip.pk2.slice(2) }],
    ['pk2', { ...good, pk2: `${chip.pk2.slice(0, -1)}G` }],
    ['pk2', { ...good, pk2: `02${chip.pk2.slice(2)}` }],
    ['pk1', { ...good, pk1: '04' }],
    ['rnd', { ...good, rnd: undefined }],
    ['rnd', { ...good, rnd: '00'.repeat(31) }],
    ['rnd', { ...good, rnd: '0'.repeat(63) }],
    ['cmd', { ...older, cmd: '8102' }],
    ['res', { ...older, res: undefined }],
    ['res', { ...older, res: '00' }],
    ['rndsig', { ...good, rndsig: undefined }],
    ['rndsig', { ...good, rndsig: '30' }],
    ['rndsig', { ...good, rndsig: '3001' }],
    ['rndsig', { ...good, rndsig: '308100' }],
    ['rndsig', { ...good, rndsig: `3080${'00'.repeat(0x80)}` }],
    ['rndsig', { ...good, rndsig: '3100' }],
    ['static', { ...good, static: 'zz' }],
    ['static', { ...good, static: '00' }],
    ['static', { ...good, static: key }],
    ['static', { ...good, static: `${key}41${chip.pk2.slice(0, -2)}` }],
    ['static', { ...good, static: `${key}4004` }],
    ['static', { ...good, static: `${key}41${'05'.repeat(65)}` }],
  ])('%s: %j', (parameter, params) => {
    expect(parseHaloTap(params)).toMatchObject({ ok: false, parameter })
  })

  test('anything at all is read or refused, without a throw', () => {
    const value = fc.option(fc.oneof(fc.string(), fc.stringMatching(/^([0-9a-f]{2}){0,70}$/)), {
      nil: undefined,
    })
    const params = fc.record({
      static: value,
      pk1: value,
      pk2: value,
      rnd: value,
      rndsig: value,
      cmd: value,
      res: value,
    })
    fc.assert(
      fc.property(params, (any) => {
        const parsed = parseHaloTap(any)
        if (parsed.ok) expect(verifyHaloTap(parsed.tap)).toBe(false)
        else expect(parsed.reason).toMatch(/^must |^has no counter/)
      }),
    )
  })
})

test('a query is a HaLo tap when it has any of its parameters', () => {
  expect(isHaloTap(chip.tap())).toBe(true)
  expect(isHaloTap({ static: chip.static })).toBe(true)
  expect(isHaloTap({})).toBe(false)
  expect(isHaloTap({ pk2: '' })).toBe(false)
  expect(isHaloTap({ cmd: '8102', res: '3000' })).toBe(false)
})

describe('a HaLo UID', () => {
  test('is 53 bits of the hash of the key, in decimal', () => {
    const pk2 = Buffer.from(chip.pk2, 'hex')
    const digest = createHash('sha256').update(pk2).digest('hex').slice(0, 14)
    expect(haloUid(pk2)).toBe((BigInt(`0x${digest}`) & (2n ** 53n - 1n)).toString())
  })

  test('is a number that clients read exactly', () => {
    for (let i = 0; i < 50; i += 1) {
      const uid = haloUid(Buffer.from(haloChip(`chip ${i}`).pk2, 'hex'))
      expect(Number.isSafeInteger(Number(uid))).toBe(true)
      expect(String(Number(uid))).toBe(uid)
    }
  })

  test('is of an uncompressed key only', () => {
    expect(() => haloUid(Buffer.from(chip.pk2, 'hex').subarray(0, 33))).toThrow(RangeError)
    expect(parseHaloPublicKey(chip.pk2)).toEqual(Buffer.from(chip.pk2, 'hex'))
    expect(parseHaloPublicKey(chip.pk2.slice(0, 66))).toBeUndefined()
    expect(parseHaloPublicKey(`0x${chip.pk2}`)).toBeUndefined()
  })
})

describe('an attestation', () => {
  // A chip's own, as published in libhalo's example of verifying attestations.
  const pk2 = Buffer.from(
    '04a40782ab75cb628c25284af2d05e27048de0a986cf416996aabb2c40753463d84c0831e1c6994627c331f22345ebad418ecd053fa6e66907fa5472e2c343c241',
    'hex',
  )
  const attestation = Buffer.from(
    '02a1304402206226e4a5bec33e387352bf1f40a2cf430472236a7c2cba0aa574d4df698f409e02202d6b20d29df48db9051b80aca7ce83934f2a5f128a09e684f8b60e487dc63e5a',
    'hex',
  )

  test('of the maker is taken, with and without its header', () => {
    expect(verifyHaloAttestation(pk2, attestation)).toBe(true)
    expect(verifyHaloAttestation(pk2, attestation.subarray(2))).toBe(true)
  })

  test('of anyone else, or of another key, is not', () => {
    const own = Buffer.from(chip.pk2, 'hex')
    const maker = haloAttestor()
    expect(verifyHaloAttestation(own, attestation)).toBe(false)
    expect(verifyHaloAttestation(own, maker.attest(chip.pk2))).toBe(false)
    expect(verifyHaloAttestation(own, maker.attest(chip.pk2), maker.publicKey)).toBe(true)
    expect(verifyHaloAttestation(own.subarray(1), maker.attest(chip.pk2), maker.publicKey)).toBe(false)
    expect(verifyHaloAttestation(own, Buffer.alloc(0), maker.publicKey)).toBe(false)
    expect(verifyHaloAttestation(own, maker.attest(chip.pk2), Buffer.alloc(33))).toBe(false)
  })
})
