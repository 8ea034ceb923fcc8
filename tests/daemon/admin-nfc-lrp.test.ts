import { afterEach, beforeEach, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { foreignChip, theirKeysInHex as keys } from '../support/foreign-chips.ts'
import { Chip, inA, keySets, nfcSeed, talk } from '../support/nfc.ts'

const ofLrp = { ...keySets.a, id: 212, mode: 'lrp' }

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({ seed: nfcSeed })
  expect((await t.call('POST /admin/key-sets', ofLrp)).body).toMatchObject({ id: 212, mode: 'lrp' })
})
afterEach(() => t.close())

const provision = (chip: Chip, more: object = {}) => talk(t.call, chip.put(), { ...inA, ...more })
const reset = (chip: Chip, more: object = {}) => talk(t.call, chip.put(), { purpose: 'reset', ...more })
const recover = (chip: Chip) => talk(t.call, chip.put(), { purpose: 'recover', originality: 'emulated' })
const journal = async () => (await t.call('GET /admin/nfc/journal')).body
const opens = async (chip: Chip) => (await t.app.inject({ url: await chip.tapPath() })).statusCode

test('a key set of mode lrp switches chips to LRP mode, and their taps are valid', async () => {
  const chip = new Chip()
  expect(await provision(chip, { keySet: 212 })).toMatchObject({ status: 'provisioned', keySet: 212 })
  expect(chip.chip.memory.lrp).toBe(true)
  expect(await chip.tap()).toMatch(/\?d=212&e=[0-9A-F]{48}&c=[0-9A-F]{16}$/)
  expect(await opens(chip)).toBe(200)
  expect(await provision(chip, { keySet: 212 })).toMatchObject({ status: 'unchanged' })
  expect(await provision(chip, { keySet: 212, rekey: true })).toMatchObject({ status: 'provisioned' })
  expect(await opens(chip)).toBe(200)
  // A chip stays in LRP mode, also under a key set that sets others up in AES mode.
  expect(await provision(chip, { keySet: 201, rekey: true })).toMatchObject({
    status: 'provisioned',
    keySet: 201,
  })
  expect(await opens(chip)).toBe(200)
  expect(await provision(chip)).toMatchObject({ status: 'unchanged' })
  expect(await reset(chip)).toMatchObject({ status: 'factory' })
  expect(chip.failedAuthentications).toBe(0)
  expect(await journal()).toEqual([])
})

test('a blank chip in LRP mode is set up in it by any key set', async () => {
  const chip = new Chip(undefined, { lrp: true })
  expect(await provision(chip, { label: 'L-1' })).toMatchObject({ status: 'provisioned' })
  expect(await opens(chip)).toBe(200)
  expect((await t.call(`GET /admin/chips/${chip.uid}`)).body).toMatchObject({ label: 'L-1', keySet: 201 })
  expect(await journal()).toEqual([])
})

test.each([{ lrp: true }, { lrp: true, randomId: true }])(
  'a chip of another system in LRP mode (%j) is set up and reset with its keys',
  async (variant) => {
    const chip = foreignChip({ variant, hasTap: false, versions: [1, 0, 0, 0, 0] })
    expect(await provision(chip, { keys, rekey: true })).toMatchObject({ status: 'provisioned' })
    expect(await opens(chip)).toBe(200)
    const other = foreignChip({ variant, hasTap: false })
    expect(await reset(other, { keys })).toMatchObject({ status: 'factory', uid: other.uid })
    expect([chip, other].map((one) => one.failedAuthentications)).toEqual([0, 0])
  },
)

test('torn at every fourth APDU, the switch is completed by recover', async () => {
  for (let apdu = 13; apdu <= 45; apdu += 4) {
    const chip = new Chip()
    const torn = talk(t.call, chip.put({ apdu, when: 'after' }), { ...inA, keySet: 212 })
    await expect(torn).rejects.toThrow(CardGone)
    expect({ apdu, ...(await recover(chip)) }).toMatchObject({ apdu, status: 'provisioned' })
    expect(chip.chip.memory.lrp).toBe(true)
    expect(await opens(chip)).toBe(200)
    expect(chip.failedAuthentications).toBe(0)
  }
})
