import { createHmac, hkdfSync } from 'node:crypto'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, bearer, openAdminApp } from '../support/admin.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp()
  for (const name of ['Acme', 'Globex']) await t.call('POST /admin/teams', { name })
})
afterEach(() => t.close())

const withKey = (key: string) => ({ 'x-svc-api-key': key })
const keyOf = async (team: string, scopes: string[] = ['all'], name = 'ops') =>
  (await t.call('POST /admin/api-keys', { name, team, scopes })).body.key as string
const tokenOf = async (team: string | undefined, scopes: string[] = ['all'], name = 'desk') =>
  (await t.call('POST /admin/admin-tokens', { name, team, scopes })).body.token as string

describe('an API key alone', () => {
  test('is taken under /admin for its own team, by its scopes', async () => {
    const key = await keyOf('Acme', ['edit'])
    expect((await t.call('POST /admin/chip-groups', { name: 'a' }, withKey(key))).status).toBe(200)
    await t.call('POST /admin/chip-groups', { name: 'b', team: 'Globex' })
    const groups = (await t.call('GET /admin/chip-groups', undefined, withKey(key))).body
    expect(groups.map(({ name }: { name: string }) => name)).toEqual(['a'])
    const refused = await t.call('POST /admin/api-keys', { name: 'more' }, withKey(key))
    expect([refused.status, refused.body.code]).toEqual([403, 'scope_missing'])
    expect(refused.body.message).toBe(
      'The API key "ops" lacks the scope "keys". Ask someone who has the scope "keys" in your team for a credential that has it.',
    )
  })

  test('finds no other team, wherever one is named', async () => {
    const key = await keyOf('Acme')
    for (const call of [
      'GET /admin/chip-groups?team=Globex',
      'GET /admin/taps?team=2',
      'GET /admin/batches?team=Globex',
    ])
      expect((await t.call(call, undefined, withKey(key))).status).toBe(404)
    const body = { name: 'a', team: 'Globex', scopes: ['read'] }
    for (const call of ['POST /admin/chip-groups', 'POST /admin/api-keys', 'POST /admin/admin-tokens'])
      expect((await t.call(call, body, withKey(key))).status).toBe(404)
  })

  test('makes no teams, no backups, and no budgets', async () => {
    const key = await keyOf('Acme')
    for (const [call, body] of [
      ['POST /admin/teams', { name: 'Initech' }],
      ['DELETE /admin/teams/2', undefined],
      ['POST /admin/backup', {}],
      ['PATCH /admin/teams/1', { transactionsPerDay: 100_000 }],
    ] as const) {
      const { status, body: refused } = await t.call(call, body, withKey(key))
      expect([call, status]).toEqual([call, 403])
      expect(refused.message).toContain('is for one team')
    }
  })

  test('sees and edits its own team alone', async () => {
    const key = withKey(await keyOf('Acme'))
    expect((await t.call('GET /admin/teams', undefined, key)).body).toMatchObject([{ name: 'Acme' }])
    const edit = { brand: { name: 'Us' } }
    expect((await t.call('PATCH /admin/teams/1', edit, key)).status).toBe(200)
    expect((await t.call('PATCH /admin/teams/2', edit, key)).status).toBe(404)
  })

  test('gives and ends credentials of its own team alone', async () => {
    const key = await keyOf('Acme', ['read', 'keys'])
    await keyOf('Globex')
    await tokenOf('Globex', ['read'], 'theirs')
    await tokenOf(undefined, ['read'], 'everywhere')
    const call = (name: string, body?: object) => t.call(name, body, withKey(key))
    expect((await call('POST /admin/api-keys', { name: 'a', scopes: ['edit'] })).body.code).toBe(
      'scope_missing',
    )
    expect((await call('POST /admin/api-keys', { name: 'a', scopes: ['read'] })).body.team).toBe('Acme')
    expect((await call('POST /admin/admin-tokens', { name: 'b', scopes: ['read'] })).body.team).toBe('Acme')
    const tokens = (await call('GET /admin/admin-tokens')).body
    expect(tokens.map(({ name, team }: { name: string; team: string }) => [name, team])).toEqual([
      ['b', 'Acme'],
    ])
    for (const path of ['api-keys/2', 'admin-tokens/1', 'admin-tokens/2'])
      expect((await call(`DELETE /admin/${path}`)).status).toBe(404)
    expect((await call('DELETE /admin/admin-tokens/3')).status).toBe(200)
  })
})

