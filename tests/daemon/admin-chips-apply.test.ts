import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { type AdminApp, bearer, openAdminApp } from '../support/admin.ts'
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
    expect((await send([{ uid, chipGroup: '' }])).json().message).toContain('chipGroup must not be empty')
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

describe('a row', () => {
  test('whose revision is no longer that of the chip is a conflict, unless it would change nothing', async () => {
    const uid = await fresh()
    const { revision } = await exported(uid)
    expect((await one({ uid, redirectUrl: 'https://b.example/', revision })).status).toBe('changed')
    expect(await one({ uid, redirectUrl: 'https://c.example/', revision })).toMatchObject({
      status: 'conflict',
      error: expect.stringContaining('changed in the meantime'),
    })
    expect((await one({ uid, redirectUrl: 'https://b.example/', revision })).status).toBe('unchanged')
    expect((await one({ uid, label: 'X', expected: { redirectUrl: null } })).status).toBe('conflict')
    expect((await exported(uid)).redirectUrl).toBe('https://b.example/')
    expect((await one({ uid, redirectUrl: null })).status).toBe('changed')
    expect((await exported(uid)).revision).toBe(revision)
  })

  test('sent ten times at once with one revision: one takes effect, the others are conflicts', async () => {
    const uid = await fresh()
    const { revision } = await exported(uid)
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, n) => one({ uid, redirectUrl: `https://c.example/${n}`, revision })),
    )
    const won = results.filter(({ status }) => status === 'changed')
    expect([won.length, results.filter(({ status }) => status === 'conflict').length]).toEqual([1, 9])
    expect((await exported(uid)).redirectUrl).toBe(won[0]?.changes?.redirectUrl?.to)
  })

  test('fails alone: an unknown item, contract, or chip, and a label of another chip', async () => {
    const [a, b, c] = [await fresh(), await fresh({ label: 'Held' }), await fresh()]
    const far = '0x00000000000000000000000000000000000000aa'
    const results = await apply([
      { uid: a, item: 'nope' },
      { uid: b, contractAddress: far, chainId: 1, tokenId: '1' },
      { uid: '04AAFFFFFFFF01', label: 'Nobody' },
      { label: 'No such label', redirectUrl: null },
      { uid: c, label: 'Held' },
      { label: 'Held', redirectUrl: 'https://held.example/' },
      { uid: '04827F12647380', label: 'Theirs', chipGroup: 'Jackets', keySet: 101 },
    ])
    expect(results.map(({ status }) => status)).toEqual([
      'failed',
      'failed',
      'failed',
      'failed',
      'failed',
      'failed',
      'failed',
    ])
    expect(results.map(({ error }) => error)).toEqual([
      expect.stringContaining('item nope does not exist'),
      expect.stringContaining('is not a contract of the team'),
      expect.stringContaining('the row needs chipGroup and keySet'),
      expect.stringContaining('No chip of the team has the label "No such label"'),
      expect.stringContaining(`label "Held" belongs to the chip ${decimal(b)}`),
      // The same chip as in row 2.
      'The chip is already in row 2.',
      expect.stringContaining('another team'),
    ])
    expect(await one({ label: 'Held', redirectUrl: 'https://held.example/' })).toMatchObject({
      uid: decimal(b),
      status: 'changed',
    })
  })

  test('gets the label that another row gives up', async () => {
    const [a, b] = [await fresh({ label: 'One' }), await fresh({ label: 'Two' })]
    const swap = [
      { uid: a, label: 'Two' },
      { uid: b, label: 'One' },
    ]
    expect((await apply(swap, 'dryRun=true')).map(({ status }) => status)).toEqual(['changed', 'changed'])
    expect((await apply(swap)).map(({ status }) => status)).toEqual(['changed', 'changed'])
    expect([(await exported(a)).label, (await exported(b)).label]).toEqual(['Two', 'One'])
  })

  test('of a chip with power over tokens needs transfer, like the single commands', async () => {
    const { body } = await t.call('POST /admin/admin-tokens', { name: 'desk', scopes: ['edit'] })
    const desk = bearer(body.token)
    const disabled = await fresh({ item: 'jacket', disabled: true })
    const [plainChip, minting] = [await fresh(), await fresh({ item: 'jacket', ...token('91') })]
    const refused = async (row: object) => (await one(row, '', desk)).error
    expect(await refused({ uid: plainChip, ...token('90') })).toContain('someone who has the scope "keys"')
    expect(await refused({ uid: plainChip, item: 'jacket' })).toContain('someone who has the scope "keys"')
    expect(await refused({ uid: disabled, disabled: false })).toContain('someone who has the scope "keys"')
    expect(await refused({ uid: minting, keySet: 104 })).toContain('someone who has the scope "keys"')
    expect(await refused({ uid: minting, tokenId: null })).toContain('someone who has the scope "keys"')
    expect(
      await refused({ uid: '04AAFFFFFFFF02', chipGroup: 'Jackets', keySet: 101, item: 'jacket' }),
    ).toContain('someone who has the scope "keys"')
    expect((await one({ uid: minting, label: 'Allowed', disabled: true }, '', desk)).status).toBe('changed')
  })

  test('is removed only as it was registered, as long as nothing happened to it', async () => {
    const nothing = {
      label: null,
      redirectUrl: null,
      item: null,
      variant: null,
      contractAddress: null,
      chainId: null,
      tokenId: null,
    }
    const expected = { ...nothing, chipGroup: 'Jackets', keySet: 101, disabled: false }
    const [kept, gone] = [await fresh(), await fresh()]
    await one({ uid: kept, label: 'Kept' })
    expect((await one({ uid: kept, remove: true, expected })).status).toBe('conflict')
    const removed = { uid: gone, remove: true, expected }
    const statuses = (await Promise.all(Array.from({ length: 10 }, () => one(removed)))).map(
      ({ status }) => status,
    )
    expect(statuses.sort()).toEqual(['removed', ...Array(9).fill('unchanged')])
    expect(await exported(gone)).toBeUndefined()
  })
})

