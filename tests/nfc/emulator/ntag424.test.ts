import { beforeEach, describe, expect, test } from 'vitest'
import { factoryMemory } from '../../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../../src/nfc/emulator/ntag424.ts'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import {
  authenticate,
  changeFileSettings,
  changeKey,
  getCardUid,
  getFileCounters,
  getFileSettings,
  getKeyVersion,
  getVersion,
  readData,
  writeData,
} from '../../../src/nfc/ntag424/commands.ts'
import { ChipStatusError, SessionEndedError } from '../../../src/nfc/ntag424/errors.ts'
import type { FileSettings } from '../../../src/nfc/ntag424/file-settings.ts'
import { NDEF_FILE, PROPRIETARY_FILE } from '../../../src/nfc/ntag424/layout.ts'
import type { CommMode, SecureSession } from '../../../src/nfc/ntag424/secure-session.ts'
import { decryptPiccData, verifySunMac } from '../../../src/nfc/ntag424/sun.ts'
import { templateFile } from '../../../src/nfc/ntag424/template/file.ts'
import { parseTemplate } from '../../../src/nfc/ntag424/template/parse.ts'
import { runScript, type Script } from '../../../src/nfc/script.ts'
import { readNdefFile, selectApplication } from '../../../src/nfc/type4.ts'
import { steadyRandom, uidBytes } from '../virtual-card.ts'

const zero = new AesKey(Buffer.alloc(16))
const rndA = steadyRandom('reader')
const open = (keyNo: number, key = zero): Script<SecureSession> => authenticate(keyNo, key, rndA(16))
const status = (code: number) => new ChipStatusError(code)

let chip: VirtualNtag424
const run = <Result>(script: Script<Result>): Promise<Result> =>
  runScript({ transmit: async (apdu) => chip.process(apdu) }, script)
