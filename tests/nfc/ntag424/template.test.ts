import { describe, expect, test } from 'vitest'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import { encodeFileSettings } from '../../../src/nfc/ntag424/file-settings.ts'
import { encryptFileData, encryptPiccData, sunMac } from '../../../src/nfc/ntag424/sun.ts'
import { templateFile } from '../../../src/nfc/ntag424/template/file.ts'
import { filled, Matcher, macInput, queryOf } from '../../../src/nfc/ntag424/template/match.ts'
import {
  canShowTamper,
  parseTemplate,
  shortFormOf,
  TemplateError,
  templateOfShortForm,
} from '../../../src/nfc/ntag424/template/parse.ts'
import { claimOf, proveTap } from '../../../src/nfc/ntag424/template/tap.ts'
import { steadyRandom } from '../virtual-card.ts'

const parameters = { e: 'e', c: 'c', d: 'd' }
const short = (macInputFrom: 'd' | 'e' | null, names = parameters) =>
  parseTemplate(templateOfShortForm({ parameters: names, macInputFrom }))
const base = { baseUrl: 'https://n.example', keySet: 3 }

test("encrypted data is read up to the size of a chip's file, since more would only cost time", () => {
  const { parameters: read } = parseTemplate('?uid={uid}&ctr={ctr}&enc=^{enc}&cmac={mac}')
  const matcher = new Matcher(read)
  const query = (blocks: number) => ({
    uid: '04A1B2C3D4E580',
    ctr: '000001',
    enc: '0'.repeat(32 * blocks),
    cmac: '0'.repeat(16),
  })
  expect(matcher.match(query(8)).ok).toBe(true)
  for (const blocks of [9, 31_250])
    expect(matcher.match(query(blocks))).toMatchObject({
      parameter: 'enc',
      reason: expect.stringContaining('256'),
    })
})

describe('a template', () => {
  test.each([
    ['no MAC', '?e={picc}', /lacks \{mac\}/],
    ['no identity', '?c={mac}', /neither \{picc\} nor \{uid\}/],
    ['both', '?e={picc}&u={uid}&n={ctr}&c={mac}', /keep one form/],
    ['no counter', '?u={uid}&c={mac}', /copy of the link/],
    ['a counter without a UID', '?n={ctr}&c={mac}', /neither/],
    ['a placeholder twice', '?e={picc}&f={picc}&c={mac}', /\{picc\} twice/],
    ['a parameter twice', '?e={picc}&e={mac}', /parameter e twice/],
    ['an unknown placeholder', '?e={pic}&c={mac}', /\{pic\} at character 4\. Placeholders are \{picc\}, /],
    ['a stray brace', '?e={picc}}&c={mac}', /\} without its pair at character 10/],
    ['a mark behind the MAC', '?e={picc}&c={mac}&^x=1', /\^ at character 19, behind \{mac\}/],
    ['two marks', '?^e={picc}&^c={mac}', /\^ twice/],
    ['encrypted data outside of the MAC', '?e={picc}&enc={enc}&c={mac}', /\{enc\} outside/],
    ['encrypted data before the mark', '?e={picc}&enc={enc}&^c={mac}', /\{enc\} outside/],
    ['an identity behind a MAC of text', '?^c={mac}&e={picc}', /\{picc\} behind \{mac\}/],
    ['a number beside digits', '?d={keySet}{picc}&c={mac}', /\{keySet\} directly beside/],
    ['a placeholder in the path', 'https://n.example/{picc}?c={mac}', /before the \?/],
    ['no query', 'https://n.example/e={picc}&c={mac}', /has no \?/],
    ['a fragment', 'https://n.example/#/t?e={picc}&c={mac}', /has a #/],
    ['a placeholder without a name', '?{picc}&c={mac}', /without a name/],
    ['escaped ampersands', '?e={picc}&amp;c={mac}', /&amp;/],
    ['a blank', '?e={picc}&c={mac} ', /ASCII/],
    ['no end', `?x=${'x'.repeat(400)}&e={picc}&c={mac}`, /400/],
  ])('with %s is refused, in words that say where', (_, text, message) => {
    expect(() => parseTemplate(text)).toThrow(TemplateError)
    expect(() => parseTemplate(text)).toThrow(message)
  })

  test.each([
    ['no data', '?e={picc}&c={mac}', 'enc:0', /needs \{enc\}/],
    ['another form', '?e={picc}&x=^{enc}&c={mac}', 'tt', /enc:BYTE/],
    ['a status in the URL too', '?e={picc}&x=^{enc}&t={tt}&c={mac}', 'enc:0', /one place/],
  ])('whose status lies in %s is refused', (_, text, tamper, message) => {
    expect(() => parseTemplate(text, tamper)).toThrow(message)
  })

  test('is its short form where that says as much', () => {
    for (const macInputFrom of ['d', 'e', null] as const) {
      const form = { parameters: { e: 'picc', c: 'cmac', d: 'set' }, macInputFrom }
      expect(shortFormOf(parseTemplate(templateOfShortForm(form)))).toEqual(form)
    }
    for (const text of ['?e={picc}&c={mac}', 'https://n.example/t?^d={keySet}&e={picc}&c={mac}'])
      expect(shortFormOf(parseTemplate(text))).toBeUndefined()
  })
})

