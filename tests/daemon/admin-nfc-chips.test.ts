import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { testSignature } from '../../src/nfc/emulator/originality-test-key.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { Chip, inA, keySets, nfcSeed, talk } from '../support/nfc.ts'

// The kinds of chip that lie in a box.

let t: AdminApp
beforeAll(async () => {
  t = await openAdminApp({ seed: nfcSeed })
})
afterAll(() => t.close())

const provision = (chip: Chip, more: object = {}) => talk(t.call, chip.put(), { ...inA, ...more })
const recover = (chip: Chip) => talk(t.call, chip.put(), { purpose: 'recover' })
const reset = (chip: Chip) => talk(t.call, chip.put(), { purpose: 'reset' })
const journal = async (chip: Chip) => (await t.call(`GET /admin/nfc/journal?all=true&uid=${chip.uid}`)).body
const state = (chip: Chip): string => JSON.stringify(chip.chip.toJSON())
const loop = (chip: Chip) => chip.chip.memory.tamper
/** The URL that it shows once it was lifted and put down again, since it measures its loop only then. */
const nextTap = (chip: Chip): Promise<string> => {
  chip.chip.powerOff()
  return chip.tap()
}

describe('a blank chip whose maker is not proven', () => {
  const another = testSignature(Buffer.from('04000000000001', 'hex'))

  test.each([
    ['without a signature', 'none' as const, /it gave no originality signature/],
    ["with another chip's signature", another, /its originality signature belongs to another chip/],
  ])(
    '%s is refused before anything is written, and taken by who vouches for it',
    async (_, signature, why) => {
      const chip = new Chip(undefined, { signature })
      const before = state(chip)
      for (const originality of ['genuine', 'emulated']) {
        const ended = await provision(chip, { originality })
        expect(ended).toMatchObject({ status: 'failed', code: 'NotGenuine', uid: chip.uid })
        expect(ended.error).toMatch(why)
        expect(ended.error).toContain('--allow-unsigned')
      }
      expect(state(chip)).toBe(before)
      expect(await journal(chip)).toEqual([])
      await expect(
        talk(t.call, chip.put({ apdu: 13, when: 'after' }), { ...inA, originality: 'any' }),
      ).rejects.toThrow(CardGone)
      // Its plan knows that it was taken in.
      expect(await recover(chip)).toMatchObject({ status: 'provisioned' })
      expect(await provision(chip, { originality: 'genuine' })).toMatchObject({ status: 'unchanged' })
      expect(await provision(chip, { originality: 'genuine', rekey: true })).toMatchObject({
        status: 'provisioned',
      })
    },
  )

  test('gets no keys through an open plan, of its own reset or of the chip whose UID it copies', async () => {
    const unsigned = new Chip(undefined, { signature: 'none' })
    const torn = talk(t.call, unsigned.put({ apdu: 21, when: 'after' }), { purpose: 'reset' })
    await expect(torn).rejects.toThrow(CardGone)
    expect(await journal(unsigned)).toMatchObject([{ purpose: 'reset', closedAt: null }])
    expect(await provision(unsigned)).toMatchObject({ status: 'failed', code: 'NotGenuine' })

    const chip = new Chip()
    await expect(talk(t.call, chip.put({ apdu: 13, when: 'after' }), inA)).rejects.toThrow(CardGone)
    const copy = new Chip(chip.chip.memory.uid, { signature: 'none' })
    for (const again of [recover, provision]) {
      expect(await again(copy)).toMatchObject({ status: 'failed', code: 'NotGenuine' })
      expect(copy.versions).toEqual([0, 0, 0, 0, 0])
    }
    expect(await recover(chip)).toMatchObject({ status: 'provisioned' })
  })

  test('is a virtual one, where only genuine ones are wanted', async () => {
    const ended = await provision(new Chip(), { originality: 'genuine' })
    expect(ended).toMatchObject({ status: 'failed', code: 'NotGenuine' })
  })
})

describe('a TagTamper', () => {
  const tagTamper = (): Chip => new Chip(undefined, { tamper: true })

  test('has its loop enabled, its status shown under the MAC, and both again after a tear anywhere', async () => {
    const whole = tagTamper()
    const url = `http://127.0.0.1:8484/t?d=201&e=${'0'.repeat(32)}&t=00&c=${'0'.repeat(16)}`
    expect(await provision(whole)).toMatchObject({ status: 'provisioned', url })
    // 15 APDUs come before the keys.
    for (let apdu = 16; apdu <= 26; apdu += 1) {
      const chip = tagTamper()
      const torn = talk(t.call, chip.put({ apdu, when: 'after' }), inA)
      await expect(torn).rejects.toThrow(CardGone)
      expect(await recover(chip)).toMatchObject({ status: 'provisioned' })
      expect(loop(chip)).toMatchObject({ enabled: true })
      expect(await nextTap(chip)).toMatch(/&t=CC&c=/)
    }
    const memory = loop(whole)
    if (memory) memory.current = 'O'
    expect(await nextTap(whole)).toMatch(/&e=[0-9A-F]{32}&t=OO&c=/)
    const seal = async () => (await t.call(`GET /admin/chips/${whole.uid}`)).body.tamper
    expect(await seal()).toBeNull()
    expect((await t.call(`GET ${await whole.tapPath('/chips/find')}`)).body.isValidTap).toBe(true)
    expect(await seal()).toBe('open')
    if (memory) memory.current = 'C'
    expect(await nextTap(whole)).toMatch(/&t=OC&c=/)
    const warning = expect.stringContaining('The loop of this chip is open')
    expect(await provision(whole)).toMatchObject({ status: 'unchanged', warning })
    const again = await provision(whole, { rekey: true })
    expect(again).toMatchObject({ status: 'provisioned', warning })
    expect(await reset(whole)).toMatchObject({ status: 'factory' })
    // For good, as the data sheet says.
    expect(loop(whole)).toMatchObject({ enabled: true, permanent: 'O' })
  })

  test('of a key set whose MAC covers no text shows no status, since anyone could change it', async () => {
    const silent = { ...keySets.a, id: 211, macInputFrom: null }
    expect((await t.call('POST /admin/key-sets', silent)).status).toBe(200)
    const chip = tagTamper()
    expect(await provision(chip, { keySet: 211 })).toMatchObject({ status: 'provisioned' })
    expect(await nextTap(chip)).not.toContain('t=')
    expect(loop(chip)).toMatchObject({ enabled: false })
  })

  test('that was set up before its loop was known is left as it is', async () => {
    const chip = new Chip()
    await provision(chip)
    chip.chip.memory.tamper = { enabled: false, keyNo: 14, permanent: 'C', current: 'C' }
    expect(await provision(chip)).toMatchObject({ status: 'unchanged' })
    expect(await provision(chip, { rekey: true })).toMatchObject({ status: 'provisioned' })
    expect(await nextTap(chip)).toContain('&t=CC')
  })
})

describe('a reset', () => {
  test('says factory only when every key is, and names the one that is not', async () => {
    const chip = new Chip()
    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
    expect(await reset(chip)).toMatchObject({ status: 'factory' })
    const hidden = chip.chip.memory.keys[3]
    if (hidden) hidden.key = Buffer.alloc(16, 9)
    for (const again of [recover, reset]) {
      const ended = await again(chip)
      expect(ended).toMatchObject({ status: 'failed', code: 'ForeignKeyInSlot' })
      expect(ended.error).toMatch(/^Key 3 of the chip.*nfc reset --keys FILE.*use another chip/)
    }
    expect(chip.failedAuthentications).toBe(0)
  })
})
