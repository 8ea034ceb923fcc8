import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import type { TearOff } from '../../src/nfc/emulator/card.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { ageLeases } from '../support/engines.ts'
import { Chip, inA, keySets, nfcSeed, talk } from '../support/nfc.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({ seed: nfcSeed })
})
afterEach(() => t.close())

const provision = (chip: Chip, more: object = {}) => talk(t.call, chip.put(), { ...inA, ...more })
const recover = (chip: Chip) => talk(t.call, chip.put(), { purpose: 'recover' })
const reset = (chip: Chip) => talk(t.call, chip.put(), { purpose: 'reset' })
const tornAt = async (chip: Chip, tear: TearOff, body: object = inA) => {
  await expect(talk(t.call, chip.put(tear), { ...body })).rejects.toThrow(CardGone)
}
const shown = async (chip: Chip) => (await t.call(`GET /admin/chips/${chip.uid}`)).body
const journal = async (query = '') => (await t.call(`GET /admin/nfc/journal${query}`)).body
const isValid = async (path: string) => (await t.app.inject({ url: path })).json().isValidTap

const firstKeyApdu = 14

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
    expect((await t.app.inject({ url: path })).statusCode).toBe(200)
    expect((await t.app.inject({ url: path })).statusCode).toBe(410)
    expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
  })

  test('takes the tap that the chip showed while it was read back', async () => {
    const chip = new Chip()
    const urls: string[] = []
    await talk(t.call, chip.put(), inA, {
      onStep: ({ body }) => {
        urls.push(...body.next.apdus)
      },
    })
    const [tap] = (await t.call('GET /admin/taps')).body
    const { sdmReadCounter: counter } = chip.chip.memory
    expect(tap).toMatchObject({ uid: chip.uid, outcome: 'valid', counter, via: 'setup' })
    expect(urls.length).toBeLessThan(45)
  })

  test('takes 8 round trips without details, as a recovery and a reset do, and 3 when there is nothing to do', async () => {
    const chip = new Chip()
    const bursts: { phase: string; apdus: string[] }[] = []
    const tripsOf = async (body: object): Promise<number> => {
      bursts.length = 0
      await talk(
        t.call,
        chip.put(),
        { ...body },
        { onStep: (answered) => void bursts.push(answered.body.next) },
      )
      // One more opens the session.
      return 1 + bursts.length
    }
    expect(await tripsOf(inA)).toBe(8)
    const lifted = bursts.findIndex(({ phase }) => phase === 'read-back')
    expect(bursts.slice(0, lifted).flatMap(({ apdus }) => apdus)).toHaveLength(25)
    expect(await tripsOf(inA)).toBe(3)
    expect(await tripsOf({ purpose: 'recover' })).toBe(3)
    await tornAt(chip, { apdu: 16, when: 'after' }, { ...inA, rekey: true })
    expect(await tripsOf({ purpose: 'recover' })).toBe(8)
    expect(await tripsOf({ purpose: 'reset' })).toBe(8)
    expect(chip.versions).toEqual([0, 0, 0, 0, 0])
  })

  test('makes the chip group that is missing, once, and records every change', async () => {
    await provision(new Chip(), { chipGroup: 'New ones' })
    const chip = new Chip()
    await provision(chip, { chipGroup: 'New ones' })
    expect(await shown(chip)).toMatchObject({ chipGroup: { name: 'New ones' } })
    const actions = (await t.audit('limit=20')).map(({ action }) => action)
    expect(actions.filter((action) => action === 'chip-groups.create')).toHaveLength(1)
    const [finished, registered, started] = (await t.audit()).filter(({ target }) => target === chip.uid)
    expect(started).toMatchObject({
      action: 'nfc.provision',
      actor: 'admin:root',
      detail: { phase: 'started', keySet: 201, generation: 0, from: ['factory'] },
    })
    expect(registered).toMatchObject({ action: 'chips.provision', team: 'Acme', detail: { before: null } })
    expect(finished).toMatchObject({ action: 'nfc.provision', detail: { phase: 'finished' } })
  })

  test('of one that is set up already changes nothing, and tries no key', async () => {
    const chip = new Chip()
    await provision(chip)
    const { lastCounter } = await shown(chip)
    const before = JSON.stringify(chip.chip.memory.keys)
    expect(await provision(chip)).toMatchObject({ status: 'unchanged', uid: chip.uid, keySet: 201 })
    expect(JSON.stringify(chip.chip.memory.keys)).toBe(before)
    expect((await shown(chip)).lastCounter).toBe(lastCounter)
    expect(await journal()).toEqual([])
    expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
  })

  test('registers one that has its keys already and was removed, and its old taps stay dead', async () => {
    const chip = new Chip()
    await provision(chip)
    const old = await chip.tapPath('/chips/find')
    await t.call(`DELETE /admin/chips/${chip.uid}`)
    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
    expect(await shown(chip)).toMatchObject({ generation: 0, keySet: 201 })
    expect(await isValid(old)).toBe(false)
    expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
  })

  test('gives a chip of an imported list the next generation, and keeps what the list says', async () => {
    const chip = new Chip()
    await t.call(
      'POST /admin/chips/import?team=Acme&chipGroup=Jackets&keySet=201',
      `uid,label\n${chip.uid},L-1\n`,
      { ...t.admin, 'content-type': 'text/csv' },
    )
    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
    expect(await shown(chip)).toMatchObject({ generation: 1, label: 'L-1' })
    expect(chip.versions).toEqual([2, 2, 2, 2, 2])
    expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
  })

  test('works under other parameter names, and under the derivation none', async () => {
    const other = new Chip()
    expect(await provision(other, { keySet: keySets.b.id })).toMatchObject({ status: 'provisioned' })
    expect(await other.tapPath()).toMatch(/^\/t\?set=202&picc=[0-9A-F]{32}&mac=[0-9A-F]{16}$/)
    expect(await isValid(await other.tapPath('/chips/find'))).toBe(true)
    const one = new Chip()
    expect(await provision(one, { keySet: keySets.one.id })).toMatchObject({ status: 'provisioned' })
    expect(await isValid(await one.tapPath('/chips/find'))).toBe(true)
  })
})

