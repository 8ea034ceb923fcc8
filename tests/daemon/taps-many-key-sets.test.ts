import { randomBytes } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { verifyTap } from '../../src/daemon/domain/taps/verify-tap.ts'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { encryptPiccData, sunMac } from '../../src/nfc/ntag424/sun.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'

// Key sets with one template, so that no tap names its own. Every set but the chip's was used since.

const [fileReadKey, ownMetaKey] = ['2'.repeat(32), '3'.repeat(32)]
const uid = '04A1B2C3D4E580'
const keyOf = (hex: string): AesKey => new AesKey(Buffer.from(hex, 'hex'))
const tap = (counter: number) => ({ uid: Buffer.from(uid, 'hex'), counter, mode: 'aes' as const })
const macOf = (counter: number, key: string): string => sunMac(keyOf(key), tap(counter), '').toString('hex')
const plainTap = (counter: number, key = fileReadKey): string =>
  `uid=${uid}&ctr=${counter.toString(16).padStart(6, '0')}&cmac=${macOf(counter, key)}`

let t: AdminApp
afterEach(() => t.close())
const start = async (fields: object, count: number, chip: object = {}): Promise<void> => {
  const keySets = Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    metaReadKey: String(index + 1).padStart(32, '0'),
    ...fields,
  }))
  const chipGroups = [{ name: 'G', chips: [{ uid, keySet: 1, ...chip }] }]
  t = await openAdminApp({ seed: { version: 1, keySets, teams: [{ name: 'T', chipGroups }] } })
  for (const { id } of keySets.slice(1)) t.ctx.keyRing.used(id)
}
const find = async (query: string) => {
  const { status, body } = await t.call(`GET /chips/find?${query}`)
  return [status, body.isValidTap]
}
/** How often the database is asked about a tap, which has to be genuine. */
const lookups = async (query: string): Promise<number> => {
  let count = 0
  const db = {
    get read() {
      count += 1
      return t.ctx.db.read
    },
  }
  const deps = { ...t.ctx, db }
  expect(await verifyTap(deps, Object.fromEntries(new URLSearchParams(query)))).toMatchObject({
    kind: 'genuine',
  })
  return count
}
const plain = { template: '?uid={uid}&ctr={ctr}&cmac={mac}', fileReadKey, diversification: 'none' }

test('a plain UID is looked up once, and finds its chip however many key sets there are', async () => {
  await start(plain, 40)
  expect(await lookups(plainTap(1))).toBe(1)
  expect(await find(plainTap(1))).toEqual([200, true])
  expect(await find(plainTap(1))).toEqual([200, false])
  const made = await t.call('POST /admin/key-sets', { id: 90, metaReadKey: '4'.repeat(32), ...plain })
  expect(made.body.warnings).toEqual([])
})

test('a forged tap is recorded under the key set of its chip', async () => {
  await start(plain, 3)
  expect(await find(plainTap(1, '5'.repeat(32)))).toEqual([200, false])
  const [last] = (await t.call('GET /admin/taps')).body
  expect(last).toMatchObject({ outcome: 'wrong-mac', keySet: 1 })
})

test('the meta-read keys of single chips are tried once, however many listed key sets there are', async () => {
  const template = '?picc_data={picc}&cmac={mac}'
  const listed = { template, diversification: 'listed' }
  await start(listed, 3, { fileReadKey, metaReadKey: ownMetaKey })
  const picc = encryptPiccData(keyOf(ownMetaKey), tap(1), randomBytes(5)).toString('hex')
  // The keys, and then the chip.
  expect(await lookups(`picc_data=${picc}&cmac=${macOf(1, fileReadKey)}`)).toBe(2)
})
