import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import {
  foreignChip as foreign,
  theirKeysInHex as hex,
  theirKeys as theirs,
} from '../support/foreign-chips.ts'
import { Chip, inA, nfcSeed, talk } from '../support/nfc.ts'

let t: AdminApp
let lines: string[]
beforeEach(async () => {
  lines = []
  t = await openAdminApp({ seed: nfcSeed, log: (line) => lines.push(line) })
})
afterEach(() => t.close())

const zero = Buffer.alloc(16)

const reset = (chip: Chip, more: object = {}) => talk(t.call, chip.put(), { purpose: 'reset', ...more })
const provision = (chip: Chip, more: object = {}) => talk(t.call, chip.put(), { ...inA, ...more })
const recover = (chip: Chip, more: object = {}) =>
  talk(t.call, chip.put(), { purpose: 'recover', originality: 'emulated', ...more })
const journal = async () => (await t.call('GET /admin/nfc/journal')).body
const isBlank = (chip: Chip): boolean =>
  chip.keys.every((key) => key === zero.toString('hex')) && chip.versions.every((version) => version === 0)
const writeAccess = (chip: Chip) => chip.chip.memory.files.get(1)?.bytes[14]

describe('a chip of another system', () => {
  test('is reset with its keys, with no failed authentication, and its capability file says writable', async () => {
    const chip = foreign()
    const before = await chip.tap()
    expect(before).toMatch(/^https:\/\/card\.example\/ln\?p=[0-9A-F]{32}&c=[0-9A-F]{16}$/)
    expect(await reset(chip, { keys: hex })).toMatchObject({ status: 'factory', uid: chip.uid })
    expect(isBlank(chip)).toBe(true)
    expect(chip.failedAuthentications).toBe(0)
    expect(writeAccess(chip)).toBe(0x00)
    expect(await journal()).toEqual([])
    // A script that runs again does no harm.
    expect(await reset(chip, { keys: hex })).toMatchObject({ status: 'factory' })
    expect(chip.failedAuthentications).toBe(0)
  })

  test('is set up with its keys and --rekey, and its taps are valid', async () => {
    const chip = foreign()
    expect((await t.call('POST /admin/nfc/sessions', { ...inA, keys: hex })).status).toBe(400)
    expect(await provision(chip, { keys: hex, rekey: true })).toMatchObject({
      status: 'provisioned',
      keySet: 201,
    })
    expect(chip.failedAuthentications).toBe(0)
    expect(writeAccess(chip)).toBe(0xff)
    expect((await t.app.inject({ url: await chip.tapPath() })).statusCode).toBe(200)
    // A script that runs again finds a chip of this daemon.
    expect(await provision(chip, { keys: hex, rekey: true })).toMatchObject({ status: 'provisioned' })
    expect(chip.failedAuthentications).toBe(0)
  })

  test.each([
    [[0, 0, 0, 0, 0]],
    [[1, 0, 0, 0, 0]],
    [[0, 1, 1, 1, 1]],
    [[255, 255, 255, 255, 255]],
    [[1, 2, 3, 4, 5]],
  ])('with key versions %j is set up, reset, and recovered', async (versions) => {
    const a = foreign({ versions })
    expect(await provision(a, { keys: hex, rekey: true })).toMatchObject({ status: 'provisioned' })
    const b = foreign({ versions })
    expect(await reset(b, { keys: hex })).toMatchObject({ status: 'factory' })
    expect(isBlank(b)).toBe(true)
    expect([a, b].map((chip) => chip.failedAuthentications)).toEqual([0, 0])
  })

  test('is refused without its keys in words that say how, and leaves no plan', async () => {
    for (const chip of [
      foreign(),
      foreign({ versions: [0, 0, 0, 0, 0] }),
      foreign({ versions: [1, 0, 0, 0, 0] }),
    ]) {
      for (const ended of [await reset(chip), await provision(chip, { rekey: true })]) {
        expect(ended).toMatchObject({ status: 'failed', code: 'ForeignKeys' })
        expect(ended.error).toMatch(/nfc reset --keys FILE/)
        expect(ended.error).not.toMatch(/nfc recover/)
      }
    }
    expect(await journal()).toEqual([])
  })

  test('is refused with keys of another chip before any is tried, since its tap tells', async () => {
    const chip = foreign()
    const others = hex.map((key) => key.replaceAll('5', '6'))
    const ended = await reset(chip, { keys: others })
    expect(ended).toMatchObject({ status: 'failed', code: 'WrongKeys' })
    expect(ended.error).toMatch(/its tap was made with others/)
    expect(chip.failedAuthentications).toBe(0)
    expect(await journal()).toEqual([])
  })

  test('whose tap tells nothing costs one try with wrong keys, and one that names the slot where key 0 is right', async () => {
    const chip = foreign({ hasTap: false })
    const others = hex.map((key) => key.replaceAll('5', '6'))
    expect(await reset(chip, { keys: others })).toMatchObject({ status: 'failed', code: 'WrongKeys' })
    expect(chip.failedAuthentications).toBe(1)
    const ended = await reset(chip, { keys: hex.map((key, keyNo) => (keyNo === 3 ? 'a'.repeat(32) : key)) })
    expect(ended.error).toMatch(/key 0 is right, and key 3 is another/)
    expect(chip.failedAuthentications).toBe(1)
    expect(await journal()).toEqual([])
    expect(await reset(chip, { keys: hex })).toMatchObject({ status: 'factory' })
  })

  test('that its tool has wiped half-way is freed by the same keys', async () => {
    const chip = foreign({ keys: theirs.map((key, keyNo) => (keyNo === 2 || keyNo === 4 ? zero : key)) })
    expect(await reset(chip, { keys: hex })).toMatchObject({ status: 'factory' })
    expect(isBlank(chip)).toBe(true)
    expect(chip.failedAuthentications).toBe(0)
  })

  test('that was begun here is completed by the same command, or freed, with the file again or without', async () => {
    const order = { ...inA, keys: hex, rekey: true }
    for (const apdu of [33, 38, 42, 47]) {
      const torn = async (): Promise<Chip> => {
        const chip = foreign({ versions: [1, 0, 0, 0, 0] })
        await expect(talk(t.call, chip.put({ apdu, when: 'after' }), order)).rejects.toThrow(CardGone)
        return chip
      }
      const again = await torn()
      expect(await talk(t.call, again.put(), order)).toMatchObject({ status: 'provisioned' })
      const freed = await torn()
      expect(await reset(freed, { keys: hex })).toMatchObject({ status: 'factory' })
      const freedWithout = await torn()
      expect(await reset(freedWithout)).toMatchObject({ status: 'factory' })
      expect([freed, freedWithout].map(isBlank)).toEqual([true, true])
      for (const chip of [again, freed, freedWithout]) expect(chip.failedAuthentications).toBe(0)
    }
    expect(await journal()).toEqual([])
  })

  test('is not another one than was named', async () => {
    const [chip, other] = [foreign(), foreign()]
    const ended = await reset(chip, { keys: hex, uid: other.uid })
    expect(ended).toMatchObject({ status: 'failed', code: 'conflict' })
    expect(ended.error).toContain(`${chip.uid}, not ${other.uid}`)
    expect(chip.failedAuthentications).toBe(0)
    expect(await reset(chip, { keys: hex, uid: chip.uid })).toMatchObject({ status: 'factory' })
  })

  test('does not take the place of a registered chip, unless its keys prove it', async () => {
    const chip = new Chip()
    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
    const copy = foreign()
    copy.chip.memory.uid = chip.chip.memory.uid
    const { body } = await t.call('POST /admin/admin-tokens', { name: 'table', scopes: ['provision'] })
    const headers = { authorization: `Bearer ${body.token}` }
    for (const order of [{ purpose: 'reset' }, { ...inA, rekey: true }]) {
      const ended = await talk(t.call, copy.put(), { ...order, keys: hex }, { headers })
      expect(ended.error).toMatch(/a chip with its UID is registered and in use/)
    }
    expect(copy.versions).toEqual([1, 1, 1, 1, 1])
  })
})