describe('what is refused before the chip is touched', () => {
  const untouched = async (chip: Chip, more: object, error: RegExp) => {
    const before = JSON.stringify(chip.chip.toJSON())
    const ended = await provision(chip, more)
    expect(ended).toMatchObject({ status: 'failed', uid: chip.uid })
    expect(ended.error).toMatch(error)
    expect(JSON.parse(JSON.stringify(chip.chip.toJSON())).keys).toEqual(JSON.parse(before).keys)
    expect(await journal()).toEqual([])
  }

  test('a label that another chip has', async () => {
    await provision(new Chip(), { label: 'J-1' })
    await untouched(new Chip(), { label: 'J-1' }, /label "J-1" belongs to/i)
  })

  test('an item that is not there, in a group that is still to be made', async () => {
    await untouched(new Chip(), { chipGroup: 'Fresh', item: 'none' }, /item/i)
    expect((await t.call('GET /admin/chip-groups?team=Acme')).body).toHaveLength(1)
  })

  test("another team's chip, and one of another group", async () => {
    const chip = new Chip()
    await provision(chip)
    await untouched(chip, { team: 'Other' }, /another team/)
    await untouched(chip, { chipGroup: 'Elsewhere' }, /another chip group/)
    await untouched(chip, { label: 'new' }, /different label/)
  })

  test('a chip of another key set, without --rekey', async () => {
    const chip = new Chip()
    await provision(chip, { keySet: keySets.b.id })
    await untouched(chip, {}, /set up with the key set 202, not 201.*--rekey/)
    expect(chip.failedAuthentications).toBe(0)
  })

  test('a chip with keys that nobody here knows', async () => {
    const chip = new Chip()
    for (const slot of chip.chip.memory.keys) Object.assign(slot, { key: Buffer.alloc(16, 7), version: 1 })
    await untouched(chip, {}, /keys that are not the expected ones/)
    await untouched(chip, { rekey: true }, /keys that are not the expected ones/)
    expect(chip.failedAuthentications).toBe(0)
    expect(await reset(chip)).toMatchObject({ status: 'failed', code: 'ForeignKeys' })
    expect(await recover(chip)).toMatchObject({ status: 'failed', code: 'not_found' })
    expect(chip.failedAuthentications).toBe(0)
  })

  test('a chip whose settings nobody can change any more', async () => {
    const chip = new Chip()
    const ndef = chip.chip.memory.files.get(2)
    if (ndef) ndef.settings = Buffer.from('00EFEE', 'hex')
    await untouched(chip, {}, /locked/)
    expect(chip.failedAuthentications).toBe(0)
  })

  test('a disabled chip', async () => {
    const chip = new Chip()
    await provision(chip)
    await t.call(`POST /admin/chips/${chip.uid}/disable`, {})
    await untouched(chip, { rekey: true }, /disabled/)
  })
})

