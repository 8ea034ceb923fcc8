import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'
import { openTestApp } from '../support/daemon.ts'
import { seed } from '../support/seeds.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp()
})
afterEach(() => t.close())

test('a team is created, listed and removed, and the audit log says by whom', async () => {
  const created = await t.call('POST /admin/teams', { name: 'Acme' })
  expect(created).toMatchObject({ status: 200, body: { id: 1, name: 'Acme', createdAt: expect.any(String) } })
  expect((await t.call('GET /admin/teams')).body).toEqual([created.body])
  expect(await t.call('DELETE /admin/teams/1')).toMatchObject({ status: 200, body: { success: true } })
  expect((await t.call('GET /admin/teams')).body).toEqual([])
  expect(await t.audit()).toMatchObject([
    { action: 'teams.delete', actor: 'admin:root', target: 'Acme', team: null },
    { action: 'teams.create', actor: 'admin:root', target: 'Acme', team: null },
  ])
})

test('of ten teams of one name created at once there is one', async () => {
  expect(await tenTimes(() => t.call('POST /admin/teams', { name: 'Acme' }))).toEqual({ 200: 1, 409: 9 })
  expect((await t.call('GET /admin/teams')).body).toHaveLength(1)
  expect(await t.audit('action=teams')).toHaveLength(1)
})

test('a team that still has something is not removed, and the answer says what it has', async () => {
  await t.call('POST /admin/teams', { name: 'Acme' })
  await t.call('POST /admin/chip-groups', { name: 'Jackets' })
  await t.call('POST /admin/api-keys', { name: 'ops' })
  const refused = await t.call('DELETE /admin/teams/1')
  expect(refused).toMatchObject({ status: 409, body: { code: 'in_use' } })
  expect(refused.body.message).toContain('chip groups, API keys that are not revoked')
  expect(await t.call('DELETE /admin/teams/99')).toMatchObject({ status: 404, body: { code: 'not_found' } })
})

test('a team whose API keys are all revoked can be removed', async () => {
  await t.call('POST /admin/teams', { name: 'Acme' })
  const { key } = (await t.call('POST /admin/api-keys', { name: 'ops' })).body
  await t.call('DELETE /admin/api-keys/1')
  expect((await t.call('DELETE /admin/teams/1')).status).toBe(200)
  expect((await t.call('GET /chip-groups', undefined, { 'x-svc-api-key': key })).status).toBe(401)
})

test('an id that was given out is not given out again', async () => {
  await t.call('POST /admin/teams', { name: 'Acme' })
  await t.call('DELETE /admin/teams/1')
  expect((await t.call('POST /admin/teams', { name: 'Globex' })).body.id).toBe(2)
})

test('a request about a team takes the one it names, then its API key’s, then the only one', async () => {
  const none = await t.call('GET /admin/links')
  expect(none).toMatchObject({ status: 400, body: { code: 'team_required' } })
  await t.call('POST /admin/teams', { name: 'Acme' })
  expect((await t.call('POST /admin/chip-groups', { name: 'A' })).body.team).toBe('Acme')

  await t.call('POST /admin/teams', { name: 'Globex' })
  const { key } = (await t.call('POST /admin/api-keys', { name: 'ops', team: 'Globex' })).body
  const several = await t.call('GET /admin/links')
  expect(several).toMatchObject({ status: 400, body: { code: 'team_required' } })
  expect(several.body.message).toContain('--team NAME')
  expect(several.body.message).toContain('Acme, Globex')

  const withKey = { ...t.admin, 'x-svc-api-key': key }
  expect((await t.call('POST /admin/chip-groups', { name: 'B' }, withKey)).body.team).toBe('Globex')
  expect((await t.call('POST /admin/chip-groups', { name: 'C', team: 'Acme' }, withKey)).body.team).toBe(
    'Acme',
  )
  expect((await t.call('POST /admin/chip-groups', { name: 'D', team: '2' })).body.team).toBe('Globex')
  expect((await t.call('GET /admin/links?team=Nobody')).status).toBe(404)
})

test('a team whose name is a number is found by its name before another’s id', async () => {
  await t.call('POST /admin/teams', { name: 'Acme' })
  await t.call('POST /admin/teams', { name: '1' })
  expect((await t.call('POST /admin/chip-groups', { name: 'X', team: '1' })).body.team).toBe('1')
})

test('an API key that is not good does not fall back to the only team', async () => {
  await t.call('POST /admin/teams', { name: 'Acme' })
  const headers = { ...t.admin, 'x-svc-api-key': 'svc_wrong' }
  expect(await t.call('GET /admin/links', undefined, headers)).toMatchObject({
    status: 401,
    body: { code: 'api_key_unknown' },
  })
})

test('a name that is empty or missing is refused, naming the field', async () => {
  for (const body of [{}, { name: '  ' }, { name: 5 }, { name: 'a\0b' }]) {
    const refused = await t.call('POST /admin/teams', body)
    expect(refused.status).toBe(400)
    expect(refused.body.message).toContain('name')
  }
  expect((await t.call('GET /admin/teams')).body).toEqual([])
})

