import { beforeEach, describe, expect, test } from 'vitest'
import { factoryMemory } from '../../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../../src/nfc/emulator/ntag424.ts'
import { testSignature } from '../../../src/nfc/emulator/originality-test-key.ts'
import { VARIANTS } from '../../../src/nfc/emulator/variants.ts'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import { authenticate } from '../../../src/nfc/ntag424/commands.ts'
import { ChipStatusError } from '../../../src/nfc/ntag424/errors.ts'
import { originalityOf } from '../../../src/nfc/ntag424/originality.ts'
import type { SecureSession } from '../../../src/nfc/ntag424/secure-session.ts'
import { decryptPiccData, verifySunMac } from '../../../src/nfc/ntag424/sun.ts'
import { runScript, type Script } from '../../../src/nfc/script.ts'
import { selectApplication } from '../../../src/nfc/type4.ts'
import { steadyRandom, uidBytes } from '../virtual-card.ts'

// TagTamper chips, chips in LRP mode, and what SetConfiguration changes.

const zero = new AesKey(Buffer.alloc(16))
const rndA = steadyRandom('reader')
const open = (keyNo: number): Script<SecureSession> => authenticate(keyNo, zero, rndA(16))

let chip: VirtualNtag424
const run = <Result>(script: Script<Result>): Promise<Result> =>
  runScript({ transmit: async (apdu) => chip.process(apdu) }, script)
const raw = (hex: string): string => chip.process(Buffer.from(hex, 'hex')).toString('hex').toUpperCase()
const put = async (variant: Parameters<typeof factoryMemory>[1]): Promise<void> => {
  chip = new VirtualNtag424(factoryMemory(uidBytes, variant), steadyRandom('chip'))
  await run(selectApplication())
}
const liftAndPut = async (): Promise<void> => {
  chip.powerOff()
  await run(selectApplication())
}
/** @returns SW2 in hex, and the data */
async function configure(option: number, hex: string): Promise<string> {
  const session = await run(open(0))
  const command = { ins: 0x5c, header: Buffer.of(option), data: Buffer.from(hex, 'hex') }
  return raw(session.wrap(command, 'full').toString('hex'))
}

describe('SetConfiguration', () => {
  beforeEach(() => put({}))

  test.each([
    ['an unknown option', 0x03, '00', '919E'],
    ['a length that is not its own', 0x00, '0200', '917E'],
    ['a bit that means nothing', 0x00, '06', '919E'],
    ['a limit of no failure', 0x0a, '0100000A00', '919E'],
    ['a loop that this chip does not have', 0x07, '010E', '919E'],
  ])('refuses %s', async (_, option, data, answer) => {
    expect(await configure(option, data)).toBe(answer)
  })

  test('needs key 0', async () => {
    const session = await run(open(1))
    const command = { ins: 0x5c, header: Buffer.of(0), data: Buffer.of(2) }
    expect(raw(session.wrap(command, 'full').toString('hex'))).toBe('91AE')
  })

  test('hides the UID, after which the signature needs a session', async () => {
    expect(raw('903C0000010000')).toMatch(/9190$/)
    expect(await configure(0x00, '02')).toMatch(/^[0-9A-F]{16}9100$/)
    await liftAndPut()
    raw('9060000000')
    raw('90AF000000')
    expect(raw('90AF000000')).toMatch(/^0{14}/)
    expect(raw('903C0000010000')).toBe('910B')
  })

  test('sets the number of failures that block a key', async () => {
    expect(await configure(0x0a, '0102000100')).toMatch(/9100$/)
    for (let i = 0; i < 2; i += 1) {
      raw('9071000002030000')
      expect(raw(`90AF000020${'00'.repeat(32)}00`)).toBe('91AE')
    }
    expect(raw('9071000002030000')).toBe('919D')
    expect(await configure(0x0a, '0000000000')).toMatch(/9100$/)
    expect(raw('9071000002030000')).toMatch(/91AF$/)
  })

  test('turns LRP mode on for ever, without a MAC, and mirroring off', async () => {
    const ndef = chip.memory.files.get(2)
    if (ndef) ndef.settings = Buffer.from('4000E0C1F1211900001300003C0000', 'hex')
    expect(await configure(0x05, '00000000020000000000')).toBe('9100')
    expect(raw('90F50000010200')).toBe('000000E00001009100')
    await expect(run(open(0))).rejects.toThrow(new ChipStatusError(0x919d))
    expect(raw('9071000008000602000000000000')).toMatch(/^01[0-9A-F]{32}91AF$/)
  })
})

test('a chip in AES mode lets a reader that asks for LRP fall back', async () => {
  await put({})
  expect(raw('9071000008000602000000000000')).toMatch(/^[0-9A-F]{32}91AF$/)
})

