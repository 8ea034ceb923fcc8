import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const decimal = (hex: string): string => uidFromBytes(Buffer.from(hex, 'hex'))
const { jacket, twin, unminted, events, blank, plain, listed } = Object.fromEntries(
  Object.entries(uids).map(([name, hex]) => [name, decimal(hex)]),
) as Record<keyof typeof uids, string>

let t: AdminApp
beforeAll(async () => {
  t = await openAdminApp({ seed })
})
afterAll(() => t.close())

const query = (conditions: readonly (readonly [string, string])[]) =>
  new URLSearchParams([
    ['team', 'Acme'],
    ...conditions.map(([name, value]): [string, string] => [name, value]),
  ]).toString()
const lines = async (...conditions: (readonly [string, string])[]): Promise<Record<string, unknown>[]> => {
  const { status, text } = await t.call(`GET /admin/chips/export?${query(conditions)}`)
  expect([status, text]).toEqual([200, expect.any(String)])
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
const found = async (...conditions: (readonly [string, string])[]) =>
  (await lines(...conditions)).map(({ uid }) => uid).sort()
const register = async (csv: string, group: string, keySet: number, team = 'Acme') => {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/admin/chips/import?team=${team}&chipGroup=${group}&keySet=${keySet}&report=failures`,
    headers: { ...t.admin, 'content-type': 'text/csv' },
    payload: csv,
  })
  return answer.body
}

describe('chips are selected by', () => {
  test('what they carry, and by what they lack where the value is empty', async () => {
    const [{ contractAddress = '' } = {}] = await lines(['tokenId', '1'])
    const address = String(contractAddress)
    expect(await found(['item', 'jacket'])).toEqual([jacket, unminted].sort())
    expect(await found(['item', 'jacket'], ['variant', ''])).toEqual([unminted])
    expect(await found(['item', 'jacket'], ['variant', 's'])).toEqual([jacket])
    expect(await found(['item', ''])).toEqual([twin, events, blank, plain, listed].sort())
    expect(await found(['redirectUrl', 'https://acme.example/jacket?x=a%20b'])).toEqual([jacket])
    expect(await found(['redirectUrl', ''], ['linked', 'true'])).toEqual([twin])
    expect(await found(['linked', 'true'])).toEqual([jacket, twin].sort())
    expect(await found(['linked', 'false'], ['chipGroup', 'Jackets'])).toEqual(
      [unminted, events, blank].sort(),
    )
    expect(await found(['contractAddress', address.toLowerCase()], ['chainId', '31337'])).toEqual(
      [jacket, twin].sort(),
    )
    expect(await found(['contractAddress', `0x${'11'.repeat(20)}`])).toEqual([])
    expect(await found(['tokenId', ''], ['item', 'jacket'])).toEqual([unminted])
    expect(await found(['tokenId', '2'])).toEqual([])
  })

  test('their key set and generation', async () => {
    expect(await found(['keySet', '102'])).toEqual([plain])
    expect(await found(['keySet', '103'], ['generation', '0'])).toEqual([listed])
    expect(await found(['generation', '1'])).toEqual([])
    expect(await found(['keySet', ''])).toEqual([])
  })

  test('being disabled', async () => {
    await t.call(`POST /admin/chips/${plain}/disable`, {})
    expect(await lines(['disabled', 'true'])).toMatchObject([{ uid: plain, disabled: true }])
    expect(await found(['disabled', 'false'])).not.toContain(plain)
    await t.call(`POST /admin/chips/${plain}/enable`)
    expect(await found(['disabled', 'true'])).toEqual([])
  })

  test('being tapped since a time', async () => {
    const before = new Date().toISOString()
    await t.app.inject(tapPath(tap(derived, { uid: uids.blank }, 7)))
    const [chip] = await lines(['tappedSince', before])
    expect(chip).toMatchObject({ uid: blank, lastCounter: 7, isConfigured: false })
    expect(await found(['tappedSince', before.slice(0, 10)])).toEqual([blank])
    expect(await found(['tappedSince', '2999-01-01'])).toEqual([])
  })

  test('their labels: any text, several of them, and only those of the team', async () => {
    const odd = ['a=b', `it's "quoted"`, 'Größe 42 & more', '04DE5F1EACC041', '50%_x']
    const rows = odd.map((label, n) => `04AA0000000${n}80,"${label.replaceAll('"', '""')}"`)
    expect(JSON.parse(await register(`uid,label\n${rows.join('\n')}`, 'Labelled', 101))).toMatchObject({
      created: odd.length,
    })
    await register('uid,label\n04BB0000000080,a=b', 'Elsewhere', 101, 'Other')
    for (const [n, label] of odd.entries())
      expect(await lines(['label', label])).toMatchObject([{ uid: decimal(`04AA0000000${n}80`), label }])
    expect(await lines(['label', 'a=b'], ['label', '50%_x'], ['label', 'none such'])).toHaveLength(2)
    expect(await found(['label', 'A=B'])).toEqual([])
    expect(await found(['label', ''], ['chipGroup', 'Labelled'])).toEqual([])
    expect(await lines(['label', ''])).toHaveLength(7)
  })
})

