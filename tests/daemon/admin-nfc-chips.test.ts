import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { testSignature } from '../../src/nfc/emulator/originality-test-key.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { Chip, inA, nfcSeed, talk } from '../support/nfc.ts'

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

describe('a blank chip whose maker is not proven', () => {
  const another = testSignature(Buffer.from('04000000000001', 'hex'))

  test.each([
    ['without a signature', 'none' as const, /it has no originality signature/],
    ["with another chip's signature", another, /its originality signature is not for its UID/],
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
        talk(t.call, chip.put({ apdu: 17, when: 'after' }), { ...inA, originality: 'any' }),
      ).rejects.toThrow(CardGone)
      // It was asked when its plan was made.
      expect(await recover(chip)).toMatchObject({ status: 'provisioned' })
      expect(await provision(chip, { originality: 'genuine' })).toMatchObject({ status: 'unchanged' })
      expect(await provision(chip, { originality: 'genuine', rekey: true })).toMatchObject({
        status: 'provisioned',
      })
    },
  )

  test('is a virtual one, where only genuine ones are wanted', async () => {
    const ended = await provision(new Chip(), { originality: 'genuine' })
    expect(ended).toMatchObject({ status: 'failed', code: 'NotGenuine' })
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
      expect(ended.error).toMatch(/^Key 3 of the chip.*use another chip/)
    }
    expect(chip.failedAuthentications).toBe(0)
  })
})