test('a credential has no name that looks like that of another', async () => {
  const taken = 'must not have control or invisible characters'
  for (const name of ['root ', 'ro\u200bot', '\u202etoor', '\u001b[31mops', 'ops\u009b'])
    for (const kind of ['api-keys', 'admin-tokens'])
      expect(
        (await t.call(`POST /admin/${kind}`, { name, team: 'Acme', scopes: ['read'] })).body,
      ).toMatchObject({ code: 'invalid_input', message: expect.stringContaining(taken) })
  await tokenOf('Globex', ['read'], 'theirs')
  const key = withKey(await keyOf('Acme'))
  const twice = await t.call('POST /admin/admin-tokens', { name: 'theirs', scopes: ['read'] }, key)
  expect(twice.body).toMatchObject({
    code: 'already_exists',
    message: expect.stringContaining('over all teams'),
  })
})

describe('an admin token with a team', () => {
  test('acts for that team alone, and a token of all teams for the team of the key beside it', async () => {
    const [desk, all] = [await tokenOf('Acme'), await tokenOf(undefined, ['all'], 'all')]
    const groupsAs = async (headers: Record<string, string>) =>
      t.call('GET /admin/chip-groups', undefined, headers)
    const key = await keyOf('Globex')
    await t.call('POST /admin/chip-groups', { name: 'theirs' }, withKey(key))
    expect((await groupsAs(bearer(desk))).body).toEqual([])
    expect((await groupsAs({ ...bearer(all), ...withKey(key) })).body).toHaveLength(1)
    expect((await groupsAs({ ...bearer(desk), ...withKey(key) })).status).toBe(403)
    expect((await groupsAs({ ...bearer(desk), ...withKey(await keyOf('Acme')) })).status).toBe(200)
    expect((await t.call('GET /admin/admin-tokens')).body).toMatchObject([
      { name: 'desk', team: 'Acme' },
      { name: 'all', team: null },
    ])
  })

  test('is none for all teams or for another, whatever is written to its row', async () => {
    const token = await tokenOf('Acme', ['read'])
    const { db, credentials } = t.ctx
    for (const team of ['null', '2']) {
      await db.write((trx) => sql.raw(`update "adminTokens" set "teamId" = ${team}`).execute(trx))
      await credentials.load(db.read)
      expect((await t.call('GET /admin/chips', undefined, bearer(token))).status).toBe(401)
      expect((await t.call('GET /admin/links?team=Globex', undefined, bearer(token))).body.code).toBe(
        'admin_token_unknown',
      )
    }
  })

  test('is refused by daemons of the version before, which take a token for one of all teams', async () => {
    await tokenOf('Acme', ['read'])
    await tokenOf(undefined, ['read'], 'all')
    const rows = await t.ctx.db.read.selectFrom('adminTokens').selectAll().orderBy('id').execute()
    const sealKey = t.ctx.box.withKey((key) => hkdfSync('sha256', key, '', 'tapchip credential rows', 32))
    // That version reads all columns of a row, so its seal would have had the team in it.
    const sealedBefore = rows.map(({ mac, name, scopes, teamId, expiresAt }) =>
      [teamId, null].map((team) =>
        createHmac('sha256', Buffer.from(sealKey))
          .update(JSON.stringify(['adminTokens', mac, team, name, scopes, expiresAt]))
          .digest('base64url'),
      ),
    )
    expect(sealedBefore[0]).not.toContain(rows[0]?.seal)
    expect(sealedBefore[1]).toContain(rows[1]?.seal)
  })

  test('keeps its team from being removed until it is revoked', async () => {
    await tokenOf('Globex', ['read'])
    expect((await t.call('DELETE /admin/teams/2')).body.message).toContain(
      'admin tokens that are not revoked',
    )
    await t.call('DELETE /admin/admin-tokens/1')
    expect((await t.call('DELETE /admin/teams/2')).status).toBe(200)
  })
})

test('the document of /admin tells which credentials a request takes', async () => {
  const { paths } = (await t.call('GET /admin/openapi.json')).body
  expect(paths['/admin/links'].get.security).toEqual([{ apiKey: [] }, { admin: [] }])
  expect(paths['/admin/backup'].post.security).toEqual([{ admin: [] }])
})