test('a chip in LRP mode makes taps that verify', async () => {
  await put({ lrp: true })
  const ndef = chip.memory.files.get(2)
  if (!ndef) throw new Error('Every chip has file 2')
  const text = `e=${'0'.repeat(48)}&c=${'0'.repeat(16)}`
  ndef.bytes.write(text)
  ndef.settings = Buffer.from('4000E0C1F121020000000000350000', 'hex')
  const [meta, file] = [Buffer.alloc(16, 2), Buffer.alloc(16, 1)]
  Object.assign(chip.memory.keys[2] ?? {}, { key: meta })
  Object.assign(chip.memory.keys[1] ?? {}, { key: file })
  raw('00A4000C02E104')
  const shown = Buffer.from(raw('00B0000045'), 'hex').toString('ascii')
  const tap = decryptPiccData(new AesKey(meta), Buffer.from(shown.slice(2, 50), 'hex'))
  expect(tap).toMatchObject({ uid: uidBytes, counter: 1 })
  const c = Buffer.from(shown.slice(53, 69), 'hex')
  expect(tap && verifySunMac(new AesKey(file), tap, shown.slice(0, 53), c)).toBe(true)
})

describe('a TagTamper chip', () => {
  /** Plain mirrors of UID at 2, of the status at 18, and a MAC at 22 over all before it. */
  const settings = '4000E0 89FFE1 020000 120000 000000 160000'.replaceAll(' ', '')
  const tapped = async (): Promise<string> => {
    await run(selectApplication())
    raw('00A4000C02E104')
    return Buffer.from(raw('00B0001202').slice(0, 4), 'hex').toString('ascii')
  }
  const loop = (state: 'C' | 'O'): void => {
    if (chip.memory.tamper) chip.memory.tamper.current = state
  }
  const mirror = async (): Promise<string> => {
    const session = await run(open(0))
    const command = { ins: 0x5f, header: Buffer.of(2), data: Buffer.from(settings, 'hex') }
    return raw(session.wrap(command, 'full').toString('hex')).slice(-4)
  }

  test('knows nothing of its loop before it was turned on and got power again, and forgets no opening', async () => {
    await put({ tamper: true })
    expect(raw('90F7000000')).toBe('49499100')
    expect(raw('9060000000')).toMatch(/^040408/)
    await liftAndPut()
    expect(await mirror()).toBe('9100')
    expect(await configure(0x07, '010E')).toMatch(/9100$/)
    expect(await tapped()).toBe('II')
    await liftAndPut()
    expect(await tapped()).toBe('CC')
    expect(raw('90F7000000')).toBe('43439100')
    loop('O')
    expect(await tapped()).toBe('OO')
    loop('C')
    await liftAndPut()
    expect(await tapped()).toBe('OC')
    const kept = VirtualNtag424.fromJSON(JSON.parse(JSON.stringify(chip.toJSON())))
    expect(kept.memory.tamper).toEqual({ enabled: true, keyNo: 14, permanent: 'O', current: 'C' })
  })

  test('notices an opening at the first command after it got power, whatever that is', async () => {
    await put({ tamper: true })
    await configure(0x07, '010E')
    await liftAndPut()
    chip.powerOff()
    loop('O')
    raw('90640000010000')
    loop('C')
    await liftAndPut()
    expect(raw('90F7000000')).toBe('4F439100')
  })

  test('tells its status to the key that may know it', async () => {
    await put({ tamper: true })
    await configure(0x07, '0102')
    await liftAndPut()
    expect(raw('90F7000000')).toBe('91AE')
    const session = await run(open(2))
    const answer = session.unwrap(
      Buffer.from(
        raw(
          session.wrap({ ins: 0xf7, header: Buffer.alloc(0), data: Buffer.alloc(0) }, 'mac').toString('hex'),
        ),
        'hex',
      ),
      'full',
    )
    expect(Buffer.from(answer).toString('ascii')).toBe('CC')
    expect(await configure(0x07, '0005')).toBe('919E')
    await configure(0x07, '000F')
    await run(selectApplication())
    expect(raw('90F7000000')).toBe('919D')
  })

  test('is the only one that can mirror a status', async () => {
    await put({})
    expect(await mirror()).toBe('919E')
    expect(raw('90F7000000')).toBe('911C')
  })
})

test('a chip that an earlier version wrote down is read, and is like those of today', () => {
  const { version, uid, randomId, keys, files, sdmReadCounter, failedAuthentications } = JSON.parse(
    JSON.stringify(new VirtualNtag424(factoryMemory(uidBytes)).toJSON()),
  )
  const old = { version, uid, randomId, keys, files, sdmReadCounter, failedAuthentications }
  expect(old.version).toBe(1)
  expect(VirtualNtag424.fromJSON(old).memory).toEqual(factoryMemory(uidBytes))
})

test('the signature of a virtual chip is trusted as such, and proves no real one', () => {
  for (const uid of [uidBytes, Buffer.from('04000000000001', 'hex')]) {
    const signature = testSignature(uid)
    expect(originalityOf(uid, signature)).toBe('emulated')
    expect(originalityOf(Buffer.from('04000000000002', 'hex'), signature)).toBe('any')
  }
  expect(originalityOf(uidBytes, VARIANTS.clone.signature)).toBe('any')
  // Table 30's chip itself: what the clone shows is genuine, of another UID.
  expect(originalityOf(Buffer.from('04518DFAA96180', 'hex'), VARIANTS.clone.signature)).toBe('genuine')
})

test.each([
  ['none', 'none', '911C'],
  ['of another chip', Buffer.alloc(56, 7), `${'07'.repeat(56)}9190`],
] as const)('a clone shows a signature: %s', async (_, signature, answer) => {
  await put({ signature })
  expect(raw('903C0000010000')).toBe(answer)
  expect(raw('903C0000010100')).toBe(signature === 'none' ? '911C' : '910C')
})
