import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { mirrored } from '../../../src/nfc/emulator/files.ts'
import { factoryMemory } from '../../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../../src/nfc/emulator/ntag424.ts'
import { Channel, FULL, MAC } from '../../../src/nfc/emulator/secure-channel.ts'
import { AesSuite } from '../../../src/nfc/emulator/suites.ts'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import { lrpKey } from '../../../src/nfc/ntag424/lrp.ts'
import { SecureSession } from '../../../src/nfc/ntag424/secure-session.ts'

// The chip's side held against what NXP printed of a real chip: the answers must be the same to the byte.

const bytes = z
  .string()
  .regex(/^([0-9a-fA-F]{2})*$/)
  .transform((text) => Buffer.from(text, 'hex'))
const file = z.object({
  vectors: z.array(
    z.object({
      id: z.string(),
      op: z.string(),
      source: z.string(),
      in: z.record(z.string(), z.unknown()),
      out: z.record(z.string(), z.unknown()),
    }),
  ),
})
const { vectors } = file.parse(
  JSON.parse(readFileSync(new URL('../../../fixtures/vectors/ntag424.json', import.meta.url), 'utf8')),
)
function vector(id: string) {
  const found = vectors.find((one) => one.id === id)
  if (!found) throw new Error(`No vector ${id}`)
  const of = (values: Record<string, unknown>) => (name: string) => bytes.parse(values[name])
  return { input: of(found.in), output: of(found.out), source: found.source }
}
const hex = (buffer: Uint8Array) => Buffer.from(buffer).toString('hex').toUpperCase()
const selectApplication = Buffer.from('00A4040C07D276000085010100', 'hex')

/** A factory chip whose next random bytes are these. */
function chipWith(...random: Buffer[]): VirtualNtag424 {
  const chip = new VirtualNtag424(factoryMemory(Buffer.from('04958CAA5C5E80', 'hex')), (length) => {
    const next = random.shift()
    if (next?.length !== length) throw new Error(`Nothing random of ${length} bytes is left`)
    return next
  })
  chip.process(selectApplication)
  return chip
}

const first0 = vector('ev2first-key0')
const first3 = vector('ev2first-key3')
const rndB3 = new AesKey(Buffer.alloc(16)).decryptBlock(first3.input('encRndB'))

describe('the virtual chip answers as AN12196 prints it', () => {
  test(`AuthenticateEV2First, key 0: ${first0.source}`, () => {
    const chip = chipWith(first0.output('rndB'), first0.output('ti'))
    expect(hex(chip.process(first0.output('cmd1')))).toBe(`${hex(first0.input('encRndB'))}91AF`)
    expect(hex(chip.process(first0.output('cmd2')))).toBe(`${hex(first0.input('resp2'))}9100`)
  })

  test('WriteData and ChangeFileSettings in CommMode.FULL: Tables 17 and 18', () => {
    const chip = chipWith(first0.output('rndB'), first0.output('ti'))
    // The note leaves out that its file was set so before.
    const ndef = chip.memory.files.get(2)
    if (ndef) ndef.settings = Buffer.from('0300E0', 'hex')
    chip.process(first0.output('cmd1'))
    chip.process(first0.output('cmd2'))
    const write = vector('writedata-full')
    expect(hex(chip.process(write.output('apdu')))).toBe(hex(write.input('resp')))
    expect(hex(chip.memory.files.get(2)?.bytes.subarray(0, 128) ?? Buffer.alloc(0))).toBe(
      hex(write.input('data')),
    )
    const change = vector('changefilesettings')
    expect(hex(chip.process(change.output('apdu')))).toBe(hex(change.input('resp')))
    expect(hex(chip.memory.files.get(2)?.settings ?? Buffer.alloc(0))).toBe(hex(change.input('data')))
  })

  test('key 3, a write, EV2NonFirst, ChangeKey of keys 2 and 0: Tables 19 to 26', () => {
    const nonFirst = vector('ev2nonfirst-keys')
    const chip = chipWith(rndB3, first3.output('ti'), nonFirst.input('rndB'))
    expect(hex(chip.process(Buffer.from('9071000002030000', 'hex')))).toBe(
      `${hex(first3.input('encRndB'))}91AF`,
    )
    expect(hex(chip.process(first3.output('cmd2')))).toBe(`${hex(first3.input('resp2'))}9100`)
    const write = vector('writedata-full-3')
    expect(hex(chip.process(write.output('apdu')))).toBe(hex(write.input('resp')))
    expect(chip.memory.files.get(3)?.bytes.subarray(0, 10)).toEqual(write.input('data'))

    // The note's third command is not printed; it brings CmdCtr to 2.
    const session = new SecureSession({
      ti: first3.output('ti'),
      enc: new AesKey(first3.output('enc')),
      mac: new AesKey(first3.output('mac')),
      counter: 1,
    })
    const version = { ins: 0x64, header: Buffer.of(2), data: Buffer.alloc(0) }
    expect(session.unwrap(chip.process(session.wrap(version, 'mac')), 'mac')).toEqual(Buffer.of(0))

    const key = new AesKey(Buffer.alloc(16))
    const rotated = (b: Buffer) => Buffer.concat([b.subarray(1), b.subarray(0, 1)])
    const [a, b] = [nonFirst.input('rndA'), nonFirst.input('rndB')]
    expect(hex(chip.process(Buffer.from('90770000010000', 'hex')))).toBe(`${hex(key.encryptBlock(b))}91AF`)
    const proof = key.encryptCbc(Buffer.alloc(16), Buffer.concat([a, rotated(b)]))
    const answer = chip.process(Buffer.concat([Buffer.from('90AF000020', 'hex'), proof, Buffer.of(0)]))
    expect(hex(answer)).toBe(`${hex(key.encryptBlock(rotated(a)))}9100`)

    const other = vector('changekey-other')
    expect(hex(chip.process(other.output('apdu')))).toBe(hex(other.input('resp')))
    expect(chip.memory.keys[2]).toMatchObject({ key: other.input('newKey'), version: 1 })
    const same = vector('changekey-same')
    expect(hex(chip.process(same.output('apdu')))).toBe(hex(same.input('resp')))
    expect(chip.memory.keys[0]).toMatchObject({ key: same.input('newKey'), version: 1 })
  })

  test('GetFileSettings and GetCardUID in a session: Tables 7 and 28', () => {
    for (const [id, ins, headerLength, mode] of [
      ['getfilesettings-mac', 0xf5, 1, MAC],
      ['getcarduid', 0x51, 0, FULL],
    ] as const) {
      const { input, output } = vector(id)
      const channel = new Channel(0, input('ti'), 0, new AesSuite({ enc: input('enc'), mac: input('mac') }))
      const body = output('apdu').subarray(5, -1)
      expect(channel.open(ins, body, headerLength, MAC).header).toEqual(input('header'))
      expect(`${hex(channel.close(output('plain'), mode))}9100`).toBe(hex(input('resp')))
    }
  })
})

