import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, bearer, openAdminApp, tenTimes } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'

let t: AdminApp
let clock: TestClock
let lines: string[]
beforeEach(async () => {
  clock = testClock()
  lines = []
  t = await openAdminApp({ clock, log: (line) => lines.push(line) })
  await t.call('POST /admin/teams', { name: 'Acme' })
})
afterEach(() => t.close())

const withKey = (key: string) => ({ 'x-svc-api-key': key })

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe('what is stored of a credential', () => {
  test('is known to nobody by the credential alone', async () => {
    const { key } = (await t.call('POST /admin/api-keys', { name: 'ops' })).body
    const { token } = (await t.call('POST /admin/admin-tokens', { name: 'desk', scopes: ['read'] })).body
    const { read } = t.ctx.db
    const rows = [
      ...(await read.selectFrom('apiKeys').selectAll().execute()),
      ...(await read.selectFrom('adminTokens').selectAll().execute()),
    ]
    expect(rows).toHaveLength(2)
    const text = JSON.stringify(rows)
    for (const secret of [key, token]) {
      const hash = createHash('sha256').update(secret).digest()
      for (const form of [secret, hash.toString('hex'), hash.toString('base64url')])
        expect(text).not.toContain(form)
    }
  })

  test('makes no credential where it was written by hand', async () => {
    const own = 'svc_written_by_hand_0123456789'
    const { read } = t.ctx.db
    await t.call('POST /admin/api-keys', { name: 'ops' })
    const row = await read.selectFrom('apiKeys').selectAll().executeTakeFirstOrThrow()
    const { id: _, ...columns } = row
    for (const [name, forged] of Object.entries({
      a: { hash: sha256(own), mac: null, seal: null },
      b: { hash: 'b', mac: sha256(own) },
      c: { hash: 'c', mac: createHash('sha256').update(own).digest('base64url') },
    }))
      await t.ctx.db.write((trx) =>
        trx
          .insertInto('apiKeys')
          .values({ ...columns, name, ...forged })
          .execute(),
      )
    await t.ctx.credentials.load(read)
    expect((await t.call('GET /chip-groups', undefined, withKey(own))).body.code).toBe('api_key_unknown')
  })
})

describe('a row that was edited by hand', () => {
  const told = () =>
    lines
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg.startsWith('a credential was made or changed outside the daemon'))
      .map(({ kind, id }) => [kind, id])

  test('makes no admin token of an API key', async () => {
    const { id, key } = (await t.call('POST /admin/api-keys', { name: 'ops', scopes: ['read'] })).body
    const { db, credentials } = t.ctx
    const { mac, seal } = await db.read.selectFrom('apiKeys').selectAll().executeTakeFirstOrThrow()
    const forged = { name: 'evil', scopes: '["all"]', createdAt: '2026-06-01T12:00:00.000Z' }
    for (const [name, columns] of Object.entries({ a: { mac, seal }, b: { mac: null, seal } }))
      await db.write((trx) =>
        trx
          .insertInto('adminTokens')
          .values({ ...forged, ...columns, name, hash: name })
          .execute(),
      )
    for (let n = 0; n < 2; n++) await credentials.load(db.read)
    expect((await t.call('GET /admin/teams', undefined, bearer(key))).body.code).toBe('admin_token_unknown')
    expect((await t.call('GET /chip-groups', undefined, withKey(key))).status).toBe(200)
    expect(id).toBe(1)
    expect(told()).toEqual([
      ['adminTokens', 1],
      ['adminTokens', 2],
    ])
    expect(lines.join('\n')).not.toContain(mac)
  })

  const edits = {
    scopes: `'["all"]'`,
    expiresAt: 'null',
    name: "'root'",
    seal: 'null',
    mac: `(select mac from "apiKeys" where name = 'ops')`,
  }
  for (const [column, value] of Object.entries(edits))
    test(`is no admin token once its ${column} was changed`, async () => {
      const { key } = (await t.call('POST /admin/api-keys', { name: 'ops' })).body
      const wanted = { name: 'desk', scopes: ['read'], expiresAt: '2026-06-02' }
      const { token } = (await t.call('POST /admin/admin-tokens', wanted)).body
      const { db, credentials } = t.ctx
      expect((await t.call('GET /admin/teams', undefined, bearer(token))).status).toBe(200)
      await db.write((trx) => sql.raw(`update "adminTokens" set "${column}" = ${value}`).execute(trx))
      await credentials.load(db.read)
      for (const secret of [token, key])
        expect((await t.call('GET /admin/teams', undefined, bearer(secret))).body.code).toBe(
          'admin_token_unknown',
        )
      expect(told()).toEqual([['adminTokens', 1]])
    })

  test('is no API key once its team was changed, and says so no more once it is revoked', async () => {
    await t.call('POST /admin/teams', { name: 'Globex' })
    const { key } = (await t.call('POST /admin/api-keys', { name: 'ops', team: 'Acme' })).body
    const { db, credentials } = t.ctx
    await db.write((trx) => trx.updateTable('apiKeys').set({ teamId: 2 }).execute())
    expect((await t.call('DELETE /admin/api-keys/1')).status).toBe(200)
    await credentials.load(db.read)
    expect((await t.call('GET /chip-groups', undefined, withKey(key))).body.code).toBe('api_key_unknown')
    expect(told()).toEqual([])
  })
})

