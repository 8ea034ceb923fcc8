import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { androidApplication, besideUri, encodeNdef, parseNdef, textRecord } from '../../src/nfc/ndef.ts'
import { runScript } from '../../src/nfc/script.ts'
import { readNdefFile, selectApplication } from '../../src/nfc/type4.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { templateKinds } from '../support/chip-templates.ts'
import { foreignChip, theirKeysInHex } from '../support/foreign-chips.ts'
import { Chip, inA, keySets, nfcSeed, talk } from '../support/nfc.ts'

const { macInputFrom: _, ...keys } = keySets.a
const brand = {
  ...keys,
  id: 301,
  template: 'https://t.brand.example/x?picc_data={picc}&enc=^{enc}&cmac={mac}',
}
const lnurl = { ...keys, id: 302, template: 'lnurlw://card.example/ln?p={picc}&c={mac}' }
const bare = { ...keys, id: 303, template: '^ntag.example/424?uid={uid}&ctr={ctr}&c={mac}' }
const loopback = { ...keys, id: 304, template: 'https://localhost/x?e={picc}&c={mac}' }
const long = { ...keys, id: 305, template: `https://${'n'.repeat(170)}.example/x?e={picc}&c={mac}` }
const plain = { ...keys, id: 306, template: '?uid={uid}&ctr={ctr}&c={mac}' }
const otherPlain = { ...plain, id: 307, fileReadKey: '7'.repeat(32), appMasterKey: '8'.repeat(32) }

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({
    seed: { ...nfcSeed, keySets: [brand, lnurl, bare, loopback, long, plain, otherPlain, keySets.a] },
  })
})
afterEach(() => t.close())

const order = (keySet: number, more: object = {}) => ({ ...inA, keySet, ...more })
const open = (body: object) => t.call('POST /admin/nfc/sessions', body)
const provision = (chip: Chip, keySet: number, more: object = {}) =>
  talk(t.call, chip.put(), order(keySet, more))

async function recordsOn(chip: Chip) {
  const card = chip.put()
  await runScript(card, selectApplication())
  const file = await runScript(card, readNdefFile())
  card.lift()
  return besideUri(parseNdef(file.subarray(2)))
}

describe('the address of a template', () => {
  const answering = (answer: { status: number; body: unknown } | Error) => {
    const asked: string[] = []
    Object.assign(t.ctx, {
      outbound: {
        request: async ({ url }: { url: string }) => {
          asked.push(url)
          if (answer instanceof Error) throw answer
          return { status: answer.status, headers: {}, body: Buffer.from(JSON.stringify(answer.body)) }
        },
      },
    })
    return asked
  }
  const opened = (keySet: number) => open(order(keySet, { acceptUrl: false }))

  test('is asked in place of that of the daemon, and may be a page of the brand', async () => {
    const asked = answering({ status: 404, body: 'no such page' })
    expect((await opened(brand.id)).status).toBe(200)
    expect(asked).toEqual(['https://t.brand.example/healthz'])
  })

  test.each([
    ['is on loopback', loopback.id, { status: 200, body: {} }, /loopback.*key set 304.*--accept-url/],
    ['is not https', lnurl.id, { status: 200, body: {} }, /lnurlw:.*is not https/],
    ['answers nothing', brand.id, new Error('ENOTFOUND'), /could not be reached/],
    ['is another daemon', brand.id, { status: 200, body: { instance: 'x' } }, /another Tapchip daemon/],
  ])('is refused where it %s', async (_, keySet, answer, message) => {
    answering(answer)
    const { status, body } = await opened(keySet)
    expect(status).toBe(409)
    expect(body.message).toMatch(message)
  })

  test('without https is written with --accept-url, and without a scheme never', async () => {
    const chip = new Chip()
    expect(await provision(chip, lnurl.id)).toMatchObject({ status: 'provisioned' })
    expect(await chip.tap()).toMatch(/^lnurlw:\/\/card\.example\/ln\?p=/)
    const { status, body } = await open(order(bare.id))
    expect([status, body.message]).toEqual([409, expect.stringContaining('without a scheme')])
  })
})