const raw = (hex: string): string =>
  chip
    .process(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
    .toString('hex')
    .toUpperCase()

beforeEach(async () => {
  chip = new VirtualNtag424(factoryMemory(uidBytes), steadyRandom('chip'))
  await run(selectApplication())
})

const template = templateFile({
  baseUrl: 'https://n.example',
  keySet: 3,
  template: parseTemplate('?^d={keySet}&e={picc}&c={mac}'),
})

async function withSdm(settings: FileSettings = template.settings): Promise<void> {
  const session = await run(open(0))
  await run(writeData(NDEF_FILE, template.ndef, { session }))
  await run(changeFileSettings(session, NDEF_FILE, settings))
  await run(selectApplication())
}

describe('the virtual chip, from the factory', () => {
  test('has the files, rights, keys and version of the data sheet', async () => {
    expect(raw('00A4000C02E103')).toBe('9000')
    expect(raw('00B0000017')).toBe('001720010000FF0406E104010000000506E105008082839000')
    expect(raw('90F50000010100')).toBe('000000E02000009100')
    expect(raw('90F50000010200')).toBe('0000E0EE0001009100')
    expect(raw('90F50000010300')).toBe('000330238000009100')
    for (const keyNo of [0, 1, 2, 3, 4]) expect(await run(getKeyVersion(keyNo))).toBe(0)
    expect(await run(getVersion())).toMatchObject({ vendor: 4, type: 4, majorVersion: 0x30, storage: 0x11 })
    expect((await run(getVersion())).uid).toEqual(uidBytes)
  })

  test.each([
    ['an unknown class', '8060000000', '6E00'],
    ['an unknown ISO instruction', '00CA000000', '6D00'],
    ['an unknown command', '90EE000000', '911C'],
    ['a key that is not there', '90640000010500', '9140'],
    ['a file that is not there', '90F50000010900', '91F0'],
    ['an unknown file id', '00A4000C02E1AA', '6A82'],
    ['an unknown application', '00A4040C07D276000085010200', '6A82'],
    ['reading with no file selected', '00B0000010', '6985'],
    ['a frame that nobody asked for', '90AF000000', '911C'],
    ['a body of the wrong length', '906400000200', '917E'],
    ['data where none belongs', '9064000003000102 00', '917E'],
    ['an unauthenticated GetCardUID', '9051000000', '91AE'],
    ['counters that nobody may see', '90F60000010200', '919D'],
    ['reading the proprietary file without a key', '90AD0000070300000010000000', '91AE'],
    ['writing the proprietary file without a key', '908D000008030000000100000000', '91AE'],
    ['the second half of an authentication without the first', `90AF000020${'00'.repeat(32)}00`, '919D'],
    ['going on with an authentication that was not begun', '90770000010000', '919D'],
    ['reading beyond the end', '90AD0000070200010001000000', '91BE'],
    ['half a command', '90', '917E'],
  ])('%s: %s answers %s', (_, apdu, answer) => {
    expect(raw(apdu)).toBe(answer)
  })

  test('does nothing but tell its version and its origin before the application is selected', async () => {
    chip.powerOff()
    expect(raw('90640000010000')).toBe('919D')
    expect(raw('9071000002000000')).toBe('919D')
    expect(raw('9060000000')).toMatch(/91AF$/)
    chip.powerOff()
    await run(selectApplication())
    expect(raw('00A4040007D276000085010000')).toBe('9000')
    expect(raw('90640000010000')).toBe('919D')
    expect(raw('903C0000010000')).toMatch(/9190$/)
  })

  test('gives up what was begun when another command comes', () => {
    expect(raw('9060000000')).toMatch(/91AF$/)
    expect(raw('90640000010000')).toBe('91CA')
    expect(raw('90AF000000')).toBe('911C')
    expect(raw('9060000000')).toMatch(/91AF$/)
    expect(raw('00A4040C07D2760000850101')).toBe('6985')
    expect(raw('00A4040C07D2760000850101')).toBe('9000')
  })
})

describe('the virtual chip in a session', () => {
  test.each<[CommMode, string]>([
    ['plain', '00'],
    ['mac', '01'],
    ['full', '03'],
  ])('writes and reads a file in %s', async (mode, option) => {
    const file = chip.memory.files.get(NDEF_FILE)
    if (file) file.settings = Buffer.from(`${option}00E0`, 'hex')
    const session = await run(open(0))
    const data = Buffer.from('forty-two bytes of data to come and go back')
    await run(writeData(NDEF_FILE, data, { offset: 3, mode, session }))
    expect(file?.bytes.subarray(3, 3 + data.length)).toEqual(data)
    expect(await run(readData(NDEF_FILE, data.length, { offset: 3, mode, session }))).toEqual(data)
    expect(await run(getCardUid(session))).toEqual(uidBytes)
    expect(await run(getFileSettings(NDEF_FILE, session))).toMatchObject({ mode })
  })

  test('keeps keys to their files', async () => {
    const session = await run(open(1))
    await expect(run(writeData(PROPRIETARY_FILE, Buffer.of(1), { mode: 'full', session }))).rejects.toThrow(
      status(0x91ae),
    )
  })

  test('loses the session on any error', async () => {
    const session = await run(open(0))
    await expect(run(getKeyVersion(9, session))).rejects.toThrow(status(0x9140))
    await expect(run(getKeyVersion(0, session))).rejects.toThrow(SessionEndedError)
    expect(raw('9051000000')).toBe('91AE')
  })

  test('takes no command whose MAC was changed, nor one twice', async () => {
    const session = await run(open(0))
    const command = { ins: 0x64, header: Buffer.of(0), data: Buffer.alloc(0) }
    const apdu = session.wrap(command, 'mac')
    const answer = chip.process(apdu)
    expect(session.unwrap(answer, 'mac')).toEqual(Buffer.of(0))
    expect(chip.process(apdu).toString('hex')).toBe('911e')
    const other = await run(open(0))
    const changed = other.wrap(command, 'mac')
    changed.writeUInt8(changed.readUInt8(8) ^ 1, 8)
    expect(chip.process(changed).toString('hex')).toBe('911e')
  })

  test.each([
    ['READ BINARY', '00B0000010'],
    ['UPDATE BINARY', '00D60000020000'],
  ])('takes no %s, which ends it', async (_, apdu) => {
    raw('00A4000C02E104')
    expect(raw(apdu)).toMatch(/9000$/)
    await run(open(0))
    expect(raw(apdu)).toBe('6982')
    expect(raw('9051000000')).toBe('91AE')
    expect(raw(apdu)).toMatch(/9000$/)
  })

  test('ends the session when the application is selected again', async () => {
    await run(open(0))
    await run(selectApplication())
    expect(raw('9051000000')).toBe('91AE')
  })

  test('changes keys under key 0 alone, and refuses a wrong old key without harm', async () => {
    const newKey = Buffer.alloc(16, 1)
    const wrong = { keyNo: 3, newKey, oldKey: Buffer.alloc(16, 9), version: 1 } as const
    const session = await run(open(0))
    await expect(run(changeKey(session, wrong))).rejects.toThrow(status(0x911e))
    expect(chip.memory.keys[3]).toMatchObject({ key: Buffer.alloc(16), version: 0 })
    const third = await run(open(3))
    const right = { ...wrong, oldKey: Buffer.alloc(16) }
    await expect(run(changeKey(third, right))).rejects.toThrow(status(0x91ae))
    const zeroth = await run(open(0))
    await run(changeKey(zeroth, right))
    await run(changeKey(zeroth, { keyNo: 0, newKey, version: 7 }))
    expect(zeroth.open).toBe(false)
    expect(await run(getKeyVersion(0))).toBe(7)
    expect((await run(open(3, new AesKey(newKey)))).open).toBe(true)
    expect(chip.memory.failedAuthentications).toBe(0)
  })
})

describe('failed authentications', () => {
  const wrong = new AesKey(Buffer.alloc(16, 5))
  const fail = async (times: number, code = 0x91ae): Promise<void> => {
    for (let i = 0; i < times; i += 1) await expect(run(open(0, wrong))).rejects.toThrow(status(code))
  }

  test('are counted, and forgiven by tens', async () => {
    await fail(15)
    expect(chip.memory.keys[0]).toMatchObject({ failedInRow: 15, failedInAll: 15 })
    await run(open(0))
    expect(chip.memory.keys[0]).toMatchObject({ failedInRow: 0, failedInAll: 5 })
    expect(chip.memory.keys[1]).toMatchObject({ failedInAll: 0 })
  })

  test('delay from fifty in a row on, even the right key', async () => {
    await fail(50)
    await expect(run(open(0))).rejects.toThrow(status(0x91ad))
    await fail(1)
    await expect(run(open(0))).rejects.toThrow(status(0x91ad))
    chip = VirtualNtag424.fromJSON(JSON.parse(JSON.stringify(chip.toJSON())), steadyRandom('later'))
    await run(selectApplication())
    await expect(run(open(0))).rejects.toThrow(status(0x91ad))
    await run(open(0))
    expect(chip.memory.keys[0]).toMatchObject({ failedInRow: 0 })
  })

  test('kill the key at a thousand, until it is changed', async () => {
    const slot = chip.memory.keys[3]
    if (slot) Object.assign(slot, { failedInRow: 60, failedInAll: 1000 })
    for (let delayed = 0; delayed < 11; delayed += 1)
      await expect(run(open(3))).rejects.toThrow(status(0x91ad))
    await expect(run(open(3))).rejects.toThrow(status(0x919d))
    const newKey = Buffer.alloc(16, 7)
    const change = { keyNo: 3, newKey, oldKey: Buffer.alloc(16), version: 1 } as const
    await run(changeKey(await run(open(0)), change))
    expect((await run(open(3, new AesKey(newKey)))).open).toBe(true)
  })
})

describe('the tap counter', () => {
  const counted = () => chip.memory.sdmReadCounter
  const read = '00B0000030'

  test('rises once for all chunks of a read, and again after any other command', async () => {
    await withSdm()
    raw('00A4000C02E104')
    raw(read)
    raw('00B0003010')
    raw(read)
    expect(counted()).toBe(1)
    raw('90640000010000')
    raw(read)
    expect(counted()).toBe(2)
    raw('00A4000C02E104')
    raw(read)
    expect(counted()).toBe(3)
  })

  test('shows one tap over all chunks, with the same padding', async () => {
    await withSdm()
    raw('00A4000C02E104')
    expect(raw('00B0001929').slice(0, 64)).toBe(raw('00B0001920').slice(0, 64))
  })

  test('rises for ReadData too, and not under a key, which reads the file as it is', async () => {
    await withSdm()
    await run(readData(NDEF_FILE, 16))
    expect(counted()).toBe(1)
    const session = await run(open(0))
    const own = await run(readData(NDEF_FILE, template.ndef.length, { session }))
    expect(own).toEqual(template.ndef)
    expect(counted()).toBe(1)
  })

  test('makes taps that verify, of all that is mirrored', async () => {
    await withSdm()
    const file = await run(readNdefFile())
    const { piccDataOffset = 0, macInputOffset = 0, macOffset = 0 } = template.settings.sdm ?? {}
    const e = file.toString('ascii', piccDataOffset, piccDataOffset + 32)
    const tap = decryptPiccData(zero, Buffer.from(e, 'hex'))
    expect(tap).toMatchObject({ uid: uidBytes, counter: 1 })
    const covered = file.toString('ascii', macInputOffset, macOffset)
    const c = Buffer.from(file.toString('ascii', macOffset, macOffset + 16), 'hex')
    expect(tap && verifySunMac(zero, tap, covered, c)).toBe(true)
  })

  test('rises again when ReadData follows READ BINARY, and the end of the file cuts a read off', async () => {
    await withSdm()
    raw('00A4000C02E104')
    expect(raw('00B000F820')).toMatch(/^0{16}9000$/)
    await run(readData(NDEF_FILE, 16))
    expect(counted()).toBe(2)
    raw(read)
    expect(counted()).toBe(3)
  })

  test('is told to the key that may know it, and starts again with new settings', async () => {
    await withSdm()
    raw('00A4000C02E104')
    raw(read)
    expect(await run(getFileCounters(NDEF_FILE, await run(open(1))))).toBe(1)
    await expect(run(getFileCounters(NDEF_FILE, await run(open(2))))).rejects.toThrow(status(0x91ae))
    expect(raw('90F60000010200')).toBe('91AE')
    await run(changeFileSettings(await run(open(0)), NDEF_FILE, template.settings))
    expect(counted()).toBe(0)
  })

  test('ends reading at its limit, and at its end', async () => {
    const { sdm } = template.settings
    if (!sdm) throw new Error('The template has SDM')
    await withSdm({ ...template.settings, sdm: { ...sdm, counterLimit: 2 } })
    for (const answer of [/9000$/, /9000$/, /^6982$/]) {
      raw('00A4000C02E104')
      expect(raw(read)).toMatch(answer)
    }
    await withSdm()
    chip.memory.sdmReadCounter = 0xffffff
    raw('00A4000C02E104')
    expect(raw(read)).toBe('6982')
    expect(raw('90AD0000070200000010000000')).toBe('911E')
  })
})

test('is the same chip after it was written down', async () => {
  await withSdm()
  chip = VirtualNtag424.fromJSON(JSON.parse(JSON.stringify(chip.toJSON())), steadyRandom('again'))
  await run(selectApplication())
  await run(readNdefFile())
  expect(chip.memory.sdmReadCounter).toBe(1)
  expect(() => VirtualNtag424.fromJSON({ version: 1 })).toThrow()
})