test('lines that do not fit refuse the whole body, each with its reason', async () => {
  const uid = await fresh()
  const answer = await send([
    { uid, redirectUrl: 'javascript:alert(1)' },
    { uid, colour: 'red' },
    { redirectUrl: null },
    { uid: '04zz' },
    { uid, disabled: 'maybe' },
    { uid, chainId: 1.5 },
    { uid, remove: true },
    [1],
    { uid, redirectUrl: 'https://fine.example/' },
  ])
  expect([answer.statusCode, answer.json().message]).toEqual([
    400,
    expect.stringContaining('Nothing was done. row 1: redirectUrl'),
  ])
  for (const words of [
    'row 2: colour is not a column',
    'row 3: uid is missing',
    'row 4: uid must be',
    'row 5: disabled must be',
    'row 6: chainId must be a whole',
    'row 7: expected is missing',
    'row 8: must be an object',
  ])
    expect(answer.json().message).toContain(words)
  expect((await exported(uid)).redirectUrl).toBeNull()
})

test('disabling ends what taps gave, and each piece has one entry in the audit log', async () => {
  const many = Array.from({ length: 120 }, (_, n) => `04AC00000000${n.toString(16).padStart(2, '0')}`)
  const rows = many.map((uid) => ({ uid, chipGroup: 'Many', keySet: 101 }))
  expect((await apply(rows, 'dryRun=true')).every(({ status }) => status === 'created')).toBe(true)
  expect((await everything()).filter(({ chipGroup }) => chipGroup === 'Many')).toEqual([])
  expect((await apply(rows)).every(({ status }) => status === 'created')).toBe(true)
  const entries = (await t.audit('team=Acme&action=chips.apply')).slice(0, 3) as {
    target: string
    detail: { rows: unknown[] }
  }[]
  expect(entries[0]?.target).toMatch(/^\d+ chips$/)
  expect(entries[0]?.detail.rows.length).toBeLessThanOrEqual(100)
  expect(entries[0]?.detail.rows[0]).toMatchObject({
    status: 'created',
    changes: { chipGroup: { from: null, to: 'Many' } },
  })
})
