import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { encryptPiccData, sunMac } from '../../src/nfc/ntag424/sun.ts'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'

const shared = '1'.repeat(32)
const own = '2'.repeat(32)
const fileReadKey = '3'.repeat(32)
const set = {
  id: 7,
  metaReadKey: shared,
  diversification: 'listed',
  template: '?picc_data={picc}&cmac={mac}',
}
let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({
    seed: {
      version: 1,
      keySets: [set, { ...set, id: 8, metaReadKey: '4'.repeat(32) }],
      teams: [{ name: 'T' }],
    },
  })
})
afterEach(() => t.close())

const keyOf = (hex: string): AesKey => new AesKey(Buffer.from(hex, 'hex'))
const query = (uid: string, counter: number, metaReadKey: string, fileKey = fileReadKey): string => {
  const tap = { uid: Buffer.from(uid, 'hex'), counter, mode: 'aes' as const }
  const picc = encryptPiccData(keyOf(metaReadKey), tap, randomBytes(5)).toString('hex')
  return `picc_data=${picc}&cmac=${sunMac(keyOf(fileKey), tap, '').toString('hex')}`
}
const find = async (tap: string) => {
  const { status, body } = await t.call(`GET /chips/find?${tap}`)
  return [status, body.isValidTap]
}
const importChips = async (rows: string[], keySet = 7): Promise<{ status: string; error?: string }[]> => {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/admin/chips/import?chipGroup=G&keySet=${keySet}`,
    headers: { ...t.admin, 'content-type': 'text/csv' },
    payload: ['uid,fileReadKey,metaReadKey', ...rows].join('\n'),
  })
  return answer.body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}
const a = '04A1B2C3D4E580'
const b = '04A1B2C3D4E680'

test('a listed chip with a meta-read key of its own is found by it, at once and once a tap', async () => {
  expect(await importChips([`${a},${fileReadKey},${own}`, `${b},${fileReadKey},`])).toMatchObject([
    { status: 'created' },
    { status: 'created' },
  ])
  const tap = query(a, 5, own)
  expect(await find(tap)).toEqual([200, true])
  expect(await find(tap)).toEqual([200, false])
  expect(await find(query(b, 5, shared))).toEqual([200, true])
  expect(await find(query(a, 6, own, own))).toEqual([200, false])
  expect(await find(query(a, 6, '5'.repeat(32)))).toEqual([404, undefined])
  // The key of one chip finds no other.
  expect(await find(query(b, 6, own))).toEqual([404, undefined])
  expect(await importChips([`${a},${fileReadKey},${own}`])).toMatchObject([{ status: 'unchanged' }])
  expect(await importChips([`${a},${fileReadKey},${shared}`])).toMatchObject([
    { status: 'failed', error: expect.stringContaining('different metaReadKey') },
  ])
  await t.call(`DELETE /admin/chips/${a}`)
  expect(await find(query(a, 7, own))).toEqual([404, undefined])
  // Registered under another listed set, with the same keys.
  expect(await importChips([`${a},${fileReadKey},${own}`], 8)).toMatchObject([{ status: 'created' }])
  expect(await find(query(a, 8, own))).toEqual([200, true])
})

test('a key of its own stands in the database sealed, and is for listed sets alone', async () => {
  await importChips([`${a},${fileReadKey},${own}`])
  const [row] = await t.ctx.db.read.selectFrom('chips').select('metaReadKey').execute()
  expect(row?.metaReadKey?.length).toBeGreaterThan(16)
  expect(Buffer.from(row?.metaReadKey ?? []).toString('hex')).not.toContain(own)
  await t.call('POST /admin/key-sets', { ...set, id: 9, diversification: 'none', fileReadKey })
  expect(await importChips([`${b},,${own}`], 9)).toMatchObject([
    { status: 'failed', error: expect.stringContaining('the chips of the key set 9 share one') },
  ])
})

test('only so many chips can have one; the next is refused, all of those verify, and stay unchanged', async () => {
  const chips = Array.from({ length: 21 }, (_, i) => ({
    uid: uidHex(i),
    key: (i + 1).toString(16).padStart(32, '0'),
  }))
  const rows = chips.map(({ uid, key }) => `${uid},${fileReadKey},${key}`)
  expect((await importChips(rows.slice(0, 15))).map(({ status }) => status)).toEqual(
    Array(15).fill('created'),
  )
  expect(await find(query(uidHex(0), 1, chips[0]?.key ?? ''))).toEqual([200, true])
  const removeOthers = await addChips(10_000 - 20)
  const results = await importChips(rows)
  await removeOthers()
  expect(results.map(({ status }) => status)).toEqual([
    ...Array(15).fill('unchanged'),
    ...Array(5).fill('created'),
    'failed',
  ])
  expect(results[20]?.error).toMatch(/^metaReadKey must not be given: 10000 chips/)
  for (const at of [0, 10, 19])
    expect(await find(query(uidHex(at), 2, chips[at]?.key ?? ''))).toEqual([200, true])
  expect((await t.call(`GET /admin/chips/${uidFromBytes(Buffer.from(uidHex(20), 'hex'))}`)).status).toBe(404)
  expect((await importChips(rows.slice(0, 20))).map(({ status }) => status)).toEqual(
    Array(20).fill('unchanged'),
  )
})

/** Further chips with keys of their own, which nobody taps. @returns what removes them */
const addChips = async (count: number): Promise<() => Promise<unknown>> => {
  const { db } = t.ctx
  const one = await db.read.selectFrom('chips').selectAll().limit(1).executeTakeFirstOrThrow()
  const uids = Array.from({ length: count }, (_, i) => String(10_000_000_000 + i))
  const pieces = Array.from({ length: Math.ceil(count / 500) }, (_, i) => uids.slice(i * 500, i * 500 + 500))
  await db.write(async (trx) => {
    for (const piece of pieces)
      await trx
        .insertInto('chips')
        .values(piece.map((uid) => ({ ...one, uid })))
        .execute()
  })
  return () =>
    db.write(async (trx) => {
      for (const piece of pieces) await trx.deleteFrom('chips').where('uid', 'in', piece).execute()
    })
}

const uidHex = (i: number): string => `04${i.toString(16).padStart(10, '0')}81`.toUpperCase()

test.each([
  ['blanks', (hex: string) => (hex.match(/../g) ?? []).join(' ')],
  ['dashes', (hex: string) => (hex.match(/../g) ?? []).join('-')],
  ['colons', (hex: string) => (hex.match(/../g) ?? []).join(':')],
  ['0x', (hex: string) => `0x${hex}`],
  ["a spreadsheet's apostrophe", (hex: string) => `'${hex}`],
])('UID and keys with %s are those without', async (_, written) => {
  expect(await importChips([[a, fileReadKey, own].map(written).join(',')])).toMatchObject([
    { status: 'created' },
  ])
  const metaReadKey = written('5'.repeat(32))
  const common = { ...set, id: 9, diversification: 'none', fileReadKey: written('6'.repeat(32)) }
  expect((await t.call('POST /admin/key-sets', { ...common, metaReadKey })).status).toBe(200)
  await importChips([`${written(b)},,`], 9)
  expect(await find(query(a, 1, own))).toEqual([200, true])
  expect(await find(query(b, 1, '5'.repeat(32), '6'.repeat(32)))).toEqual([200, true])
})