test('a team that is removed at the same moment takes nothing new', async () => {
  const address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
  const makers: [string, object][] = [
    ['POST /admin/chip-groups', { name: 'X' }],
    ['POST /admin/links', { label: 'X', baseUrl: 'https://acme.example' }],
    ['POST /admin/items', { id: 'x', name: 'X' }],
    ['POST /admin/contracts', { symbol: 'X', name: 'X', chainId: 1, address }],
    ['POST /admin/api-keys', { name: 'X' }],
  ]
  for (const [endpoint, fields] of makers) {
    const { id, name } = (await t.call('POST /admin/teams', { name: endpoint })).body
    const [removed, made] = await Promise.all([
      t.call(`DELETE /admin/teams/${id}`),
      t.call(endpoint, { ...fields, team: name }),
    ])
    expect([removed.status, made.status]).toSatisfy(
      ([a, b]) => (a === 200 && b === 404) || (a === 409 && b === 200),
    )
  }
})

const none = { name: null, color: null, background: null, logoUrl: null }

test('the look of a team is set field by field, with the scope edit alone, and cleared by null', async () => {
  expect((await t.call('POST /admin/teams', { name: 'Acme' })).body.brand).toEqual(none)
  const edit = { name: 'designer', scopes: ['edit'] }
  const { token } = (await t.call('POST /admin/admin-tokens', edit)).body
  const change = (body: object) =>
    t.call('PATCH /admin/teams/1', body, {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    })
  const look = {
    name: 'Acme Outdoor',
    color: '#0B7',
    background: '#FFFFFF',
    logoUrl: 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/logo.svg',
  }
  expect(await change({ brand: look })).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
  const set = await change({ brand: { ...look, color: '#0b6b4f' } })
  const stored = { ...look, color: '#0b6b4f', background: '#ffffff' }
  expect(set).toMatchObject({ status: 200, body: { id: 1, brand: stored } })
  await change({ brand: { ...stored } })
  expect((await change({ brand: { background: null } })).body.brand).toEqual({ ...stored, background: null })
  expect((await t.call('GET /admin/teams')).body[0].brand).toEqual({ ...stored, background: null })

  const beyond = await change({ brand: { name: 'Other' }, transactionsPerDay: 5 })
  expect(beyond).toMatchObject({ status: 403, body: { code: 'scope_missing' } })
  for (const body of [{}, { brand: {} }]) expect((await change(body)).status).toBe(400)
  expect((await change({ brand: none })).body.brand).toEqual(none)
  expect((await t.audit('action=teams.edit')).map(({ detail }) => detail)).toMatchObject([
    { brandName: { from: 'Acme Outdoor', to: null }, brandColor: { from: '#0b6b4f', to: null } },
    { brandBackground: { from: '#ffffff', to: null } },
    { brandName: { from: null, to: 'Acme Outdoor' }, brandColor: { from: null, to: '#0b6b4f' } },
  ])
})

test('a look that cannot be seen, or that loads from elsewhere than the web, is refused and named', async () => {
  await t.call('POST /admin/teams', { name: 'Acme' })
  const brand = async (fields: object) => {
    const { status, body } = await t.call('PATCH /admin/teams/1', { brand: fields })
    return status === 200 ? 'taken' : body.message
  }
  expect(await brand({ color: '#ff0' })).toMatch(
    /^brand.color #ffff00 .* contrast is 1:1, and 3:1 .*: #969600$/,
  )
  expect(await brand({ color: '#969600' })).toBe('taken')
  // The stored colour counts, too.
  expect(await brand({ background: '#808000' })).toContain('brand.color #969600 cannot be seen')
  expect(await brand({ color: '#ff0', background: '#111' })).toBe('taken')
  expect(await brand({ background: null })).toContain("the page's own background")
  for (const color of ['red', '#12345', '#1234567', 'rgb(0,0,0)', '#0b6b4f;}', ''])
    expect(await brand({ color })).toContain('brand.color: must be a colour')
  const logos = [
    'http://a.example/l.png',
    'javascript:alert(1)',
    'data:image/png;base64,AA',
    '/l.png',
    'https://',
  ]
  for (const logoUrl of [...logos, 'ipfs://x', 'ar://../x'])
    expect(await brand({ logoUrl })).toContain('brand.logoUrl: must be a whole https:// URL')
  expect(await brand({ logoUrl: 'https://u:p@a.example/l.png' })).toContain('without credentials')
  expect(await brand({ logoUrl: `https://a.example/${'x'.repeat(2048)}` })).toContain('at most 2048')
  for (const name of ['', ' ', 'x'.repeat(81)]) expect(await brand({ name })).toContain('brand.name')
})

test('a seed gives a team its look, and leaves one that it has alone', async () => {
  const [acme, other] = seed.teams
  const brand = { name: 'Acme Outdoor', color: '#0b6b4f' }
  const app = await openTestApp({ seed: { ...seed, teams: [{ ...acme, brand }, other] } })
  const { teams } = { teams: await app.ctx.db.read.selectFrom('teams').selectAll().execute() }
  await app.close()
  expect(teams).toMatchObject([{ brandName: 'Acme Outdoor', brandColor: '#0b6b4f' }, { brandName: null }])
  const bad = { ...seed, teams: [{ ...acme, brand: { color: '#fff' } }, other] }
  await expect(openTestApp({ seed: bad })).rejects.toThrow(
    /teams.0.brand: brand.color #ffffff cannot be seen/,
  )
})