describe('a blank chip whose key versions are not 0', () => {
  test.each([[[1, 1, 1, 1, 1]], [[1, 0, 0, 0, 0]], [[0, 1, 1, 1, 1]], [[255, 255, 255, 255, 255]]])(
    '%j is set up after one try of the public key, which has to be asked for',
    async (versions) => {
      const blank = { versions, keys: [zero, zero, zero, zero, zero], hasTap: false }
      const chip = foreign(blank)
      const refused = await provision(chip)
      expect(refused.error).toMatch(/--try-factory-keys/)
      expect(await provision(chip, { tryFactoryKeys: true })).toMatchObject({ status: 'provisioned' })
      const other = foreign(blank)
      expect(await reset(other, { tryFactoryKeys: true })).toMatchObject({ status: 'factory' })
      expect(isBlank(other)).toBe(true)
      expect([chip, other].map((one) => one.failedAuthentications)).toEqual([0, 0])
    },
  )

  test('and that is none costs one failed authentication, and is left alone', async () => {
    const chip = foreign({ hasTap: false })
    expect(await provision(chip, { tryFactoryKeys: true })).toMatchObject({ code: 'WrongKeys' })
    expect(chip.failedAuthentications).toBe(1)
    expect(await journal()).toEqual([])
  })
})

describe('a chip that shows a random UID', () => {
  const variant = { randomId: true }

  test('is set up with its keys, tapped, given new keys and reset, and known again by its taps', async () => {
    const chip = foreign({ variant })
    expect(await provision(chip, { keys: hex, rekey: true })).toMatchObject({
      status: 'provisioned',
      uid: chip.uid,
    })
    expect((await t.app.inject({ url: await chip.tapPath() })).statusCode).toBe(200)
    expect(await provision(chip)).toMatchObject({ status: 'unchanged', uid: chip.uid })
    expect(await recover(chip)).toMatchObject({ status: 'provisioned', uid: chip.uid })
    expect(await provision(chip, { rekey: true })).toMatchObject({ status: 'provisioned', uid: chip.uid })
    expect(await reset(chip)).toMatchObject({ status: 'factory', uid: chip.uid })
    // Blank, it has a public key to ask for its UID.
    expect(await provision(chip)).toMatchObject({ status: 'provisioned', uid: chip.uid })
    expect(chip.failedAuthentications).toBe(0)
  })

  test('is refused without its keys before any is tried', async () => {
    const chip = foreign({ variant })
    for (const ended of [await provision(chip, { rekey: true }), await reset(chip)]) {
      expect(ended).toMatchObject({ status: 'failed', code: 'RandomIdChip', uid: null })
      expect(ended.error).toMatch(/--keys FILE/)
    }
    expect(chip.failedAuthentications).toBe(0)
  })
})