const random = steadyRandom('template')
const uid = Buffer.from('04A1B2C3D4E580', 'hex')
const metaRead = new AesKey(random(16))
const fileRead = new AesKey(random(16))
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()

/** What a chip shows; its own words, not by templateFile. */
function shown(
  text: string,
  { counter = 7, mode = 'aes' as 'aes' | 'lrp', status = '', data = 'hello, world 123' },
) {
  const template = parseTemplate(text)
  const tap = { uid, counter, mode }
  const values = {
    picc: hex(encryptPiccData(metaRead, tap, random(mode === 'lrp' ? 13 : 5))),
    uid: hex(uid),
    ctr: counter.toString(16).padStart(6, '0'),
    enc: hex(encryptFileData(fileRead, tap, Buffer.from(data))),
    mac: '',
  }
  const mac = hex(sunMac(fileRead, tap, macInput(template, '3', values, status)))
  return { template, query: filled(template.query, '3', { ...values, mac }, status) }
}

const templates = [
  '?^d={keySet}&e={picc}&c={mac}',
  '?d={keySet}&^e={picc}&c={mac}',
  '?picc_data={picc}&cmac={mac}',
  '?picc_data={picc}&enc=^{enc}&cmac={mac}',
  '?e={picc}^{enc}{mac}',
  'e={picc}^{enc}{mac}',
  '?m={uid}x{ctr}x{mac}',
  '?^m={uid}x{ctr}x{mac}',
  '?m=^{uid}x{ctr}x{mac}&v=1',
  '^https://t.example/424?uid={uid}&ctr={ctr}&c={mac}',
  'https://^t.example/424?uid={uid}&ctr={ctr}&c={mac}',
  '?uid=^{uid}&ctr={ctr}&tamper={tt}&mac={mac}',
  '?v=a%20b&x=1&^e={picc}&k=k{keySet}k&c={mac}',
  '?u={uid}&n={ctr}&enc=^{enc}&c={mac}',
]

