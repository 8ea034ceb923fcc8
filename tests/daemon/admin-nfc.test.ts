import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { Chip, inA, keySets, nfcSeed, talk } from '../support/nfc.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({ seed: nfcSeed })
})
afterEach(() => t.close())

const provision = (chip: Chip, more: object = {}) => talk(t.call, chip.put(), { ...inA, ...more })
const shown = async (chip: Chip) => (await t.call(`GET /admin/chips/${chip.uid}`)).body
const find = async (path: string) => (await t.app.inject({ url: path })).json()

describe('setting a chip up', () => {
  test('gives it keys, registers it, and its next tap is valid once', async () => {
    const chip = new Chip()
    const ended = await provision(chip, { label: 'J-1', item: 'jacket', variant: 's' })
    expect(ended).toEqual({
      status: 'provisioned',
      uid: chip.uid,
      keySet: 201,
      url: `http://127.0.0.1:8484/t?d=201&e=${'0'.repeat(32)}&c=${'0'.repeat(16)}`,
    })
    expect(chip.versions).toEqual([1, 1, 1, 1, 1])
    expect(chip.failedAuthentications).toBe(0)
    expect(await shown(chip)).toMatchObject({
      keySet: 201,
      generation: 0,
      label: 'J-1',
      chipGroup: { name: 'Jackets' },
      item: { id: 'jacket', variant: 's' },
      lastCounter: chip.chip.memory.sdmReadCounter,
      isSimulated: false,
    })
    const path = await chip.tapPath()
    const page = await t.app.inject({ url: path })
    expect(page.statusCode).toBe(200)
    expect((await t.app.inject({ url: path })).statusCode).toBe(410)
    expect((await find(await chip.tapPath('/chips/find'))).isValidTap).toBe(true)
  })
})
