import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { derived, seed, uids } from '../support/seeds.ts'

let t: AdminApp
let contractAddress: string
const other = { ...derived, id: 104, fileReadKey: '00112233445566778899aabbccddeeff' }
beforeAll(async () => {
  t = await openAdminApp({ seed: { ...seed, keySets: [...seed.keySets, other] } })
  contractAddress = (await exported(uids.jacket)).contractAddress
})
afterAll(() => t.close())

const decimal = (hex: string): string => uidFromBytes(Buffer.from(hex, 'hex'))

interface Line {
  row: number
  uid: string | null
  status: string
  changes?: Record<string, { from: unknown; to: unknown }>
  error?: string
}

const send = (rows: readonly object[], query = '', headers: Record<string, string> = t.admin) =>
  t.app.inject({
    method: 'POST',
    url: `/admin/chips/apply?team=Acme&${query}`,
    headers: { ...headers, 'content-type': 'application/x-ndjson' },
    payload: rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  })
const apply = async (...args: Parameters<typeof send>): Promise<Line[]> =>
  (await send(...args)).body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
const one = async (row: object, ...rest: [string?, Record<string, string>?]): Promise<Line> =>
  (await apply([row], ...rest))[0] as Line
const everything = async () =>
  (await t.call('GET /admin/chips/export?team=Acme')).text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
const exported = async (hex: string) => (await everything()).find(({ uid }) => uid === decimal(hex))

let next = 0x10
/** A chip of its own for a test. */
const fresh = async (values: object = {}): Promise<string> => {
  const uid = `04AA00000000${(next++).toString(16).padStart(2, '0')}`.toUpperCase()
  expect(await one({ uid, chipGroup: 'Jackets', keySet: 101, ...values })).toMatchObject({
    status: 'created',
  })
  return uid
}
const token = (tokenId: string) => ({ contractAddress, chainId: 31337, tokenId })

describe('each column', () => {
  const cases: [string, object, object, object][] = [
    ['a label', { label: 'A 1' }, { label: null }, { label: 'A 1' }],
    ['a redirect URL', { redirectUrl: 'https://a.example/' }, { redirectUrl: '' }, {}],
    ['an item and its variant', { item: 'jacket', variant: 's' }, { item: null }, {}],
    ['whether it is disabled', { disabled: true }, { disabled: null }, {}],
  ]
  test.each(cases)('%s is set, and cleared by an empty cell', async (_, set, clear) => {
    const uid = await fresh()
    const before = await exported(uid)
    expect(await one({ uid, ...set })).toMatchObject({ uid: decimal(uid), status: 'changed' })
    expect(await exported(uid)).toEqual({
      ...before,
      ...set,
      isConfigured: expect.any(Boolean),
      revision: expect.any(String),
    })
    expect((await exported(uid)).revision).not.toBe(before.revision)
    expect(await one({ uid, ...set })).toEqual({ row: 1, uid: decimal(uid), status: 'unchanged' })
    expect(await one({ uid, ...clear })).toMatchObject({ status: 'changed' })
    expect(await exported(uid)).toEqual(before)
  })

  test('a token is linked, changed in one of its columns, and unlinked', async () => {
    const uid = await fresh()
    expect(await one({ uid, ...token('71') })).toEqual({
      row: 1,
      uid: decimal(uid),
      status: 'changed',
      changes: {
        contractAddress: { from: null, to: contractAddress },
        chainId: { from: null, to: 31337 },
        tokenId: { from: null, to: '71' },
      },
    })
    // The case of an address is its checksum.
    expect((await one({ uid, ...token('071'), contractAddress: contractAddress.toLowerCase() })).status).toBe(
      'unchanged',
    )
    expect((await one({ uid, tokenId: 72 })).changes).toEqual({ tokenId: { from: '71', to: '72' } })
    expect(await exported(uid)).toMatchObject(token('72'))
    expect((await one({ uid, tokenId: null })).changes).toMatchObject({ chainId: { from: 31337, to: null } })
    expect(await exported(uid)).toMatchObject({ contractAddress: null, chainId: null, tokenId: null })
    expect((await one({ uid, tokenId: '73' })).error).toContain('belong together')
  })

  test('a chip moves to another group, by name or id, and a group that is missing is made', async () => {
    const uid = await fresh()
    const counts = async () =>
      Object.fromEntries(
        (await t.call('GET /admin/chip-groups?team=Acme')).body.map(
          (group: { name: string; chips: number }) => [group.name, group.chips],
        ),
      )
    const before = await counts()
    expect((await one({ uid, chipGroup: 'Shelf 9' }, 'dryRun=true')).changes).toEqual({
      chipGroup: { from: 'Jackets', to: 'Shelf 9' },
    })
    expect(await counts()).toEqual(before)
    expect((await one({ uid, chipGroup: 'Shelf 9' })).status).toBe('changed')
    expect(await counts()).toEqual({ ...before, Jackets: before.Jackets - 1, 'Shelf 9': 1 })
    expect((await one({ uid, chipGroup: '2' })).changes).toEqual({
      chipGroup: { from: 'Shelf 9', to: 'Prints' },
    })
    expect(await one({ uid, chipGroup: '77' })).toMatchObject({
      status: 'failed',
      error: 'chipGroup 77 does not exist. To create a chip group, give a name that is not a number.',
    })
    expect(await one({ uid, chipGroup: '' })).toMatchObject({ status: 'failed' })
    expect((await one({ uid, chipGroup: 'Jackets' })).status).toBe('changed')
    expect(await counts()).toEqual({ ...before, 'Shelf 9': 0 })
  })

  test('a key set changes as long as the taps of the chip can still verify', async () => {
    const uid = await fresh()
    expect((await one({ uid, keySet: 104 })).changes).toEqual({ keySet: { from: 101, to: 104 } })
    expect((await one({ uid, keySet: 101 })).status).toBe('changed')
    const refused = async (keySet: number | null) => (await one({ uid, keySet })).error
    expect(await refused(103)).toContain('there is none for this chip')
    expect(await refused(999)).toContain('Create it first')
    expect(await refused(null)).toContain('must not be empty')
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('chips')
        .set({ lastTapAt: '2026-01-01T00:00:00.000Z', lastCounter: 9 })
        .where('uid', '=', decimal(uid))
        .execute(),
    )
    expect(await refused(104)).toContain('would no longer verify')
    const { lastCounter } = await exported(uid)
    expect(lastCounter).toBe(9)
  })
})