describe.each(templates)('%s', (text) => {
  test.each(['aes', 'lrp'] as const)(
    'is read from any order, among others, in any case, in mode %s',
    (mode) => {
      const { template, query } = shown(text, { mode, status: text.includes('{tt}') ? 'CO' : '' })
      const pairs = query.split('&')
      const lower = pairs.map((pair) => pair.replace(/[0-9A-F]{14,}/g, (digits) => digits.toLowerCase()))
      for (const one of [pairs, pairs.toReversed(), ['utm=1', ...lower.toReversed(), 'fbclid=x']]) {
        const match = new Matcher(template.parameters).match(
          queryOf(`https://else.example/?${one.join('&')}`),
        )
        if (!match.ok) throw new Error(`${match.parameter} ${match.reason}`)
        const claim = claimOf(match.values, metaRead)
        if (!claim) throw new Error('does not decrypt')
        expect(hex(claim.uid)).toBe(hex(uid))
        const proof = { template, keySet: '3', values: match.values, claim, fileRead }
        const proven = proveTap(proof)
        expect(proven).toMatchObject({ counter: 7, status: text.includes('{tt}') ? 'CO' : undefined })
        expect(proven?.fileData?.toString()).toBe(text.includes('{enc}') ? 'hello, world 123' : undefined)
        expect(proveTap({ ...proof, fileRead: metaRead })).toBeUndefined()
        expect(proveTap({ ...proof, claim: { ...claim, counter: 8 } })).toBeUndefined()
      }
    },
  )

  test('is not read from a tap that lacks a part, or has one of another length', () => {
    const { template, query } = shown(text, {})
    const matcher = new Matcher(template.parameters)
    expect(matcher.match(queryOf(`?${query.replace(/[0-9A-F]$|[0-9A-F](?=&v=1$)/, '')}`)).ok).toBe(false)
    expect(matcher.match(queryOf('?x=1'))).toMatchObject({ ok: false, isMissing: true })
  })

  test('gives set-up the offsets at which a chip writes the same text', () => {
    const template = parseTemplate(text)
    const { ndef, settings, url } = templateFile({ ...base, template })
    expect(encodeFileSettings(settings).length).toBeGreaterThan(3)
    const sdm = settings.sdm
    const { macInputOffset = 0, macOffset = 0 } = sdm ?? {}
    const zeros = {
      picc: '0'.repeat(32),
      uid: '0'.repeat(14),
      ctr: '000000',
      enc: '0'.repeat(32),
      mac: '0'.repeat(16),
    }
    const status = text.includes('{tt}') ? '00' : ''
    const covered = macInput(template, '3', zeros, status)
    expect(ndef.subarray(macInputOffset, macOffset).toString()).toBe(covered)
    expect(url).toBe(
      `${template.head || 'https://n.example/t'}?${filled(template.query, '3', zeros, status)}`,
    )
    for (const [at, digits] of [
      [sdm?.piccDataOffset, 32],
      [sdm?.uidOffset, 14],
      [sdm?.counterOffset, 6],
      [sdm?.encrypted?.offset, 32],
      [macOffset, 16],
    ] as const)
      if (at !== undefined) expect(ndef.subarray(at, at + digits).toString()).toBe('0'.repeat(digits))
  })
})

test('a tap whose parameter d is no number, or is renamed, is another template’s', () => {
  const matcher = new Matcher(short('d').parameters)
  const tap = `e=${'0'.repeat(32)}&c=${'0'.repeat(16)}`
  expect(matcher.match(queryOf(`?d=jacket&${tap}`))).toEqual({
    ok: false,
    parameter: 'd',
    reason: 'must be the number of a key set',
    isMissing: false,
  })
  expect(matcher.match(queryOf(`?${tap}`))).toMatchObject({ ok: true, values: { mac: '0'.repeat(16) } })
  const constant = new Matcher(parseTemplate('?b=1&e={picc}&c={mac}').parameters)
  expect([`?b=1&${tap}`, `?${tap}`, `?b=2&${tap}`].map((url) => constant.match(queryOf(url)).ok)).toEqual([
    true,
    true,
    false,
  ])
})

