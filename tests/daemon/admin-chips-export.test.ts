import { afterAll, beforeAll, expect, test } from 'vitest'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { listedKey, seed, uids } from '../support/seeds.ts'

let t: AdminApp
beforeAll(async () => {
  t = await openAdminApp({ seed })
})
afterAll(() => t.close())

const decimal = (hex: string): string => uidFromBytes(Buffer.from(hex, 'hex'))
const exported = async (query: string) => {
  const { text } = await t.call(`GET /admin/chips/export?${query}`)
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

test('an export has a line a chip of the team, with what it is bound to and without any key', async () => {
  const lines = await exported('team=Acme')
  expect(lines).toHaveLength(7)
  expect(lines.find(({ uid }) => uid === decimal(uids.jacket))).toEqual({
    uid: decimal(uids.jacket),
    chipGroup: 'Jackets',
    keySet: 101,
    label: null,
    redirectUrl: 'https://acme.example/jacket?x=a%20b',
    item: 'jacket',
    variant: 's',
    contractAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
    chainId: 31337,
    tokenId: '1',
    disabled: false,
    lastCounter: null,
    publicKey: null,
    generation: 0,
    lastTapAt: null,
    createdAt: expect.stringMatching(/Z$/),
    isConfigured: true,
    revision: expect.stringMatching(/^r[0-9a-f]{12}$/),
  })
  const { text } = await t.call('GET /admin/chips/export?team=Acme')
  expect(text).not.toContain('fileReadKey')
  expect(text.toLowerCase()).not.toContain(listedKey)
})

test('an export of one group, by name or id', async () => {
  const prints = [decimal(uids.plain), decimal(uids.listed)].sort()
  expect((await exported('team=Acme&chipGroup=Prints')).map(({ uid }) => uid)).toEqual(prints)
  expect((await exported('team=Acme&chipGroup=2')).map(({ uid }) => uid)).toEqual(prints)
  expect((await t.call('GET /admin/chips/export?team=Acme&chipGroup=Others')).status).toBe(404)
  expect((await t.call('GET /admin/chips/export?team=Acme&chipGroup=3')).status).toBe(404)
})

test("a team's export has its own chips alone, and a team must be named where there are several", async () => {
  expect((await exported('team=Other')).map(({ uid }) => uid)).toEqual([decimal('04827F12647380')])
  expect(await t.call('GET /admin/chips/export')).toMatchObject({
    status: 400,
    body: { code: 'team_required' },
  })
})

test('an export goes over many pages, and comes back in by an import that changes nothing', async () => {
  const rows = Array.from({ length: 2500 }, (_, n) =>
    uidFromBytes(Buffer.from(`04${n.toString(16).padStart(12, '0')}`, 'hex')),
  )
  const send = (payload: string, type: string) =>
    t.app.inject({
      method: 'POST',
      url: '/admin/chips/import?team=Other&chipGroup=Many&keySet=101&report=failures',
      headers: { ...t.admin, 'content-type': type },
      payload,
    })
  await send(`uid\n${rows.join('\n')}`, 'text/csv')
  const lines = await exported('team=Other&chipGroup=Many')
  expect(lines.map(({ uid }) => uid)).toEqual([...rows].sort())
  const back = lines.map(({ chipGroup: _group, keySet: _set, ...row }) => JSON.stringify(row)).join('\n')
  expect((await send(back, 'application/x-ndjson')).json()).toEqual({
    created: 0,
    unchanged: 2500,
    failed: 0,
  })
})