test.each([
  ['disabled', 'maybe'],
  ['linked', '2'],
  ['tappedSince', '2026-13-45'],
  ['tappedSince', '2026-02-30T10:00:00Z'],
  ['tappedSince', '7d'],
  ['keySet', 'a'],
  ['chainId', '0'],
  ['generation', ''],
  ['contractAddress', '0x12'],
  ['tokenId', '-1'],
  ['label', 'x'.repeat(201)],
])('%s=%s is refused by its name', async (name, value) => {
  const { status, body } = await t.call(`GET /admin/chips/export?${query([[name, value]])}`)
  expect([status, body.code, body.message]).toEqual([400, 'invalid_input', expect.stringContaining(name)])
})

test('a condition that is given twice is refused, as it could mean either', async () => {
  const { status, body } = await t.call('GET /admin/chips/export?team=Acme&item=a&item=b')
  expect([status, body.message]).toEqual([400, 'item: must be a single value'])
})

test('few chips among many are found over all pages', async () => {
  const uid = (n: number) => decimal(`04${n.toString(16).padStart(10, '0')}80`)
  const rows = Array.from({ length: 5000 }, (_, n) =>
    [uid(n), n % 500 === 0 ? 'https://few.example/' : '', `box ${n}`].join(','),
  )
  await register(`uid,redirectUrl,label\n${rows.join('\n')}`, 'Many', 101)
  const few = Array.from({ length: 10 }, (_, n) => uid(n * 500))
  expect(await found(['redirectUrl', 'https://few.example/'])).toEqual(few.sort())
  expect(await lines(['chipGroup', 'Many'], ['linked', 'false'])).toHaveLength(5000)
  expect(await found(['label', 'box 4999'])).toEqual([uid(4999)])
})

describe('removing chips by rows', () => {
  const apply = async (rows: readonly object[], query = '') => {
    const answer = await t.app.inject({
      method: 'POST',
      url: `/admin/chips/apply?team=Acme${query}`,
      headers: { ...t.admin, 'content-type': 'application/x-ndjson' },
      payload: rows.map((row) => JSON.stringify(row)).join('\n'),
    })
    return answer.body
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  }
  const register = (uid: string) => apply([{ uid, chipGroup: 'Gone', keySet: 101 }])
  const outcome = async (uid: string, counter: number) =>
    (await t.app.inject(tapPath(tap(derived, { uid }, counter)))).statusCode

  test('of ten at once one removes a tapped chip, and its counter stays known', async () => {
    const uid = '04CC0000000180'
    await register(uid)
    expect(await outcome(uid, 5)).toBe(200)
    expect(await apply([{ uid, remove: 'always' }], '&dryRun=true')).toMatchObject([{ status: 'removed' }])
    const ten = await Promise.all(Array.from({ length: 10 }, () => apply([{ uid, remove: 'always' }])))
    const statuses = ten.flat().map(({ status }) => status)
    expect(statuses.sort()).toEqual(['removed', ...Array.from({ length: 9 }, () => 'unchanged')])
    expect(await found(['chipGroup', 'Gone'])).toEqual([])
    await register(uid)
    expect([await outcome(uid, 5), await outcome(uid, 6)]).toEqual([410, 200])
  })

  test("another team's chip is left alone, and a reason is kept where chips are disabled", async () => {
    const theirs = decimal('04827F12647380')
    expect(await apply([{ uid: theirs, remove: 'always' }])).toMatchObject([{ status: 'unchanged' }])
    expect((await t.call(`GET /admin/chips/${theirs}`)).status).toBe(200)
    const uid = '04CC0000000280'
    await register(uid)
    expect(await apply([{ uid, disabled: true }], '&reason=stolen')).toMatchObject([{ status: 'changed' }])
    expect((await t.call(`GET /admin/chips/${uid}`)).body).toMatchObject({ disabledReason: 'stolen' })
    expect(await t.audit('limit=1')).toMatchObject([{ action: 'chips.apply', detail: { reason: 'stolen' } }])
  })
})