describe('giving a chip new keys', () => {
  test('of the same key set is the next generation: old taps stay dead, new ones count from the live tap', async () => {
    const chip = new Chip()
    await provision(chip)
    for (let i = 0; i < 5; i += 1) await chip.tap()
    const old = await chip.tapPath('/chips/find')
    expect(await provision(chip, { rekey: true })).toMatchObject({ status: 'provisioned' })
    expect(chip.versions).toEqual([2, 2, 2, 2, 2])
    expect(await shown(chip)).toMatchObject({
      generation: 1,
      lastCounter: chip.chip.memory.sdmReadCounter,
    })
    expect(await isValid(old)).toBe(false)
    expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
  })

  test('of another key set moves it there and back, never to keys that it had', async () => {
    const chip = new Chip()
    await provision(chip)
    const first = await chip.tapPath('/chips/find')
    await provision(chip, { keySet: keySets.b.id, rekey: true })
    expect(await shown(chip)).toMatchObject({ keySet: 202, generation: 1 })
    const second = await chip.tapPath('/chips/find')
    await provision(chip, { rekey: true })
    expect(await shown(chip)).toMatchObject({ keySet: 201, generation: 2 })
    expect([await isValid(first), await isValid(second)]).toEqual([false, false])
    // Registered again by an import under a key set that it had, it does not begin anew.
    await t.call(`DELETE /admin/chips/${chip.uid}`)
    const csv = { ...t.admin, 'content-type': 'text/csv' }
    for (const keySet of [201, 202]) {
      const query = `team=Acme&chipGroup=Jackets&keySet=${keySet}`
      await t.call(`POST /admin/chips/import?${query}`, `uid\n${chip.uid}\n`, csv)
      expect([await isValid(first), await isValid(second)]).toEqual([false, false])
      await t.call(`DELETE /admin/chips/${chip.uid}`)
    }
  })

  test('is refused where all chips of the key set have one key', async () => {
    const chip = new Chip()
    await provision(chip, { keySet: keySets.one.id })
    const again = await provision(chip, { keySet: keySets.one.id, rekey: true })
    expect(again).toMatchObject({ status: 'failed', code: 'conflict' })
    expect(again.error).toMatch(/old taps would become valid again/)
    await reset(chip)
    expect(await provision(chip, { keySet: keySets.one.id })).toMatchObject({ status: 'failed' })
    await t.call(`DELETE /admin/chips/${chip.uid}`)
    expect(await provision(chip, { keySet: keySets.one.id })).toMatchObject({ status: 'failed' })
    expect(await provision(chip)).toMatchObject({ status: 'provisioned', keySet: 201 })
  })

  test('works for a chip that the registry has lost, once its tap has proven what it has', async () => {
    const chip = new Chip()
    await provision(chip)
    await t.call(`DELETE /admin/chips/${chip.uid}`)
    await t.ctx.db.write((trx) => trx.deleteFrom('nfcPlans').execute())
    await t.ctx.db.write((trx) => trx.deleteFrom('removedChips').execute())
    expect(await provision(chip, { keySet: keySets.b.id, rekey: true })).toMatchObject({
      status: 'provisioned',
    })
    expect(await shown(chip)).toMatchObject({ keySet: 202, generation: 1 })
    expect(chip.failedAuthentications).toBe(0)
  })

  test('is what another base URL takes: without it the chip is left as it is', async () => {
    const chip = new Chip()
    await provision(chip)
    Object.assign(t.ctx, { baseUrl: 'https://new.example' })
    expect(await provision(chip)).toMatchObject({ status: 'failed', code: 'OtherTemplate' })
    expect(await provision(chip, { rekey: true })).toMatchObject({ status: 'provisioned' })
    expect(await chip.tap()).toMatch(/^https:\/\/new\.example\/t\?d=201&/)
    expect(await shown(chip)).toMatchObject({ generation: 1 })
  })

  test('goes on until the generations have run out', async () => {
    const chip = new Chip()
    await provision(chip)
    await t.ctx.db.write((trx) => trx.updateTable('chips').set({ generation: 254 }).execute())
    const before = JSON.stringify(chip.chip.memory.keys)
    expect(await provision(chip, { rekey: true })).toMatchObject({ status: 'failed', code: 'RangeError' })
    expect(JSON.stringify(chip.chip.memory.keys)).toBe(before)
    expect(await journal()).toEqual([])
  })

  test('makes a simulated chip a physical one', async () => {
    const chip = new Chip()
    await t.call(
      'POST /admin/chips/import?team=Acme&chipGroup=Jackets&keySet=201&simulated=true',
      `uid\n${chip.uid}\n`,
      { ...t.admin, 'content-type': 'text/csv' },
    )
    await t.call(`POST /admin/chips/${chip.uid}/simulate`, { count: 100 })
    await provision(chip)
    expect(await shown(chip)).toMatchObject({ isSimulated: false, generation: 1 })
    expect((await t.call(`POST /admin/chips/${chip.uid}/simulate`, {})).status).toBe(409)
  })
})