describe('the file of a chip', () => {
  test('has d before c, and the offsets of the facts: PICC 25, MAC input 19, MAC 60', () => {
    const { url, ndef, settings } = templateFile({ ...base, template: short('d') })
    expect(url).toBe(`https://n.example/t?d=3&e=${'0'.repeat(32)}&c=${'0'.repeat(16)}`)
    expect(settings.sdm).toMatchObject({ piccDataOffset: 25, macInputOffset: 19, macOffset: 60 })
    expect(ndef.subarray(2, 7).toString('hex')).toBe('d101465504')
    expect(encodeFileSettings(settings).toString('hex').toUpperCase()).toBe('4000E0C1F1211900001300003C0000')
  })

  test('of a TagTamper has its status between e and c, under the MAC, and is otherwise the same', () => {
    for (const from of ['d', 'e'] as const) {
      const template = short(from)
      const { url, ndef, settings } = templateFile({ ...base, template, tamper: true })
      expect(url).toBe(`https://n.example/t?d=3&e=${'0'.repeat(32)}&t=00&c=${'0'.repeat(16)}`)
      const { tamperOffset = 0, macInputOffset, macOffset } = settings.sdm ?? {}
      expect(ndef.subarray(tamperOffset - 3, tamperOffset + 2).toString()).toBe('&t=00')
      const covered = ndef.subarray(macInputOffset, macOffset).toString()
      expect(covered).toBe(macInput(template, '3', { picc: '0'.repeat(32), mac: '' }, '00'))
    }
    // Bit 3 of SDMOptions, and the offset between those of PICCData and the MACed text: NT4H2421Tx Table 69.
    const { settings } = templateFile({ ...base, template: short('d'), tamper: true })
    expect(encodeFileSettings(settings).toString('hex').toUpperCase()).toBe(
      '4000E0C9F1211900003C0000130000410000',
    )
  })

  test('of a TagTamper has its status where the template says', () => {
    const inUrl = templateFile({
      ...base,
      template: parseTemplate('?u=^{uid}&n={ctr}&tamper={tt}&c={mac}'),
      tamper: true,
    })
    const { tamperOffset = 0 } = inUrl.settings.sdm ?? {}
    expect(inUrl.ndef.subarray(tamperOffset - 8, tamperOffset + 5).toString()).toBe('&tamper=00&c=')
    const inData = templateFile({
      ...base,
      template: parseTemplate('?e={picc}&x=^{enc}&c={mac}', 'enc:15'),
      tamper: true,
    })
    const sdm = inData.settings.sdm
    expect(sdm?.encrypted?.length).toBe(64)
    expect((sdm?.tamperOffset ?? 0) - (sdm?.encrypted?.offset ?? 0)).toBe(15)
    expect(() => encodeFileSettings(inData.settings)).not.toThrow()
  })

  test('shows no status that the MAC would not cover, or under a name that means something else', () => {
    for (const template of [
      short(null),
      short('d', { ...parameters, d: 't' }),
      parseTemplate('?u={uid}&n={ctr}&x={tt}&c={mac}'),
    ]) {
      expect(canShowTamper(template)).toBe(false)
      expect(() => templateFile({ ...base, template, tamper: true })).toThrow(RangeError)
    }
  })

  test('is counted in the same way for http, www and a path', () => {
    for (const baseUrl of ['http://n.example', 'https://www.n.example/', 'http://www.n.example/a/b//']) {
      const { ndef, settings, url } = templateFile({ ...base, baseUrl, template: short('e') })
      const at = settings.sdm?.piccDataOffset ?? 0
      expect(ndef.subarray(at - 2, at + 32).toString()).toBe(`e=${'0'.repeat(32)}`)
      expect(url).toMatch(/[^/]\/t\?d=3&e=/)
    }
  })

  test('has the scheme as text where the MAC covers it', () => {
    const template = parseTemplate('^https://t.example/424?uid={uid}&ctr={ctr}&c={mac}')
    expect(
      templateFile({ ...base, template })
        .ndef.subarray(5, 15)
        .toString(),
    ).toBe('U\0https://')
  })

  test('fits to the last byte, and not beyond', () => {
    const template = short('d')
    const oneByte = templateFile({ ...base, baseUrl: 'https://n', template }).ndef.length
    const fits = { ...base, baseUrl: `https://${'n'.repeat(257 - oneByte)}`, template }
    expect(templateFile(fits).ndef).toHaveLength(256)
    expect(() => templateFile({ ...fits, baseUrl: `${fits.baseUrl}n` })).toThrow(/shorten the base URL/)
  })

  test('is refused with a base URL that has a fragment', () => {
    expect(() => templateFile({ ...base, baseUrl: 'https://n.example/#a', template: short('d') })).toThrow(
      RangeError,
    )
  })
})
