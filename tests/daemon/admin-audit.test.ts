import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { acmeKey, otherKey, seed, uids } from '../support/seeds.ts'

let t: AdminApp
let clock: TestClock
beforeEach(async () => {
  clock = testClock()
  t = await openAdminApp({ clock })
  await t.call('POST /admin/teams', { name: 'Acme' })
  await t.call('POST /admin/teams', { name: 'Globex' })
  clock.advance('1h')
  for (const name of ['a', 'b', 'c']) await t.call('POST /admin/chip-groups', { name, team: 'Acme' })
})
afterEach(() => t.close())

test('a change is recorded with its time, actor, team and request', async () => {
  const { body, text } = await t.call('GET /admin/audit?limit=1')
  expect(body).toEqual([
    {
      id: 5,
      at: '2026-06-01T13:00:00.000Z',
      actor: 'admin:root',
      team: 'Acme',
      action: 'chip-groups.create',
      target: 'c',
      detail: { id: 3 },
      requestId: expect.any(String),
      batch: null,
    },
  ])
  expect(text).not.toContain('teamId')
})

test('the log is filtered by team, action, actor and time, and read page by page', async () => {
  const targets = async (query: string) => (await t.audit(query)).map(({ target }) => target)
  expect(await targets('')).toEqual(['c', 'b', 'a', 'Globex', 'Acme'])
  expect(await targets('limit=2&before=5')).toEqual(['b', 'a'])
  expect(await targets('team=Globex')).toEqual(['Globex'])
  expect(await targets('team=2')).toEqual(['Globex'])
  expect(await targets('action=teams')).toEqual(['Globex', 'Acme'])
  expect(await targets('action=teams.create')).toEqual(['Globex', 'Acme'])
  expect(await targets('action=team')).toEqual([])
  expect(await targets('action=Teams')).toEqual([])
  expect(await targets('actor=admin:nobody')).toEqual([])
  expect(await targets('since=2026-06-01T12:30:00Z')).toEqual(['c', 'b', 'a'])
  expect(await targets('since=2026-06-02')).toEqual([])
})

test('a change names the batch that its request says, and the log is filtered by it', async () => {
  const batch = 'b_1hq3v9k7s2m4xa'
  await t.call('POST /admin/chip-groups', { name: 'd', team: 'Acme' }, { ...t.admin, 'tapchip-batch': batch })
  const { body } = await t.call(`GET /admin/audit?batch=${batch}`)
  expect(body).toEqual([expect.objectContaining({ target: 'd', batch })])
  expect((await t.audit(`batch=b_00000000000000`)).length).toBe(0)
  expect((await t.call('GET /admin/audit?batch=b_1')).body.message).toContain('the id of a batch')
  for (const name of ['b_1hq3v9k7s2m4x', 'B_1HQ3V9K7S2M4XA', `${batch}a`, '']) {
    const headers = { ...t.admin, 'tapchip-batch': name }
    const refused = await t.call('POST /admin/chip-groups', { name: 'e', team: 'Acme' }, headers)
    expect([refused.status, refused.body.message]).toEqual([
      400,
      'The header tapchip-batch must be the id of a batch, such as b_1hq3v9k7s2m4xa.',
    ])
  }
})

test('the log does not name the batch of another team', async (context) => {
  const s = await openAdminApp({ clock, seed })
  context.onTestFinished(() => s.close())
  const [acme, other] = [{ 'x-svc-api-key': acmeKey }, { 'x-svc-api-key': otherKey }]
  const batchOf = async (headers: Record<string, string>) =>
    String(
      (await s.call('POST /batches', { kind: 'chips edit', total: 1, rowsHash: '0'.repeat(64) }, headers))
        .body.batch.id,
    )
  const inLogAlone = 'b_1hq3v9k7s2m4xa'
  const headers = { ...s.admin, 'tapchip-batch': inLogAlone }
  await s.call('POST /admin/chip-groups', { name: 'g', team: 'Other' }, headers)
  const [foreign, own, box] = [await batchOf(other), await batchOf(acme), 'b_1hq3v9k7s2m4xb']
  for (const batch of [foreign, inLogAlone, own, box]) {
    const updates = { redirectUrl: `https://acme.example/${batch}` }
    const asked = { ...acme, 'tapchip-batch': batch }
    expect((await s.call('PATCH /chips', { tagUIDs: [uids.blank], updates }, asked)).status).toBe(200)
    const [entry] = await s.audit('action=chips.edit')
    expect([batch, entry]).toEqual([
      batch,
      expect.objectContaining({ batch: batch === own || batch === box ? batch : null }),
    ])
  }
})