describe('API keys', () => {
  test('a key works from its creation on, and is shown once', async () => {
    const created = await t.call('POST /admin/api-keys', { name: 'ops' })
    expect(created.status).toBe(200)
    expect(created.body).toMatchObject({
      id: 1,
      team: 'Acme',
      name: 'ops',
      scopes: ['all'],
      expiresAt: null,
      revokedAt: null,
    })
    const { key, hint } = created.body
    expect(key).toMatch(/^svc_[0-9A-Za-z]{38}$/)
    expect((await t.call('GET /chip-groups', undefined, withKey(key))).status).toBe(200)

    const listed = await t.call('GET /admin/api-keys')
    const used = {
      lastUsedAt: '2026-06-01T12:00:00.000Z',
      lastUsedFrom: expect.stringContaining('127.0.0.1, '),
    }
    expect(listed.body).toEqual([{ ...created.body, key: undefined, ...used }])
    expect(listed.text).not.toContain(key)
    expect(key.startsWith(hint.slice(0, -1))).toBe(true)
    expect(hint.length).toBeLessThan(10)
  })

  test('a revoked key stops at once, and revoking it again is no error', async () => {
    const { key } = (await t.call('POST /admin/api-keys', { name: 'ops' })).body
    expect((await t.call('DELETE /admin/api-keys/1')).status).toBe(200)
    const refused = await t.call('GET /chip-groups', undefined, withKey(key))
    expect(refused).toMatchObject({ status: 401, body: { code: 'api_key_revoked' } })
    expect((await t.call('DELETE /admin/api-keys/1')).status).toBe(200)
    expect((await t.call('DELETE /admin/api-keys/2')).status).toBe(404)
    expect(await t.audit('action=api-keys.revoke')).toHaveLength(1)
    expect((await t.call('GET /admin/api-keys')).body[0].revokedAt).toBe('2026-06-01T12:00:00.000Z')
  })

  test('a key stops at its end, and an end in the past is refused', async () => {
    const { key } = (await t.call('POST /admin/api-keys', { name: 'fair', expiresAt: '2026-06-02' })).body
    expect((await t.call('GET /chip-groups', undefined, withKey(key))).status).toBe(200)
    clock.advance('12h')
    const refused = await t.call('GET /chip-groups', undefined, withKey(key))
    expect(refused).toMatchObject({ status: 401, body: { code: 'api_key_expired' } })
    const past = await t.call('POST /admin/api-keys', { name: 'past', expiresAt: '2026-06-01' })
    expect(past.status).toBe(400)
    expect(past.body.message).toContain('expiresAt')
  })

  test('a key with the scope read cannot edit', async () => {
    const { key } = (await t.call('POST /admin/api-keys', { name: 'viewer', scopes: ['read'] })).body
    expect((await t.call('GET /chip-groups', undefined, withKey(key))).status).toBe(200)
    const body = { tagUIDs: ['1368680417108032'], updates: { redirectUrl: null } }
    expect(await t.call('PATCH /chips', body, withKey(key))).toMatchObject({
      status: 403,
      body: { code: 'scope_missing' },
    })
  })

  test('names are unique among the keys of a team that are not revoked', async () => {
    expect(await tenTimes(() => t.call('POST /admin/api-keys', { name: 'ops' }))).toEqual({ 200: 1, 409: 9 })
    await t.call('DELETE /admin/api-keys/1')
    expect((await t.call('POST /admin/api-keys', { name: 'ops' })).status).toBe(200)
    await t.call('POST /admin/teams', { name: 'Globex' })
    expect((await t.call('POST /admin/api-keys', { name: 'ops', team: 'Globex' })).status).toBe(200)
  })

  test('keys without a scope, or with one that does not exist, are refused', async () => {
    for (const scopes of [[], ['sudo'], 'all']) {
      const refused = await t.call('POST /admin/api-keys', { name: 'x', scopes })
      expect(refused.status).toBe(400)
      expect(refused.body.message).toContain('scopes')
    }
  })
})

