import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { type AdminApp, bearer, openAdminApp } from '../support/admin.ts'
import { Chip, inA, keySets, nfcSeed, talk } from '../support/nfc.ts'
import { otherKey } from '../support/seeds.ts'

// What a token of a packing table must not be able to do, and what may not be lost by a mistake.

let t: AdminApp
let packing: Record<string, string>
let keeper: Record<string, string>
beforeEach(async () => {
  t = await openAdminApp({ seed: nfcSeed })
  packing = await tokenWith('provision')
  keeper = await tokenWith('provision', 'keys')
})
afterEach(() => t.close())

const tokenWith = async (...scopes: string[]) =>
  bearer((await t.call('POST /admin/admin-tokens', { name: scopes.join('+'), scopes })).body.token)
const run = (chip: Chip, body: object, headers = packing) =>
  talk(t.call, chip.put(), { ...body }, { headers })
const provision = (chip: Chip, more: object = {}, headers = packing) =>
  run(chip, { ...inA, ...more }, headers)
const reset = (chip: Chip, headers = packing) => run(chip, { purpose: 'reset' }, headers)
const torn = async (chip: Chip, body: object, apdu: number) => {
  const card = chip.put({ apdu, when: 'after' })
  await expect(talk(t.call, card, { ...body }, { headers: packing })).rejects.toThrow(CardGone)
}
const shown = async (chip: Chip) => (await t.call(`GET /admin/chips/${chip.uid}`)).body
const isValid = async (path: string) => (await t.app.inject({ url: path })).json().isValidTap
const journal = async (chip: Chip) => (await t.call(`GET /admin/nfc/journal?all=true&uid=${chip.uid}`)).body
const blankCopy = (chip: Chip) => new Chip(chip.chip.memory.uid)
const csv = () => ({ ...t.admin, 'content-type': 'text/csv' })
const imports = (rows: string, keySet = 201) =>
  t.call(`POST /admin/chips/import?team=Acme&chipGroup=Jackets&keySet=${keySet}`, rows, csv())