test('a request with an API key sees its team’s changes', async () => {
  const { key } = (await t.call('POST /admin/api-keys', { name: 'ops', team: 'Globex' })).body
  const { body } = await t.call('GET /admin/audit', undefined, { ...t.admin, 'x-svc-api-key': key })
  expect(body.map(({ target }: { target: string }) => target)).toEqual(['ops', 'Globex'])
})

test('a change that is refused leaves no record', async () => {
  await t.call('POST /admin/chip-groups', { name: 'a', team: 'Acme' })
  await t.call('DELETE /admin/teams/1')
  expect(await t.audit()).toHaveLength(5)
})

test('a page that does not fit is refused, naming the field', async () => {
  for (const [field, value] of [
    ['limit', '0'],
    ['limit', '5000'],
    ['before', 'x'],
    ['since', 'yesterday'],
  ]) {
    const refused = await t.call(`GET /admin/audit?${field}=${value}`)
    expect(refused.status).toBe(400)
    expect(refused.body.message).toContain(field)
  }
})

test('a chip is asked for what was changed on it, also by a batch of many chips, a transfer aside', async (context) => {
  const s = await openAdminApp({ clock, seed })
  context.onTestFinished(() => s.close())
  const own = Object.values(uids).slice(0, 2)
  const [one = '', other = ''] = own
  const acme = { 'x-svc-api-key': acmeKey }
  const edit = (tagUIDs: string[], redirectUrl: string) =>
    s.call('PATCH /chips', { tagUIDs, updates: { redirectUrl } }, acme)
  expect((await edit(own, 'https://acme.example/1')).status).toBe(200)
  expect((await edit([other], 'https://acme.example/2')).status).toBe(200)
  const lines = own.map((uid) => JSON.stringify({ uid, redirectUrl: 'https://acme.example/3' })).join('\n')
  const headers = { ...acme, 'content-type': 'application/x-ndjson' }
  await s.app.inject({ method: 'POST', url: '/chips/batch', headers, payload: lines })
  await s.call(`POST /admin/chips/${one}/disable`, { reason: 'lost' })

  const actions = async (query: string) => (await s.audit(query)).map(({ action }) => action)
  expect(await actions(`uid=${one}`)).toEqual(['chips.disable', 'chips.batch', 'chips.edit'])
  expect(await actions(`uid=${other}`)).toEqual(['chips.batch', 'chips.edit', 'chips.edit'])
  expect(await actions(`uid=${other}&limit=2`)).toEqual(['chips.batch', 'chips.edit'])
  expect(await actions(`uid=${one}&action=chips.disable`)).toEqual(['chips.disable'])
  expect(await actions(`uid=${one}&team=Other`)).toEqual([])
  expect(await actions(`uid=${one}&by=ops`)).toEqual(['chips.batch', 'chips.edit'])
  const [batch] = await s.audit('action=chips.batch')
  expect(batch?.detail).toMatchObject({
    changed: 2,
    rows: [
      { previous: 'https://acme.example/1', redirectUrl: 'https://acme.example/3' },
      { previous: 'https://acme.example/2', redirectUrl: 'https://acme.example/3' },
    ],
  })
  const [, first] = await s.audit('action=chips.edit')
  expect(first?.detail).toMatchObject({ redirectUrl: 'https://acme.example/1' })
  expect(first?.detail).toHaveProperty('rows.length', 2)
})

test('who did it is asked by the plain name of a key or a token, also once it is revoked', async () => {
  const { id } = (await t.call('POST /admin/api-keys', { name: 'ops', team: 'Acme' })).body
  const { token } = (await t.call('POST /admin/admin-tokens', { name: 'alice', scopes: ['all'] })).body
  const alice = { authorization: `Bearer ${token}` }
  await t.call('POST /admin/chip-groups', { name: 'd', team: 'Acme' }, alice)
  await t.call(`DELETE /admin/api-keys/${id}`, undefined, alice)
  const [own] = (await t.call('GET /admin/admin-tokens')).body
  expect((await t.call(`DELETE /admin/admin-tokens/${own.id}`)).status).toBe(200)
  const targets = async (query: string) => (await t.audit(query)).map(({ target }) => target)
  expect(await targets('by=alice')).toEqual(['ops', 'd'])
  expect(await targets('by=admin:alice')).toEqual(['ops', 'd'])
  expect(await targets('by=alice&actor=admin:root')).toEqual([])
  expect(await targets('by=ali')).toEqual([])
})