test('torn at any command, a chip of each kind of template is recovered by the daemon', async () => {
  const kinds = Object.values(templateKinds)
  const seeded = kinds.map(({ template, tamper, isLrp }, at) => ({
    ...keys,
    id: 401 + at,
    metaReadKey: String(401 + at).padStart(32, 'a'),
    template,
    ...(tamper === undefined ? {} : { tamper }),
    ...(isLrp ? { mode: 'lrp' } : {}),
  }))
  const own = await openAdminApp({ seed: { ...nfcSeed, keySets: seeded } })
  const find = async (chip: Chip) =>
    (await own.app.inject({ url: await chip.tapPath('/chips/find') })).json().isValidTap
  // From the first command that writes on, each once.
  for (const [at, { template: _, tamper: __, isLrp: ___, isTagTamper, ...content }] of kinds.entries()) {
    const apdu = 13 + at
    const chip = new Chip(undefined, { tamper: isTagTamper === true })
    const torn = talk(
      own.call,
      chip.put({ apdu, when: apdu % 2 ? 'after' : 'before' }),
      order(401 + at, content),
    )
    await expect(torn, `command ${apdu}`).rejects.toThrow(CardGone)
    const ended = await talk(own.call, chip.put(), { purpose: 'recover' })
    expect(ended).toMatchObject({ status: 'provisioned', keySet: 401 + at })
    expect(await find(chip)).toBe(true)
    expect(chip.failedAuthentications).toBe(0)
  }
  await own.close()
})

describe('what a chip holds besides its URL', () => {
  const app = { aar: 'com.brand.app' }
  const note = { text: 'Hold me' }

  test('is written, kept at re-keying unless something else is asked for, and taken away by an empty text', async () => {
    const chip = new Chip()
    await provision(chip, brand.id, { ...app, ...note, fileData: 'No. 17' })
    const both = [androidApplication(app.aar), textRecord(note.text)]
    expect(await recordsOn(chip)).toEqual(both)
    const data = async () => {
      const { url } = { url: await chip.tap() }
      await t.app.inject({ url: `/t${new URL(url).search}` })
      return (await t.call(`GET /admin/taps?uid=${chip.uid}&limit=1`)).body[0].fileData
    }
    expect(await data()).toMatch(/^No\. 17 *$/)
    expect(await provision(chip, brand.id)).toMatchObject({ status: 'unchanged' })
    await provision(chip, brand.id, { rekey: true })
    expect(await recordsOn(chip)).toEqual(both)
    expect(await data()).toMatch(/^No\. 17 *$/)
    expect((await provision(chip, brand.id, note)).error).toMatch(/shows a different URL/)
    await provision(chip, brand.id, { rekey: true, ...note, fileData: 'No. 18' })
    expect(await recordsOn(chip)).toEqual([textRecord(note.text)])
    expect(await data()).toMatch(/^No\. 18 *$/)
    // A template without {enc} has no place for the data.
    await provision(chip, plain.id, { rekey: true })
    expect(await recordsOn(chip)).toEqual([textRecord(note.text)])
    await provision(chip, plain.id, { rekey: true, text: '' })
    expect(await recordsOn(chip)).toEqual([])
  })

  test('is read from a chip that another daemon set up', async () => {
    const chip = new Chip()
    const other = await openAdminApp({ seed: { ...nfcSeed, keySets: [plain, otherPlain] } })
    await talk(other.call, chip.put(), order(otherPlain.id, app))
    await other.close()
    // Both sets have a plain mirror under the same names, and the MAC tells which one it is.
    expect(await provision(chip, plain.id, { rekey: true })).toMatchObject({ status: 'provisioned' })
    expect(await recordsOn(chip)).toEqual([androidApplication(app.aar)])
    expect((await t.app.inject({ url: await chip.tapPath() })).statusCode).toBe(200)
  })

  test.each([1, 0])('is read from a chip of another system with keys of version %i', async (version) => {
    const chip = foreignChip({ versions: Array.from({ length: 5 }, () => version) })
    const file = chip.chip.memory.files.get(2)
    if (!file) throw new Error('no file')
    const message = parseNdef(file.bytes.subarray(2, 2 + file.bytes.readUInt16BE()))
    const poster = { tnf: 1, type: 'Sp', payload: Buffer.from('of the old URL') }
    const longer = encodeNdef([...message, androidApplication(app.aar), poster, textRecord(note.text)])
    file.bytes.writeUInt16BE(longer.length)
    longer.copy(file.bytes, 2)
    const ended = await provision(chip, plain.id, { rekey: true, keys: theirKeysInHex })
    expect(ended).toMatchObject({ status: 'provisioned' })
    expect(await recordsOn(chip)).toEqual([androidApplication(app.aar), textRecord(note.text)])
    expect((await t.app.inject({ url: await chip.tapPath() })).statusCode).toBe(200)
  })

  test.each([
    ['is no package', plain.id, { aar: 'my app' }, 400, /aar: must be the name of a package/],
    ['has no place', plain.id, { fileData: 'x' }, 400, /fileData needs \{enc\} in the template/],
    ['is too long', long.id, app, 409, /takes 2\d\d: shorten the template or the text or the app behind it/],
    [
      'is too long as data',
      brand.id,
      { fileData: 'x'.repeat(100) },
      409,
      /the template or its encrypted data/,
    ],
  ])('is refused before the first chip where it %s', async (_, keySet, more, status, message) => {
    const answered = await open(order(keySet, more))
    expect(answered.status).toBe(status)
    expect(answered.body.message).toMatch(message)
  })
})
