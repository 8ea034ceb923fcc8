import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { UsageError } from '../../src/cli/errors.ts'
import { chooseReader } from '../../src/cli/nfc/choose-reader.ts'
import { tapByShape, whyNoTap } from '../../src/cli/nfc/read-card.ts'
import { NoReader, type ReaderState } from '../../src/nfc/card.ts'
import { isContactCard, isContactSlot } from '../../src/nfc/pcsc/contact-slot.ts'
import { cliHome } from '../support/cli.ts'

const reader = (name: string, state: ReaderState = 'empty') => ({
  ...{ name, state },
  isContact: isContactSlot(name, []),
})
const [acr, other] = ['ACS ACR1252 Dual Reader PICC 00 00', 'ACS ACR122U PICC Interface 01 00']
const sam = 'ACS ACR1252 Dual Reader SAM 00 01'

describe('which reader is used', () => {
  test('without a name the only one with a card, else whichever gets one first', () => {
    expect(chooseReader([reader(acr), reader(other, 'present')], undefined)).toBe(other)
    expect(chooseReader([reader(acr), reader(other)], undefined)).toBeUndefined()
    expect(chooseReader([], undefined)).toBeUndefined()
  })

  test('the only one there is, so that its slot for a SAM is not taken for a field', () => {
    expect(chooseReader([reader(acr)], undefined)).toBe(acr)
    expect(chooseReader([reader(acr), reader(sam, 'present')], undefined)).toBe(acr)
    expect(chooseReader([reader(acr), reader(sam)], 'acr1252')).toBe(acr)
    expect(chooseReader([reader(acr), reader(sam)], 'sam')).toBe(sam)
    expect(chooseReader([reader(sam, 'present')], undefined)).toBeUndefined()
  })

  test('never a slot for cards with contacts, unless it is named', () => {
    const slots = ['ACS ACR1281 1S Dual Reader ICC 00 00', 'Identiv uTrust 4701 F Contact Reader 00 00', sam]
    const withCards = slots.map((name) => reader(name, 'present'))
    expect(chooseReader(withCards, undefined)).toBeUndefined()
    expect(chooseReader([...withCards, reader(acr)], undefined)).toBe(acr)
    for (const name of slots) expect(chooseReader(withCards, name)).toBe(name)
    const bankCard = { ...reader('Gemalto Prox Dual USB PC Link Reader (1)', 'present'), isContact: true }
    const field = reader('Gemalto Prox Dual USB PC Link Reader (2)', 'present')
    expect(chooseReader([bankCard, field], undefined)).toBe(field.name)
    expect(chooseReader([bankCard, field], '(1)')).toBe(bankCard.name)
    expect(() => chooseReader([field, reader(acr, 'present'), bankCard], undefined)).toThrow(
      `Several readers have a card: ${field.name}, ${acr}.`,
    )
  })

  test.each([
    ['ACS ACR1281 1S Dual Reader ICC 00 00', true],
    ['ACS ACR1281 1S Dual Reader PICC 00 01', false],
    ['ACS ACR1581 1S Dual Reader SAM 00 02', true],
    ['Identiv uTrust 4701 F CL Reader [uTrust 4701 F CL Reader] 01 00', false],
    ['Identiv uTrust 4701 F Contact Reader [uTrust 4701 F Contact Reader] 00 00', true],
    ['Some Contactless Reader 00 00', false],
    ['Gemalto Prox Dual USB PC Link Reader (1)', false],
  ])('%s: %s', (name, isContact) => {
    expect(isContactSlot(name, [name])).toBe(isContact)
  })

  test('an OMNIKEY 5422 is a slot for contacts beside its 5422CL alone', () => {
    const of = (model: string) =>
      `HID Global OMNIKEY 5422 Smartcard Reader [OMNIKEY ${model} Smartcard Reader] 00 00`
    const plain = ['5422', '5422CL'].map((model) => `HID Global OMNIKEY ${model} Smartcard Reader 01 00`)
    for (const [contact = '', field = ''] of [[of('5422'), of('5422CL')], plain]) {
      expect(isContactSlot(contact, [contact, field])).toBe(true)
      expect(isContactSlot(field, [contact, field])).toBe(false)
      expect(isContactSlot(contact, [contact])).toBe(false)
    }
  })

  test.each([
    ['3B8180018080', false],
    ['3B8B80010031C1640860320600900052', false],
    ['3B8F8001804F0CA000000306030001000000006A', false],
    ['3B6E00000031C071D66438D00300840090000F', true],
    ['3F6525082204689000', true],
    ['', false],
  ])('a card with the ATR %s has contacts: %s', (atr, hasContacts) => {
    expect(isContactCard(Buffer.from(atr, 'hex'))).toBe(hasContacts)
  })

  test('several with a card: it is asked which', () => {
    const both = [reader(acr, 'mute'), reader(other, 'present')]
    expect(() => chooseReader(both, undefined)).toThrow(UsageError)
    expect(() => chooseReader(both, undefined)).toThrow(`Several readers have a card: ${acr}, ${other}.`)
  })

  test('by its whole name, or a part that no other has, in any case', () => {
    const readers = [reader(acr), reader(other)]
    expect(chooseReader(readers, acr)).toBe(acr)
    expect(chooseReader(readers, 'acr122u')).toBe(other)
    expect(() => chooseReader(readers, 'picc')).toThrow('Several readers are called "picc"')
    expect(() => chooseReader(readers, 'Omnikey')).toThrow(NoReader)
  })
})