describe('a chip that was lifted too early', () => {
  test('stands in the journal, with no key in it, until it is recovered', async () => {
    const chip = new Chip()
    await tornAt(chip, { apdu: firstKeyApdu + 1, when: 'after' }, { ...inA, label: 'J-1' })
    const open = await journal()
    expect(open).toMatchObject([
      {
        uid: chip.uid,
        purpose: 'provision',
        from: ['factory'],
        target: { keySet: 201, generation: 0 },
        openedBy: 'admin:root',
        problem: expect.stringContaining('lifted too early'),
        closedAt: null,
      },
    ])
    expect((await t.call(`GET /admin/chips/${chip.uid}`)).status).toBe(404)
    expect(await recover(chip)).toEqual({
      status: 'provisioned',
      uid: chip.uid,
      keySet: 201,
      url: open[0].url,
    })
    expect(await shown(chip)).toMatchObject({ label: 'J-1', generation: 0 })
    expect(await journal()).toEqual([])
    expect(await journal('?all=true')).toMatchObject([{ outcome: 'done', closedBy: 'admin:root' }])
    expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
    expect(await recover(chip)).toMatchObject({ status: 'provisioned' })
  })

  test('is recovered by provisioning as well, with the details of that request', async () => {
    const chip = new Chip()
    await tornAt(chip, { apdu: 16, when: 'after' }, { ...inA, label: 'J-1' })
    const other = new Chip()
    await provision(other, { label: 'J-1' })
    expect(await provision(chip, { label: 'J-2' })).toMatchObject({ status: 'provisioned' })
    expect(await shown(chip)).toMatchObject({ label: 'J-2', generation: 0 })
  })

  test('can be reset instead, and set up again under the next generation', async () => {
    const chip = new Chip()
    await tornAt(chip, { apdu: 16, when: 'after' })
    expect(await reset(chip)).toMatchObject({ status: 'factory', uid: chip.uid })
    expect(chip.versions).toEqual([0, 0, 0, 0, 0])
    expect(chip.keys).toEqual(Array(5).fill('0'.repeat(32)))
    const outcomes = (await journal('?all=true')).map(({ outcome }: { outcome: string }) => outcome)
    expect(outcomes).toEqual(['done', 'superseded'])
    await provision(chip)
    expect(await shown(chip)).toMatchObject({ generation: 1 })
  })

  test('is left alone by a set-up for another key set, unless --rekey', async () => {
    const chip = new Chip()
    await tornAt(chip, { apdu: 16, when: 'after' })
    expect(await provision(chip, { keySet: keySets.b.id })).toMatchObject({ status: 'failed' })
    expect(await journal()).toHaveLength(1)
    expect(await provision(chip, { keySet: keySets.b.id, rekey: true })).toMatchObject({
      status: 'provisioned',
    })
    expect(await shown(chip)).toMatchObject({ keySet: 202, generation: 1 })
  })

  test('keeps its key set from being removed', async () => {
    const chip = new Chip()
    await tornAt(chip, { apdu: 16, when: 'after' })
    const refused = await t.call('DELETE /admin/key-sets/201')
    expect(refused).toMatchObject({ status: 409, body: { code: 'in_use' } })
    expect(refused.body.message).toContain('nfc recover')
    await reset(chip)
    expect((await t.call('DELETE /admin/key-sets/201')).status).toBe(200)
  })

  test('in a reset ends in the factory state by recover', async () => {
    const chip = new Chip()
    await provision(chip)
    await tornAt(chip, { apdu: 16, when: 'after' }, { purpose: 'reset' })
    expect(chip.versions).not.toEqual([0, 0, 0, 0, 0])
    expect(await recover(chip)).toMatchObject({ status: 'factory', uid: chip.uid })
    expect(chip.versions).toEqual([0, 0, 0, 0, 0])
    expect(await recover(chip)).toMatchObject({ status: 'factory' })
    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
    expect(await shown(chip)).toMatchObject({ generation: 1 })
  })

  test('gets nothing of a row that another chip got meanwhile, and says so', async () => {
    const chip = new Chip()
    const row = { label: 'J-1', item: 'jacket', redirectUrl: 'https://a.example/' }
    await tornAt(chip, { apdu: 16, when: 'after' }, { ...inA, ...row })
    const other = new Chip()
    expect(await provision(other, row)).toMatchObject({ status: 'provisioned' })
    const ended = await recover(chip)
    expect(ended).toMatchObject({ status: 'provisioned' })
    expect(ended.warning).toContain(`"J-1" was given to the chip ${other.uid}`)
    expect(await journal()).toEqual([])
    expect(await shown(chip)).toMatchObject({ label: null, item: null, redirectUrl: null })
    expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
    // As the warning advises.
    await t.call(`DELETE /admin/chips/${chip.uid}`)
    expect(await provision(chip, { label: 'J-2' })).toMatchObject({ status: 'provisioned' })
    expect(await shown(chip)).toMatchObject({ label: 'J-2' })
  })
})