describe('admin tokens', () => {
  const create = async (name: string, scopes: string[], headers?: Record<string, string>) =>
    t.call('POST /admin/admin-tokens', { name, scopes }, headers)

  test('a token works from its creation on, is shown once, and is named in the audit log', async () => {
    const created = await create('ci', ['edit'])
    expect(created.body).toMatchObject({
      id: 1,
      name: 'ci',
      scopes: ['edit'],
      expiresAt: null,
      revokedAt: null,
    })
    const { token } = created.body
    expect(token).toMatch(/^adm_[0-9A-Za-z]{38}$/)
    expect((await t.call('POST /admin/chip-groups', { name: 'Jackets' }, bearer(token))).status).toBe(200)
    expect((await t.audit())[0]).toMatchObject({
      actor: 'admin:ci',
      action: 'chip-groups.create',
      target: 'Jackets',
    })
    const listed = await t.call('GET /admin/admin-tokens')
    const used = { lastUsedAt: expect.any(String), lastUsedFrom: expect.stringContaining('127.0.0.1, ') }
    expect(listed.body).toEqual([{ ...created.body, token: undefined, ...used }])
  })

  test('a token gives no scope that it does not have', async () => {
    const { token } = (await create('issuer', ['keys'])).body
    for (const scopes of [['all'], ['edit'], ['keys', 'transfer'], ['provision']]) {
      const refused = await create('more', scopes, bearer(token))
      expect(refused).toMatchObject({ status: 403, body: { code: 'scope_missing' } })
    }
    expect((await create('less', ['read'], bearer(token))).status).toBe(200)
    expect((await create('same', ['keys'], bearer(token))).status).toBe(200)
    expect((await t.call('GET /admin/admin-tokens')).body).toHaveLength(3)
  })

  test('a token revokes nothing that has a scope which it lacks', async () => {
    const issuer = bearer((await create('issuer', ['keys', 'edit'])).body.token)
    const made = async (scopes: string[]) =>
      (await t.call('POST /admin/api-keys', { name: scopes.join(), scopes })).body
    for (const scopes of [['all'], ['transfer'], ['edit', 'transfer']]) {
      const { id, key } = await made(scopes)
      const refused = await t.call(`DELETE /admin/api-keys/${id}`, undefined, issuer)
      expect(refused).toMatchObject({ status: 403, body: { code: 'scope_missing' } })
      expect(refused.body.message).toContain('nobody can grant or revoke what they do not have')
      expect((await t.call('GET /chip-groups', undefined, withKey(key))).status).toBe(200)
      const token = await create(`token ${scopes}`, scopes)
      const kept = await t.call(`DELETE /admin/admin-tokens/${token.body.id}`, undefined, issuer)
      expect(kept).toMatchObject({ status: 403, body: { code: 'scope_missing' } })
    }
    const { id } = await made(['edit'])
    expect((await t.call(`DELETE /admin/api-keys/${id}`, undefined, issuer)).status).toBe(200)
  })

  test('a token of one scope does nothing of another', async () => {
    const { token } = (await create('viewer', ['read'])).body
    expect((await t.call('GET /admin/teams', undefined, bearer(token))).status).toBe(200)
    for (const endpoint of [
      'POST /admin/teams',
      'POST /admin/api-keys',
      'POST /admin/admin-tokens',
      'POST /admin/backup',
    ]) {
      expect(await t.call(endpoint, { name: 'x', scopes: ['read'] }, bearer(token))).toMatchObject({
        status: 403,
      })
    }
    const { token: editor } = (await create('editor', ['edit'])).body
    expect((await t.call('POST /admin/api-keys', { name: 'x' }, bearer(editor))).status).toBe(403)
  })

  test('a revoked token stops at once, and so does one that ended', async () => {
    const { token } = (await create('ci', ['all'])).body
    const body = { name: 'short', scopes: ['read'], expiresAt: '2026-06-01T12:30:00Z' }
    const { token: short } = (await t.call('POST /admin/admin-tokens', body)).body
    expect((await t.call('DELETE /admin/admin-tokens/1')).status).toBe(200)
    expect(await t.call('GET /admin/teams', undefined, bearer(token))).toMatchObject({
      status: 401,
      body: { code: 'admin_token_revoked' },
    })
    expect((await t.call('DELETE /admin/admin-tokens/1')).status).toBe(200)
    expect((await t.call('DELETE /admin/admin-tokens/9')).status).toBe(404)
    clock.advance('30m')
    expect(await t.call('GET /admin/teams', undefined, bearer(short))).toMatchObject({
      status: 401,
      body: { code: 'admin_token_expired' },
    })
  })

  test('names are unique among tokens that are not revoked, and nobody passes for the first one', async () => {
    expect(await tenTimes(() => create('ci', ['read']))).toEqual({ 200: 1, 409: 9 })
    expect((await create('root', ['read'])).status).toBe(409)
    await t.call('DELETE /admin/admin-tokens/1')
    expect((await create('ci', ['read'])).status).toBe(200)
  })
})