test('SetConfiguration that hides the UID: Table 27', () => {
  const [enc, mac] = ['7951A705F47F3C29B596454DC1490383', 'FE4EDBF46536557E304682F33E63A84F']
  const suite = new AesSuite({ enc: Buffer.from(enc, 'hex'), mac: Buffer.from(mac, 'hex') })
  const channel = new Channel(0, Buffer.from('D779B1D0', 'hex'), 0, suite)
  const body = Buffer.from('008EA0138A7AF6FC8E99DF2A3A305602C43A7A3C9228C3134A', 'hex')
  expect(channel.open(0x5c, body, 1, FULL)).toEqual({ header: Buffer.of(0), data: Buffer.of(2) })
  expect(hex(channel.close(Buffer.alloc(0), FULL))).toBe('86044208CAD1676A')
})

const zeroKeys = Array.from({ length: 5 }, () => ({ key: Buffer.alloc(16) }))

const suns = vectors.filter(({ op, out }) => op.startsWith('sun') && out.valid !== false)
test.each(suns.map(({ id, source }) => [id, source] as const))('mirrors %s as %s', (id) => {
  const found = vectors.find((one) => one.id === id)
  const i = z
    .object({
      metaKey: bytes,
      fileKey: bytes,
      picc: bytes,
      encFile: bytes.optional(),
      macInputAscii: z.string(),
      c: bytes,
    })
    .parse(found?.in)
  const o = z.object({ ctr: z.number(), fileAscii: z.string().optional(), uid: bytes }).parse(found?.out)
  // picc at 0, the MACed text behind it with the encrypted data in front, then the MAC.
  const encLength = i.encFile ? 2 * i.encFile.length : 0
  const text = i.macInputAscii.slice(encLength)
  const piccLength = 2 * i.picc.length
  const macOffset = piccLength + encLength + text.length
  const content = Buffer.alloc(256, '0')
  content.write(o.fileAscii ?? '', piccLength)
  content.write(text, piccLength + encLength)
  const keys = zeroKeys.map((one, no) =>
    no === 1 ? { key: i.fileKey } : no === 2 ? { key: i.metaKey } : one,
  )
  // In LRP mode the nonce is in front.
  const nonce = i.picc.length > 16 ? i.picc.subarray(0, 8) : undefined
  const meta = new AesKey(i.metaKey)
  const plain = nonce ? lrpKey(meta).decrypt(0, nonce, i.picc.subarray(8)) : meta.decryptBlock(i.picc)
  const shown = mirrored({
    sdm: {
      uid: true,
      counter: true,
      metaRead: 2,
      fileRead: 1,
      counterRead: 15,
      uidOffset: undefined,
      counterOffset: undefined,
      piccOffset: 0,
      tamperOffset: undefined,
      macInputOffset: piccLength,
      macOffset,
      encOffset: i.encFile ? piccLength : undefined,
      encLength: i.encFile ? encLength : undefined,
      limit: undefined,
    },
    file: content,
    uid: o.uid,
    counter: o.ctr,
    keys,
    padding: plain.subarray(11),
    nonce,
  })
  expect(shown.toString('ascii', 0, piccLength)).toBe(hex(i.picc))
  expect(shown.toString('ascii', piccLength, macOffset)).toBe(i.macInputAscii)
  expect(shown.toString('ascii', macOffset, macOffset + 16)).toBe(hex(i.c))
})