describe('a reset', () => {
  test('empties the chip, and leaves its registration', async () => {
    const chip = new Chip()
    await provision(chip, { label: 'J-1' })
    const old = await chip.tapPath('/chips/find')
    expect(await reset(chip)).toEqual({ status: 'factory', uid: chip.uid, keySet: null, url: null })
    expect(chip.versions).toEqual([0, 0, 0, 0, 0])
    expect(await chip.tap()).toBe('')
    expect(await shown(chip)).toMatchObject({ label: 'J-1' })
    expect(await provision(chip, { label: 'J-1' })).toMatchObject({ status: 'provisioned' })
    expect(await shown(chip)).toMatchObject({ generation: 1, label: 'J-1' })
    expect(await isValid(old)).toBe(false)
  })

  test('of a blank chip has nothing to do', async () => {
    expect(await reset(new Chip())).toMatchObject({ status: 'factory' })
    expect(await journal()).toEqual([])
  })
})

describe('a write that fails, at each one of a session', () => {
  /** @param when whether it was committed, as by a daemon that dies before it can answer */
  const failing = async (nth: number, when: 'before' | 'after', work: () => Promise<unknown>) => {
    const { db } = t.ctx
    const { write } = db
    let count = 0
    Object.assign(db, {
      write: async (job: Parameters<typeof write>[0]) => {
        count += 1
        if (count < nth) return write.call(db, job)
        if (when === 'after' && count === nth) await write.call(db, job)
        throw new Error('The disk is gone')
      },
    })
    await work().finally(() => Object.assign(db, { write }))
    return count >= nth
  }

  test.each(['before', 'after'] as const)('%s it was committed, a chip is recovered', async (when) => {
    let nth = 1
    const most = 60
    for (; nth < most; nth += 1) {
      const chip = new Chip()
      const body = { ...inA, label: `W-${when}-${nth}`, chipGroup: `W-${when}-${nth}` }
      const failed = await failing(nth, when, () => talk(t.call, chip.put(), body).catch(() => undefined))
      if (!failed) break
      // It could not be released either.
      await ageLeases(t.ctx.db, 2000)
      const { length: isOpen } = await journal(`?uid=${chip.uid}`)
      const ended = isOpen ? await recover(chip) : await provision(chip, body)
      expect(['provisioned', 'unchanged']).toContain(ended.status)
      expect(await journal(`?uid=${chip.uid}`)).toEqual([])
      expect(await shown(chip)).toMatchObject({ label: body.label, chipGroup: { name: body.chipGroup } })
      expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
      expect(chip.failedAuthentications).toBe(0)
    }
    expect(nth).toBeGreaterThan(4)
    expect(nth).toBeLessThan(most)
  })
})