describe('a blank chip with the UID of one that is in use', () => {
  const refused = async (copy: Chip, original: Chip, headers = packing) => {
    const before = await shown(original)
    for (const body of [inA, { ...inA, rekey: true }, { purpose: 'reset' }]) {
      if (headers === keeper && body !== inA) continue
      const ended = await run(copy, body, headers)
      expect(ended).toMatchObject({ status: 'failed', code: 'conflict', uid: original.uid })
      expect(ended.error).toMatch(/may be a copy.*nfc reset.*--rekey.*provision and keys/s)
    }
    expect(copy.versions).toEqual([0, 0, 0, 0, 0])
    expect(await shown(original)).toEqual(before)
    expect(await isValid(await original.tapPath('/chips/find'))).toBe(true)
  }

  test('is not set up in its place by a packing table, nor by anybody without --rekey', async () => {
    const original = new Chip()
    await provision(original)
    await refused(blankCopy(original), original)
    await refused(blankCopy(original), original, keeper)
  })

  test('is not either where the original was tapped and its journal is elsewhere', async () => {
    const original = new Chip()
    await provision(original)
    await t.ctx.db.write((trx) => trx.deleteFrom('nfcPlans').execute())
    await refused(blankCopy(original), original)
  })

  test('is not by way of a plan that was begun on a chip that only seemed to have its keys', async () => {
    const original = new Chip()
    await provision(original)
    for (const purpose of ['reset', 'provision'] as const) {
      const liar = blankCopy(original)
      for (const slot of liar.chip.memory.keys) Object.assign(slot, { version: 1, key: Buffer.alloc(16, 9) })
      await torn(liar, purpose === 'reset' ? { purpose } : { ...inA, rekey: true }, 11)
      await refused(blankCopy(original), original)
      const half = blankCopy(original)
      for (const slot of half.chip.memory.keys.slice(1)) slot.version = 1
      expect(await reset(half)).toMatchObject({ status: 'failed' })
      expect(await provision(half, { rekey: true })).toMatchObject({ status: 'failed' })
    }
    expect(await shown(original)).toMatchObject({ generation: 0 })
    // The true one is not locked out by that.
    expect(await run(original, { purpose: 'recover' })).toMatchObject({ status: 'provisioned' })
  })

  test('is, by --rekey and a token of scope keys: it was reset elsewhere, and gets new keys', async () => {
    const original = new Chip()
    await provision(original)
    const old = await original.tapPath('/chips/find')
    const emptied = blankCopy(original)
    expect(await provision(emptied, { rekey: true }, keeper)).toMatchObject({ status: 'provisioned' })
    expect(await shown(original)).toMatchObject({ generation: 1 })
    expect(await isValid(old)).toBe(false)
    expect(await isValid(await emptied.tapPath('/chips/find'))).toBe(true)
  })

  test.each(['reset', 'provision'] as const)(
    'is, by a keeper, also where new keys were begun: %s',
    async (purpose) => {
      const original = new Chip()
      await provision(original)
      await torn(original, { ...inA, rekey: true }, 16)
      const emptied = blankCopy(original)
      if (purpose === 'reset') expect(await reset(emptied, keeper)).toMatchObject({ status: 'factory' })
      const more = purpose === 'reset' ? {} : { rekey: true }
      expect(await provision(emptied, more, keeper)).toMatchObject({ status: 'provisioned' })
      expect(await shown(original)).toMatchObject({ generation: 2 })
      expect(await isValid(await emptied.tapPath('/chips/find'))).toBe(true)
    },
  )

  test('is, after somebody with a token of scope keys has reset it, which ends its taps', async () => {
    const original = new Chip()
    await provision(original)
    const old = await original.tapPath('/chips/find')
    const emptied = blankCopy(original)
    expect(await reset(emptied, keeper)).toMatchObject({ status: 'factory' })
    expect(await isValid(old)).toBe(false)
    expect(await provision(emptied)).toMatchObject({ status: 'provisioned' })
  })

  test('is, by a packing table, after a reset here, also one that was done twice or torn at its end', async () => {
    const chip = new Chip()
    await provision(chip)
    expect(await reset(chip)).toMatchObject({ status: 'factory' })
    expect(await reset(chip)).toMatchObject({ status: 'factory' })
    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
    let apdu = 11
    for (; chip.versions[0] !== 0; apdu += 1) await torn(chip, { purpose: 'reset' }, apdu)
    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
    expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
  })

  test('is, where the row was imported and never tapped', async () => {
    const chip = new Chip()
    await imports(`uid\n${chip.uid}\n`)
    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
    const inField = new Chip()
    await imports(`uid,lastCounter\n${inField.uid},7\n`)
    expect(await provision(inField)).toMatchObject({ status: 'failed', code: 'conflict' })
  })
})