describe('the virtual chip that TAPCHIP_EMULATOR asks for', () => {
  test.each([
    ['tagtamper', { tamper: { enabled: false, permanent: 'C', current: 'C' } }],
    ['clone', { signature: expect.stringMatching(/^D1940D17/) }],
    ['lrp', { lrp: true }],
    ['', { tamper: null, signature: 'test', lrp: false }],
  ])('%s: is a new one, and stays that one', async (kind, memory) => {
    const at = cliHome({ TAPCHIP_EMULATOR: kind })
    try {
      const read = () => at.run('nfc', 'read', '--reader', 'emulator', '--timeout', '1')
      await read()
      const file = join(at.home, '.local/state/tapchip/emulator.json')
      const kept = JSON.parse(readFileSync(file, 'utf8'))
      expect(kept).toMatchObject(memory)
      at.env.TAPCHIP_EMULATOR = 'lrp'
      await read()
      expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(kept)
      at.env.TAPCHIP_EMULATOR = 'desfire'
      expect(await read()).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('tagtamper, clone, lrp'),
      })
    } finally {
      at.remove()
    }
  })
})

test('a chip whose URL may be a tap under any template is left to the daemon to judge', () => {
  const none = { reader: 'r', family: 'ntag424', e: null, c: null, d: null } as const
  const why = (url: string) => whyNoTap({ ...none, url })
  expect(why('https://n.example/t?uid=049F50824F1390&ctr=000001&cmac=2446E527C37E073A')).toBeUndefined()
  expect(why('https://n.example/t?m=049F50824F1390x000001x2446E527C37E073A')).toBeUndefined()
  expect(why('https://n.example/t?uid=049F50824F1390')).toMatch(/has no values of a tap/)
})

describe('a tap whose parameters have other names', () => {
  const [e, lrp, c] = ['EF963FF7828658A599F3041510671E88', 'AB'.repeat(24), '94EED9EE65337086']
  test.each([
    [`https://n.example/t?d=3&e=${e}&c=${c}`, { e, c, d: '3' }],
    [`https://n.example/t?ks=101&enc=${lrp}&mac=${c}`, { e: lrp, c, d: '101' }],
    [`https://n.example/t?lang=en&picc=${e}&cmac=${c}#x`, { e, c, d: null }],
    [`https://n.example/?v=2&ks=5&picc=${e}&cmac=${c}&size=4`, { e, c, d: '5' }],
  ])('%s', (url, tap) => {
    expect(tapByShape(url)).toEqual(tap)
  })

  test.each([
    'https://n.example/',
    `https://n.example/?picc=${e}`,
    `https://n.example/?picc=${e.toLowerCase()}&cmac=${c}`,
    `https://n.example/?a=${e}&b=${e}&cmac=${c}`,
  ])('is none in %s', (url) => {
    expect(tapByShape(url)).toBeUndefined()
  })
})