test('no key, token or hash of one is in an answer, the audit log, the log or the database', async () => {
  const { key } = (await t.call('POST /admin/api-keys', { name: 'ops' })).body
  const { token } = (await t.call('POST /admin/admin-tokens', { name: 'ci', scopes: ['all'] })).body
  await t.call('GET /chip-groups', undefined, withKey(key))
  await t.call('GET /admin/teams', undefined, bearer(token))
  await t.call('DELETE /admin/api-keys/1')
  await t.call('DELETE /admin/admin-tokens/1')
  const answers = ['/admin/api-keys', '/admin/admin-tokens', '/admin/audit', '/admin/status'].map((path) =>
    t.call(`GET ${path}`),
  )
  const rows = [
    await t.ctx.db.read.selectFrom('apiKeys').selectAll().execute(),
    await t.ctx.db.read.selectFrom('adminTokens').selectAll().execute(),
  ]
  const hashes = rows.flat().map(({ hash }) => hash)
  const shown = [...(await Promise.all(answers)).map(({ text }) => text), ...lines].join('\n')
  expect(shown).toContain('api-keys.create')
  for (const secret of [key, token, key.slice(8), token.slice(8), ...hashes])
    expect(shown).not.toContain(secret)
  for (const secret of [key, token]) expect(JSON.stringify(rows)).not.toContain(secret)
})

test('a credential is told who it is, for which team, with which scopes, until when', async () => {
  await t.call('POST /admin/teams', { name: 'Acme' })
  const expiresAt = '2030-01-01T00:00:00.000Z'
  const made = { name: 'ops', team: 'Acme', scopes: ['edit'], expiresAt }
  const { key } = (await t.call('POST /admin/api-keys', made)).body
  expect((await t.call('GET /admin/whoami', undefined, { 'x-svc-api-key': key })).body).toEqual({
    kind: 'api-key',
    ...made,
  })
  expect((await t.call('GET /admin/whoami')).body).toEqual({
    ...{ kind: 'admin-token', name: 'root', team: null, scopes: ['all'], expiresAt: null },
  })
})