describe('the one key of all chips of a set (derivation none)', () => {
  const one = { keySet: keySets.one.id }
  const refusedAtOnce = async (body: object) => {
    const { status, body: answer } = await t.call('POST /admin/nfc/sessions', { ...inA, ...body }, packing)
    expect({ status, code: answer.code }).toEqual({ status: 403, code: 'scope_missing' })
    expect(answer.message).toMatch(/lacks the scope "keys": .*derivation none.*an10922.*Ask someone/s)
  }
  /** Set up by somebody with the scope keys, and lifted once some of its keys were written. */
  const tornInOne = async (apdu: number) => {
    const chip = new Chip()
    const card = chip.put({ apdu, when: 'after' })
    await expect(talk(t.call, card, { ...inA, ...one }, { headers: keeper })).rejects.toThrow(CardGone)
    return chip
  }

  test('is written to a chip, blank or not, only for a token of scope keys', async () => {
    await refusedAtOnce(one)
    const moved = new Chip()
    await provision(moved)
    await refusedAtOnce({ ...one, rekey: true })
    expect(await provision(new Chip(), one, keeper)).toMatchObject({ status: 'provisioned' })
    expect(await provision(moved, { ...one, rekey: true }, keeper)).toMatchObject({ status: 'provisioned' })
  })

  test('is told by no plan that somebody else began: not by finishing it, nor by undoing it', async () => {
    for (let apdu = 12, seen = 0; seen < 2; apdu += 1) {
      const chip = await tornInOne(apdu)
      const { versions } = chip
      if (versions[1] === 0 || versions[0] !== 0) continue
      seen += 1
      for (const body of [{ purpose: 'recover' }, { purpose: 'reset' }, { ...inA, rekey: true }]) {
        expect(await run(chip, body)).toMatchObject({ status: 'failed', code: 'scope_missing' })
        expect(chip.versions).toEqual(versions)
      }
      // As a chip would say that got none of it yet.
      expect(await run(blankCopy(chip), { purpose: 'recover' })).toMatchObject({ code: 'scope_missing' })
      expect(await run(chip, { purpose: 'recover' }, keeper)).toMatchObject({ status: 'provisioned' })
    }
  })

  test('stays secret where its chip is reset, or moved to another set, which a packing table may do', async () => {
    const [first, second] = [new Chip(), new Chip()]
    for (const chip of [first, second]) await provision(chip, one, keeper)
    expect(await reset(first)).toMatchObject({ status: 'factory' })
    expect(await provision(second, { rekey: true })).toMatchObject({ status: 'provisioned', keySet: 201 })
  })
})

test('a chip with keys of an earlier generation than the registry has is left as it is', async () => {
  const chip = new Chip()
  await provision(chip)
  const copy = blankCopy(chip)
  for (const [keyNo, slot] of chip.chip.memory.keys.entries())
    Object.assign(copy.chip.memory.keys[keyNo] ?? {}, slot)
  for (const [number, { settings, bytes }] of chip.chip.memory.files)
    Object.assign(copy.chip.memory.files.get(number) ?? {}, { settings, bytes: Buffer.from(bytes) })
  await provision(chip, { rekey: true })
  const ended = await provision(copy)
  expect(ended).toMatchObject({ status: 'failed', code: 'conflict' })
  expect(ended.error).toMatch(/generation 0.*generation 1.*--rekey/)
  expect(await shown(chip)).toMatchObject({ generation: 1 })
  expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
})

test("an API key of one team and the name of another do not go together with a packing table's token", async () => {
  const headers = { ...packing, 'x-svc-api-key': otherKey }
  const refused = await t.call('POST /admin/nfc/sessions', inA, headers)
  expect(refused).toMatchObject({ status: 400 })
  expect(refused.body.message).toContain('team')
  const { team: _, ...unnamed } = inA
  expect((await t.call('POST /admin/nfc/sessions', { ...unnamed, team: 'Other' }, headers)).status).toBe(200)
  const chip = new Chip()
  expect(await talk(t.call, chip.put(), unnamed, { headers })).toMatchObject({ status: 'provisioned' })
  expect(await shown(chip)).toMatchObject({ team: 'Other' })
})

test('a chip that says another UID in plain than under its key gets no keys, and its plan is closed', async () => {
  const chip = new Chip()
  const said = new Chip()
  const card = chip.put()
  const transmit = card.transmit.bind(card)
  card.transmit = async (apdu) => {
    const answer = Buffer.from(await transmit(apdu))
    // The last frame of GetVersion.
    if (apdu[1] === 0xaf && answer.length === 16) said.chip.memory.uid.copy(answer)
    return answer
  }
  // Its originality signature is not for that UID either.
  const unsigned = { ...inA, originality: 'any' }
  const ended = await talk(t.call, card, unsigned, { headers: packing })
  expect(ended).toMatchObject({ status: 'failed', code: 'WrongChip', uid: said.uid })
  expect(chip.versions).toEqual([0, 0, 0, 0, 0])
  expect(await journal(said)).toMatchObject([{ outcome: 'untouched' }])
  expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
})

