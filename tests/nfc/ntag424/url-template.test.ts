import { describe, expect, test } from 'vitest'
import { encodeFileSettings } from '../../../src/nfc/ntag424/file-settings.ts'
import { macInputText } from '../../../src/nfc/ntag424/sun.ts'
import { canShowTamper, tapIn, templateFile } from '../../../src/nfc/ntag424/url-template.ts'

const names = { e: 'e', c: 'c', d: 'd' }
const base = { baseUrl: 'https://n.example', d: '3', names }

describe('the URL template of a chip', () => {
  test('has d before c, and the offsets of the facts: PICC 25, MAC input 19, MAC 60', () => {
    const { url, ndef, settings } = templateFile({ ...base, from: 'd' })
    expect(url).toBe(`https://n.example/t?d=3&e=${'0'.repeat(32)}&c=${'0'.repeat(16)}`)
    expect(settings.sdm).toMatchObject({ piccDataOffset: 25, macInputOffset: 19, macOffset: 60 })
    expect(ndef.subarray(2, 7).toString('hex')).toBe('d101465504')
    expect(encodeFileSettings(settings).toString('hex').toUpperCase()).toBe('4000E0C1F1211900001300003C0000')
  })

  test('starts the MACed text at d, at e, or has none', () => {
    for (const from of ['d', 'e', null] as const) {
      const { ndef, settings } = templateFile({ ...base, from })
      const { macInputOffset = 0, macOffset = 0 } = settings.sdm ?? {}
      const covered = ndef.subarray(macInputOffset, macOffset).toString()
      expect(covered).toBe(macInputText({ from, names, d: '3', e: '0'.repeat(32) }))
    }
  })

  test('of a TagTamper has its status between e and c, under the MAC, and is otherwise the same', () => {
    for (const from of ['d', 'e'] as const) {
      const { url, ndef, settings } = templateFile({ ...base, from, tamper: true })
      expect(url).toBe(`https://n.example/t?d=3&e=${'0'.repeat(32)}&t=00&c=${'0'.repeat(16)}`)
      const { tamperOffset = 0, macInputOffset, macOffset } = settings.sdm ?? {}
      expect(ndef.subarray(tamperOffset - 3, tamperOffset + 2).toString()).toBe('&t=00')
      const covered = ndef.subarray(macInputOffset, macOffset).toString()
      expect(covered).toBe(macInputText({ from, names, d: '3', e: '0'.repeat(32), t: '00' }))
      expect(tapIn(url.replace('t=00', 't=CO'), names)).toMatchObject({ d: '3', t: 'CO' })
    }
    // Bit 3 of SDMOptions, and the offset between those of PICCData and the MACed text: NT4H2421Tx Table 69.
    const { settings } = templateFile({ ...base, from: 'd', tamper: true })
    expect(encodeFileSettings(settings).toString('hex').toUpperCase()).toBe(
      '4000E0C9F1211900003C0000130000410000',
    )
    expect(tapIn(templateFile({ ...base, from: 'd' }).url, names)?.t).toBeUndefined()
  })

  test('shows no status that the MAC would not cover, or under a name that means something else', () => {
    for (const key of [
      { names, from: null },
      { names: { ...names, d: 't' }, from: 'd' as const },
    ]) {
      expect(canShowTamper(key)).toBe(false)
      expect(() => templateFile({ ...base, ...key, tamper: true })).toThrow(RangeError)
    }
    expect(tapIn('https://n.example/t?t=3&e=0&c=0', { ...names, d: 't' })).toMatchObject({
      d: '3',
      t: undefined,
    })
  })

  test('is counted in the same way for http, www and a path', () => {
    for (const baseUrl of ['http://n.example', 'https://www.n.example/', 'http://www.n.example/a/b//']) {
      const { ndef, settings, url } = templateFile({ ...base, baseUrl, from: 'e' })
      const at = settings.sdm?.piccDataOffset ?? 0
      expect(ndef.subarray(at - 2, at + 32).toString()).toBe(`e=${'0'.repeat(32)}`)
      expect(url).toMatch(/[^/]\/t\?d=3&e=/)
    }
  })

  test('takes the parameter names of the key set', () => {
    const { url, settings, ndef } = templateFile({
      ...base,
      names: { e: 'picc_data', c: 'cmac', d: 'k' },
      from: 'd',
    })
    expect(url).toContain('?k=3&picc_data=')
    expect(ndef.subarray(settings.sdm?.macInputOffset).toString()).toMatch(/^k=3&picc_data=0+&cmac=0+$/)
  })

  test('fits the file to the last byte, and not beyond', () => {
    const oneByte = templateFile({ ...base, baseUrl: 'https://n', from: 'd' }).ndef.length
    const fits = { ...base, baseUrl: `https://${'n'.repeat(257 - oneByte)}`, from: 'd' } as const
    expect(templateFile(fits).ndef).toHaveLength(256)
    expect(() => templateFile({ ...fits, baseUrl: `${fits.baseUrl}n` })).toThrow(/shorten the base URL/)
  })

  test.each([
    ['a fragment', { baseUrl: 'https://n.example/#a' }],
    ['a value of d that ends the parameter', { d: '3&e=1' }],
    ['an empty parameter name', { names: { e: '', c: '', d: '' }, d: '' }],
  ])('is refused with %s', (_, bad) => {
    expect(() => templateFile({ ...base, from: 'd', ...bad })).toThrow(RangeError)
  })
})

test('a URL is read by the names of its parameters, whatever else stands in it', () => {
  expect(tapIn('https://n.example/t?x=1&c=CC&e=EE&d=7#f', names)).toEqual({ e: 'EE', c: 'CC', d: '7' })
  expect(tapIn('https://n.example/t?e=EE&c=CC', names)).toEqual({ e: 'EE', c: 'CC', d: undefined })
  expect(tapIn('https://n.example/t?e=EE', names)).toBeUndefined()
  expect(tapIn('https://n.example/', names)).toBeUndefined()
})