describe('a chip whose counter is at its end', () => {
  test('begins a new count with new keys', async () => {
    const chip = new Chip()
    await provision(chip)
    chip.chip.memory.sdmReadCounter = 0xffffff
    expect(await provision(chip)).toMatchObject({
      code: 'CounterAtEnd',
      error: expect.stringContaining('--rekey'),
    })
    expect(await provision(chip, { rekey: true })).toMatchObject({ status: 'provisioned' })
    expect((await t.app.inject({ url: await chip.tapPath() })).statusCode).toBe(200)
  })

  test('also where its new keys were begun, and where another system had set it up', async () => {
    const chip = new Chip()
    await provision(chip)
    chip.chip.memory.sdmReadCounter = 0xffffff
    const torn = talk(t.call, chip.put({ apdu: 30, when: 'after' }), { ...inA, rekey: true })
    await expect(torn).rejects.toThrow(CardGone)
    expect(await recover(chip)).toMatchObject({ status: 'provisioned' })
    const other = foreign()
    other.chip.memory.sdmReadCounter = 0xffffff
    expect(await provision(other, { keys: hex, rekey: true })).toMatchObject({ status: 'provisioned' })
    for (const one of [chip, other])
      expect((await t.app.inject({ url: await one.tapPath() })).statusCode).toBe(200)
  })
})

describe('keys of an owner', () => {
  test('are in no journal, audit entry, answer or log line in plain, and are forgotten when the chip is done', async () => {
    const chip = foreign()
    await expect(
      talk(t.call, chip.put({ apdu: 40, when: 'after' }), { ...inA, keys: hex, rekey: true }),
    ).rejects.toThrow(CardGone)
    const rows = async () => JSON.stringify(await t.ctx.db.read.selectFrom('nfcPlans').selectAll().execute())
    const [open] = await t.ctx.db.read.selectFrom('nfcPlans').selectAll().execute()
    expect(open?.suppliedKeys?.length).toBeGreaterThan(80)
    const audit = JSON.stringify(await t.audit('limit=50'))
    const shown = JSON.stringify(await journal())
    expect(shown).toContain('"supplied":[1,1,1,1,1]')
    for (const text of [await rows(), audit, shown, lines.join('\n')])
      for (const key of theirs)
        for (const form of ['hex', 'base64', 'latin1'] as const)
          expect(text).not.toContain(key.toString(form))
    expect(await recover(chip)).toMatchObject({ status: 'provisioned' })
    for (const row of await t.ctx.db.read.selectFrom('nfcPlans').selectAll().execute())
      expect(row.suppliedKeys).toBeNull()
  })
})
