import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'

const address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const jacket = {
  id: 'jacket',
  name: 'Jacket',
  description: 'Warm',
  imageUrl: 'https://acme.example/j.png',
  contract: 'JKT',
  media: [{ mimeType: 'image/png', url: 'https://acme.example/1.png' }],
  attributes: [{ name: 'Size', values: ['S', 'M'] }],
  variants: [{ id: 's', attributes: [{ name: 'Size', value: 'S' }] }],
}

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({
    seed: {
      version: 1,
      keySets: [{ id: 1, metaReadKey: '0'.repeat(32), fileReadKey: '0'.repeat(32), diversification: 'none' }],
      teams: [
        {
          name: 'Acme',
          apiKeys: [{ name: 'ops', key: 'svc_acme-ops' }],
          contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337, address }],
          items: [{ id: 'bound', name: 'Bound', variants: [{ id: 'v', attributes: [] }] }],
          chipGroups: [
            { name: 'G', chips: [{ uid: '04DE5F1EACC040', keySet: 1, item: 'bound', variant: 'v' }] },
          ],
          guestbookContracts: [{ symbol: 'GB', name: 'Guests', chainId: 31337 }],
        },
        { name: 'Globex', apiKeys: [{ name: 'ops', key: 'svc_globex-ops' }] },
      ],
    },
  })
})
afterEach(() => t.close())

test('an item is created with its contract, and the interface shows it to its team alone', async () => {
  const created = await t.call('POST /admin/items', { ...jacket, team: 'Acme' })
  const shown = {
    ...jacket,
    contract: { name: 'Jackets', symbol: 'JKT', address, chainId: 31337 },
    featuredMedia: jacket.media[0],
  }
  expect(created).toMatchObject({ status: 200, body: shown })
  expect((await t.call('GET /items/jacket', undefined, { 'x-svc-api-key': 'svc_acme-ops' })).body).toEqual(
    shown,
  )
  expect((await t.call('GET /items/jacket', undefined, { 'x-svc-api-key': 'svc_globex-ops' })).status).toBe(
    404,
  )
  const listed = (await t.call('GET /admin/items?team=Acme')).body
  expect(listed.map(({ id }: { id: string }) => id)).toEqual(['bound', 'jacket'])
  expect((await t.audit())[0]).toMatchObject({
    action: 'items.create',
    actor: 'admin:root',
    target: 'jacket',
    team: 'Acme',
  })
})

test('an edit replaces the members that are given and leaves the others', async () => {
  const { body: before } = await t.call('POST /admin/items', { ...jacket, team: 'Acme' })
  const edited = await t.call('PATCH /admin/items/jacket', {
    team: 'Acme',
    name: 'Coat',
    contract: null,
    media: [],
  })
  expect(edited.body).toEqual({ ...before, name: 'Coat', contract: null, media: [], featuredMedia: null })
  expect((await t.audit())[0]).toMatchObject({
    action: 'items.edit',
    detail: { members: ['name', 'contract', 'media'] },
  })
  expect((await t.call('PATCH /admin/items/jacket', { team: 'Acme' })).body).toEqual(edited.body)
  const again = { team: 'Acme', name: 'Coat', contract: null, media: [] }
  expect((await t.call('PATCH /admin/items/jacket', again)).body).toEqual(edited.body)
  expect(await t.audit('action=items.edit')).toHaveLength(1)
  expect((await t.call('PATCH /admin/items/none', { team: 'Acme', name: 'X' })).status).toBe(404)
})

test('of ten edits that expect the same one is done, and one that is done already is no conflict', async () => {
  await t.call('POST /admin/items', { ...jacket, team: 'Acme' })
  const expected = { name: 'Jacket', media: jacket.media }
  let n = 0
  const edit = () =>
    t.call('PATCH /admin/items/jacket', { team: 'Acme', name: `Coat ${n++}`, media: [], expected })
  expect(await tenTimes(edit)).toEqual({ 200: 1, 409: 9 })
  expect(await t.audit('action=items.edit')).toHaveLength(1)
  const { body } = await t.call('GET /items/jacket', undefined, { 'x-svc-api-key': 'svc_acme-ops' })
  const again = { team: 'Acme', name: body.name, media: [], expected }
  expect((await t.call('PATCH /admin/items/jacket', again)).body).toEqual(body)
  const late = await t.call('PATCH /admin/items/jacket', { team: 'Acme', name: 'X', expected })
  expect(late).toMatchObject({ status: 409, body: { code: 'conflict' } })
})

test('of ten items with one id created at once there is one, and another team may use the id', async () => {
  expect(await tenTimes(() => t.call('POST /admin/items', { ...jacket, team: 'Acme' }))).toEqual({
    200: 1,
    409: 9,
  })
  expect((await t.call('POST /admin/items', { id: 'jacket', name: 'J', team: 'Globex' })).status).toBe(200)
})

const refusedFields: [string, object][] = [
  ['id', { id: 'a b' }],
  ['name', { name: '' }],
  ['contract', { contract: 'NONE' }],
  ['contract', { contract: 'GB' }],
  ['imageUrl', { imageUrl: 'java\tscript:alert(1)' }],
  ['media.0.url', { media: [{ mimeType: 'image/png', url: 'JavaScript:alert(1)' }] }],
  ['media.0.url', { media: [{ mimeType: 'image/png' }] }],
  [
    'variants',
    {
      variants: [
        { id: 's', attributes: [] },
        { id: 's', attributes: [] },
      ],
    },
  ],
]

test('an item of which something does not fit is refused, naming it', async () => {
  for (const [field, fields] of refusedFields) {
    const { status, body } = await t.call('POST /admin/items', { ...jacket, ...fields, team: 'Acme' })
    expect([status, body.message], JSON.stringify(fields)).toEqual([400, expect.stringContaining(field)])
  }
  expect((await t.call('GET /admin/items?team=Acme')).body).toHaveLength(1)
})

test('an item that chips are bound to is not removed, nor is a variant of it', async () => {
  expect(await t.call('DELETE /admin/items/bound?team=Acme')).toMatchObject({
    status: 409,
    body: { code: 'in_use' },
  })
  const refused = await t.call('PATCH /admin/items/bound', { team: 'Acme', variants: [] })
  expect(refused).toMatchObject({ status: 409, body: { code: 'in_use' } })
  expect((await t.call('GET /admin/items?team=Acme')).body[0].variants).toHaveLength(1)
})

test('an item without chips is removed, and only from the team that is named', async () => {
  await t.call('POST /admin/items', { ...jacket, team: 'Acme' })
  expect((await t.call('DELETE /admin/items/jacket?team=Globex')).status).toBe(404)
  expect((await t.call('DELETE /admin/items/jacket?team=Acme')).status).toBe(200)
  expect((await t.call('DELETE /admin/items/jacket?team=Acme')).status).toBe(404)
  expect((await t.audit())[0]).toMatchObject({ action: 'items.delete', target: 'jacket', team: 'Acme' })
})