describe('a reset', () => {
  test('ends taps that were never shown, refs and codes; the next set-up counts from its own tap', async () => {
    const chip = new Chip()
    await provision(chip, { item: 'jacket' })
    const found = (await t.app.inject({ url: await chip.tapPath('/chips/find') })).json()
    const opened = await chip.tapPath()
    const page = await t.app.inject({ url: opened })
    expect(page.headers.location).toBeUndefined()
    const ref = /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const cookie = String(page.headers['set-cookie']).split(';')[0] ?? ''
    const unused = (await t.call(`GET ${await chip.tapPath()}`)).text.match(/data-ref="([^"]+)"/)?.[1] ?? ''
    const { body: queried } = await t.call(`GET /refs/${ref}`)
    expect(queried.isValidRef).toBe(true)
    const codes = [found.otp.code, queried.otp ?? queried.linkedToken?.otp]
    const isOver = async (code: string) => (await t.call(`GET /otps/${code}`)).body.isExpired
    for (const code of codes) expect(await isOver(code)).toBe(false)
    const photographed = [await chip.tapPath('/chips/find'), await chip.tapPath()]
    expect(found.otp).toBeTruthy()
    await reset(chip)
    expect(await isValid(photographed[0] ?? '')).toBe(false)
    expect((await t.app.inject({ url: photographed[1] ?? '' })).statusCode).toBe(410)
    const allIsOver = async () => {
      expect((await t.call(`GET /refs/${unused}`)).body.isValidRef).toBe(false)
      for (const code of codes) expect(await isOver(code)).toBe(true)
      const again = await t.app.inject({ url: opened, headers: { cookie } })
      expect([404, 410]).toContain(again.statusCode)
    }
    await allIsOver()
    expect((await t.audit('action=chips.reset'))[0]).toMatchObject({ target: chip.uid, team: 'Acme' })

    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
    expect((await shown(chip)).lastCounter).toBe(chip.chip.memory.sdmReadCounter)
    await allIsOver()
    expect(await isValid(await chip.tapPath('/chips/find'))).toBe(true)
    expect(await isValid(photographed[0] ?? '')).toBe(false)
  })

  test('that was torn ends them once it is recovered', async () => {
    const chip = new Chip()
    await provision(chip)
    const photographed = await chip.tapPath('/chips/find')
    await torn(chip, { purpose: 'reset' }, 18)
    expect(await run(chip, { purpose: 'recover' })).toMatchObject({ status: 'factory' })
    expect(await isValid(photographed)).toBe(false)
    expect(await provision(chip)).toMatchObject({ status: 'provisioned' })
  })

  test('of a chip with other keys than its versions say is refused before anything is written down', async () => {
    const chip = new Chip()
    await provision(chip)
    const photographed = await chip.tapPath('/chips/find')
    const liar = blankCopy(chip)
    for (const slot of liar.chip.memory.keys) Object.assign(slot, { version: 1, key: Buffer.alloc(16, 9) })
    expect(await reset(liar)).toMatchObject({ status: 'failed', code: 'ForeignKeys' })
    expect(liar.failedAuthentications).toBe(1)
    expect(await journal(chip)).toHaveLength(1)
    expect(await isValid(photographed)).toBe(true)
  })
})

