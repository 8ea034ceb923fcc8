import { describe, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { EmulatedCard } from '../../src/nfc/emulator/card.ts'
import { haloUrlParameters, parseHaloTap, verifyHaloTap } from '../../src/nfc/halo/tap.ts'
import { UnknownCard } from '../../src/nfc/identify.ts'
import { AnswerFormatError } from '../../src/nfc/ntag424/errors.ts'
import { apply } from '../../src/nfc/provision/apply.ts'
import { inspect } from '../../src/nfc/provision/inspect.ts'
import { plan } from '../../src/nfc/provision/plan.ts'
import { readTap } from '../../src/nfc/read-tap.ts'
import { runScript } from '../../src/nfc/script.ts'
import { VirtualHalo } from '../support/virtual-halo.ts'
import { deps, TestChip, template, uid } from './virtual-card.ts'

async function provisioned(text: string = template.text): Promise<TestChip> {
  const chip = new TestChip()
  const made = plan({
    uid,
    from: ['factory'],
    target: { keySet: 3, generation: 0 },
    template: { ...template, text },
  })
  const script = function* () {
    return yield* apply(made, yield* inspect(), deps())
  }
  await chip.run(script())
  return chip
}

describe('reading a tap', () => {
  test('gives the URL, e, c and d, and takes exactly one count', async () => {
    const chip = await provisioned()
    const tap = await chip.run(readTap())
    expect(tap).toMatchObject({ family: 'ntag424', d: '3' })
    expect(tap.url).toBe(`https://n.example/t?d=3&e=${tap.e}&c=${tap.c}`)
    expect(chip.memory.sdmReadCounter).toBe(1)
    await chip.run(readTap())
    expect(chip.memory.sdmReadCounter).toBe(2)
  })

  test('reads in chunks of at most 48 bytes, which is what an ACR122U takes', async () => {
    const chip = await provisioned()
    const sent = await chip.commands(readTap())
    const lengths = sent.filter(([, ins]) => ins === 0xb0).map((apdu) => apdu[4])
    expect(lengths).toEqual([2, 48, 26])
  })

  test('of other parameters gives the URL, which the daemon knows how to read', async () => {
    const chip = await provisioned('?set={keySet}&picc={picc}&cmac={mac}')
    expect(await chip.run(readTap())).toEqual({
      family: 'ntag424',
      url: expect.stringMatching(/\?set=3&picc=[0-9A-F]{32}&cmac=[0-9A-F]{16}$/),
      ...{ e: null, c: null, d: null },
    })
  })

  test('says of a blank chip that it has no URL', async () => {
    expect(await new TestChip().run(readTap())).toEqual({
      family: 'ntag424',
      url: null,
      e: null,
      c: null,
      d: null,
    })
  })

  test('reads a HaLo tag, whose record is a long one, and its signature verifies', async () => {
    const halo = new VirtualHalo()
    const tap = await runScript(new EmulatedCard('test', halo), readTap())
    expect(tap).toMatchObject({ family: 'halo', e: null, c: null, d: null })
    expect(tap.url?.length).toBeGreaterThan(400)
    const parsed = parseHaloTap(haloUrlParameters(tap.url ?? '') ?? {})
    if (!parsed.ok) throw new Error(parsed.reason)
    expect(verifyHaloTap(parsed.tap)).toBe(true)
    expect(parsed.tap.pk2).toEqual(halo.publicKeys[1])
    expect(parsed.tap.counter).toBe(1)
  })
})

describe('a HaLo tag with a text record', () => {
  /** A record of a long length, as HaLo tags write it. @param flags 0x80 first, 0x40 last */
  const record = (flags: number, type: string, payload: Buffer): Buffer => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(payload.length)
    return Buffer.concat([Buffer.of(flags | 1, 1), length, Buffer.from(type), payload])
  }
  const text = (flags: number, value: string): Buffer => record(flags, 'T', Buffer.from(`\x02en${value}`))
  const uri = (flags: number, value: string): Buffer => record(flags, 'U', Buffer.from(`\0${value}`))

  test.each<[string, (url: string) => Buffer]>([
    ['in place of its URL, as libhalo configures it', (url) => text(0xc0, url)],
    ['before its URL', (url) => Buffer.concat([text(0x80, 'Jacket 17'), uri(0x40, url)])],
    ['after its URL', (url) => Buffer.concat([uri(0x80, url), text(0x40, 'Jacket 17')])],
    [
      'with its URL after another',
      (url) => Buffer.concat([uri(0x80, 'https://shop.example'), text(0x40, url)]),
    ],
    [
      'in UTF-16',
      (url) => Buffer.concat([record(0x80, 'T', Buffer.from('\x82en\xfe\xff', 'latin1')), uri(0x40, url)]),
    ],
  ])('%s', async (_, records) => {
    const halo = new VirtualHalo('https://nfc.example/', records)
    const tap = await runScript(new EmulatedCard('test', halo), readTap())
    expect(tap).toMatchObject({
      family: 'halo',
      url: expect.stringMatching(/^https:\/\/nfc\.example\/\?av=/),
    })
    const parsed = parseHaloTap(haloUrlParameters(tap.url ?? '') ?? {})
    expect(parsed.ok && verifyHaloTap(parsed.tap)).toBe(true)
  })
})

describe('a card that is no tag of ours', () => {
  const answering = (answers: readonly string[]) => {
    let at = 0
    return {
      transmit: async () => {
        at += 1
        return Buffer.from(answers[at - 1] ?? '6F00', 'hex')
      },
    }
  }

  test.each([
    ['3B8F8001804F0CA000000306030001000000006A', 'a MIFARE Classic 1K'],
    ['3B8F8001804F0CA0000003060300030000000068', 'a MIFARE Ultralight or NTAG 21x'],
    ['3B8180018080', 'no NFC tag with a URL'],
  ])('with the ATR %s is named %s', async (atr, name) => {
    const reading = runScript(answering(['6A82']), readTap({ atr: Buffer.from(atr, 'hex') }))
    await expect(reading).rejects.toThrow(new UnknownCard(name))
  })

  test('a DESFire without one too', async () => {
    const frames = ['0401013300180591AF', '0401010300180591AF', '04112233445566BA345450301848229100']
    const atr = Buffer.from('3B8180018080', 'hex')
    await expect(runScript(answering(['6A82', ...frames]), readTap({ atr }))).rejects.toThrow(
      /a MIFARE DESFire/,
    )
  })

  test('a DESFire with an NDEF application is named by its version', async () => {
    const frames = ['0401013300180591AF', '0401010300180591AF', '04112233445566BA34545030184822 9100']
    const answers = ['9000', '9000', '00009000', ...frames.map((frame) => frame.replace(' ', ''))]
    await expect(runScript(answering(answers), readTap())).rejects.toThrow(/a MIFARE DESFire/)
  })

  test('another Type 4 tag does not know GetVersion', async () => {
    const answers = ['9000', '9000', '00009000', '6D00']
    await expect(runScript(answering(answers), readTap())).rejects.toThrow(/a Type 4 tag from another maker/)
  })

  test('a card that answers nothing is one that left', async () => {
    await expect(runScript(answering(['']), readTap())).rejects.toThrow(AnswerFormatError)
  })

  test('a card that is lifted ends the reading with its own error', async () => {
    const chip = await provisioned()
    await expect(chip.run(readTap(), { apdu: 4, when: 'after' })).rejects.toThrow(CardGone)
  })
})