describe('one label', () => {
  test.each([2, 4, 6, 7])('goes to one of two chips at once, at step %i', async (at) => {
    const [first, second] = [new Chip(), new Chip()]
    const ended = await talk(
      t.call,
      first.put(),
      { ...inA, label: 'J-1' },
      {
        headers: packing,
        onStep: async ({ body }) => {
          if (body.step !== at) return
          const other = await provision(second, { label: 'J-1' })
          expect(other).toMatchObject({ status: 'failed', code: 'chip_busy' })
          expect(other.error).toContain('label "J-1"')
          expect(second.versions).toEqual([0, 0, 0, 0, 0])
        },
      },
    )
    expect(ended).toMatchObject({ status: 'provisioned' })
    expect(await shown(first)).toMatchObject({ label: 'J-1' })
    expect(await provision(second, { label: 'J-2' })).toMatchObject({ status: 'provisioned' })
  })

  test('that is just being given to another chip is not given to one that is recovered', async () => {
    const [lifted, other] = [new Chip(), new Chip()]
    await torn(lifted, { ...inA, label: 'J-1' }, 16)
    const ended = await talk(
      t.call,
      other.put(),
      { ...inA, label: 'J-1' },
      {
        headers: packing,
        onStep: async ({ body }) => {
          if (body.step !== 6) return
          const recovered = await run(lifted, { purpose: 'recover' })
          expect(recovered).toMatchObject({ status: 'provisioned' })
          expect(recovered.warning).toContain('"J-1" was given to another chip')
        },
      },
    )
    expect(ended).toMatchObject({ status: 'provisioned' })
    expect(await shown(other)).toMatchObject({ label: 'J-1' })
    expect(await shown(lifted)).toMatchObject({ label: null })
  })
})

describe('a key set', () => {
  const remove = () => t.call('DELETE /admin/key-sets/201')
  const giveUp = (chip: Chip, headers = keeper) =>
    t.call(`DELETE /admin/nfc/journal/${chip.uid}`, undefined, headers)

  test('is kept while chips that are not registered any more have its keys', async () => {
    const [a, b, c] = [new Chip(), new Chip(), new Chip()]
    for (const chip of [a, b, c]) await provision(chip)
    for (const chip of [a, b, c]) await t.call(`DELETE /admin/chips/${chip.uid}`)
    const refused = await remove()
    expect(refused).toMatchObject({ status: 409, body: { code: 'in_use' } })
    expect(refused.body.message).toMatch(/^3 chips .*nfc reset.*--give-up/s)
    expect(refused.body.message).toContain(a.uid)
    expect(await reset(a)).toMatchObject({ status: 'factory' })
    expect(await provision(b, { keySet: keySets.b.id, rekey: true })).toMatchObject({
      status: 'provisioned',
    })
    expect((await remove()).body.message).toMatch(/^A chip that is no longer registered/)
    expect((await giveUp(c)).status).toBe(200)
    expect((await remove()).status).toBe(200)
  })

  test('is let go by a chip that is registered under another one by now', async () => {
    const chip = new Chip()
    await provision(chip)
    await t.call(`DELETE /admin/chips/${chip.uid}`)
    await imports(`uid\n${chip.uid}\n`, keySets.b.id)
    expect((await remove()).status).toBe(200)
  })

  test('of a torn chip that is lost can be removed once that is given up, on record', async () => {
    const chip = new Chip()
    await torn(chip, inA, 16)
    expect((await remove()).body.message).toContain('--give-up')
    expect((await giveUp(chip, packing)).status).toBe(403)
    expect((await giveUp(chip)).status).toBe(200)
    expect(await journal(chip)).toMatchObject([{ outcome: 'given-up', closedBy: 'admin:provision+keys' }])
    expect((await t.audit('action=nfc.give-up'))[0]).toMatchObject({
      target: chip.uid,
      actor: 'admin:provision+keys',
      detail: { isFinished: false, keys: ['factory', { keySet: 201, generation: 0 }] },
    })
    expect((await giveUp(chip)).status).toBe(404)
    expect((await remove()).status).toBe(200)
  })

  test('is not let go by a chip that is registered, that a session works on, or that nothing is known of', async () => {
    const chip = new Chip()
    expect((await giveUp(chip)).status).toBe(404)
    await talk(t.call, chip.put(), inA, {
      headers: packing,
      onStep: async ({ body }) => {
        if (body.step === 5) expect((await giveUp(chip)).status).toBe(409)
      },
    })
    expect((await giveUp(chip)).body.message).toContain('chips remove')
    await reset(chip)
    await t.call(`DELETE /admin/chips/${chip.uid}`)
    expect((await giveUp(chip)).status).toBe(404)
  })
})
