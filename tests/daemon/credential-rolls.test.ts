import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, bearer, openAdminApp, tenTimes } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'

let t: AdminApp
let clock: TestClock
beforeEach(async () => {
  clock = testClock('2026-06-01T12:00:00.000Z')
  t = await openAdminApp({ clock })
  await t.call('POST /admin/teams', { name: 'Acme' })
})
afterEach(() => t.close())

const withKey = (key: string) => ({ 'x-svc-api-key': key })

const kinds = {
  'api-keys': async (name: string) =>
    (await t.call('POST /admin/api-keys', { name, scopes: ['read'] })).body.key,
  'admin-tokens': async (name: string) =>
    (await t.call('POST /admin/admin-tokens', { name, scopes: ['read'], team: 'Acme' })).body.token,
}

for (const kind of ['api-keys', 'admin-tokens'] as const)
  describe(`rolling ${kind}`, () => {
    const headersOf = (secret: string) => (kind === 'api-keys' ? withKey(secret) : bearer(secret))
    const codeOf = async (secret: string) =>
      (await t.call('GET /admin/teams', undefined, headersOf(secret))).body.code ?? 'accepted'
    const roll = (body: object = {}, id = 1) =>
      t.call(
        kind === 'api-keys' ? `POST /admin/api-keys/${id}/roll` : `POST /admin/admin-tokens/${id}/roll`,
        body,
      )
    const ended = kind === 'api-keys' ? 'api_key_expired' : 'admin_token_expired'
    const revoked = kind === 'api-keys' ? 'api_key_revoked' : 'admin_token_revoked'

    test('gives a new secret while the old one lives on for a day', async () => {
      const old = await kinds[kind]('ci')
      const { status, body } = await roll()
      expect([status, body]).toEqual([
        200,
        { id: 1, name: 'ci', key: expect.any(String), oldUntil: '2026-06-02T12:00:00.000Z' },
      ])
      expect([await codeOf(old), await codeOf(body.key)]).toEqual(['accepted', 'accepted'])
      clock.advance('23h')
      expect(await codeOf(old)).toBe('accepted')
      clock.advance('1h')
      expect([await codeOf(old), await codeOf(body.key)]).toEqual([ended, 'accepted'])
      expect((await t.call(`GET /admin/${kind}`)).body).toHaveLength(1)
    })

    test('ends the old secret at once with an overlap of 0', async () => {
      const old = await kinds[kind]('ci')
      const { key, oldUntil } = (await roll({ overlapSeconds: 0 })).body
      expect(oldUntil).toBe('2026-06-01T12:00:00.000Z')
      expect([await codeOf(old), await codeOf(key)]).toEqual([ended, 'accepted'])
    })

    test('is refused while an old secret lives, unless that is to end', async () => {
      const old = await kinds[kind]('ci')
      const first = (await roll()).body.key
      clock.advance('1h')
      const refused = await roll()
      expect([refused.status, refused.body.message]).toEqual([
        409,
        expect.stringContaining('2026-06-02T12:00'),
      ])
      expect([await codeOf(old), await codeOf(first)]).toEqual(['accepted', 'accepted'])
      const last = (await roll({ overlapSeconds: 0 })).body.key
      for (const secret of [old, first]) expect(await codeOf(secret)).not.toBe('accepted')
      expect(await codeOf(last)).toBe('accepted')
    })

    for (const overlapSeconds of [3600, 0])
      test(`is done once of ten at a time, with an overlap of ${overlapSeconds} s`, async () => {
        await kinds[kind]('ci')
        const told: string[] = []
        const counts = await tenTimes(async () => {
          const answer = await roll({ overlapSeconds })
          if (answer.status === 200) told.push(answer.body.key)
          return answer
        })
        expect(counts).toEqual({ 200: 1, 409: 9 })
        expect(await Promise.all(told.map(codeOf))).toEqual(['accepted'])
      })

    test('leaves one revocation to end both secrets', async () => {
      const old = await kinds[kind]('ci')
      const { key } = (await roll()).body
      await t.call(`DELETE /admin/${kind}/1`)
      expect([await codeOf(old), await codeOf(key)]).toEqual([revoked, revoked])
      expect((await roll()).status).toBe(409)
    })

    test('makes no old secret live longer, or for more, by what is written to its row', async () => {
      const table = kind === 'api-keys' ? 'apiKeys' : 'adminTokens'
      const old = await kinds[kind]('ci')
      await kinds[kind]('other')
      const { db, credentials } = t.ctx
      await roll({ overlapSeconds: 60 })
      clock.advance('1h')
      const later = `'2027-01-01T00:00:00.000Z'`
      await db.write((trx) =>
        sql.raw(`update "${table}" set "previousUntil" = ${later} where id = 1`).execute(trx),
      )
      await credentials.load(db.read)
      expect(await codeOf(old)).not.toBe('accepted')
      const copied = ['previousMac', 'previousUntil', 'previousSeal'].map(
        (c) => `"${c}" = (select "${c}" from "${table}" where id = 1)`,
      )
      await db.write((trx) => sql.raw(`update "${table}" set ${copied.join(', ')} where id = 2`).execute(trx))
      await credentials.load(db.read)
      expect(await codeOf(old)).not.toBe('accepted')
    })
  })

test('a team rolls nothing of another team, and nobody what has more scopes', async () => {
  await t.call('POST /admin/teams', { name: 'Globex' })
  const create = async (name: string, team: string, scopes: string[]) =>
    (await t.call('POST /admin/api-keys', { name, team, scopes })).body.key as string
  const issuer = await create('issuer', 'Acme', ['read', 'keys'])
  await create('theirs', 'Globex', ['read'])
  await create('strong', 'Acme', ['all'])
  const roll = (id: number) => t.call(`POST /admin/api-keys/${id}/roll`, {}, withKey(issuer))
  expect([(await roll(2)).status, (await roll(3)).status, (await roll(1)).status]).toEqual([404, 403, 200])
})

test('nobody gets, by a roll, a secret that outlives their own', async () => {
  const create = async (name: string, expiresAt?: string) =>
    (await t.call('POST /admin/api-keys', { name, scopes: ['read', 'keys'], expiresAt })).body.key as string
  const brief = await create('brief', '2026-06-01T13:00:00.000Z')
  await create('forever')
  await create('longer', '2026-06-01T14:00:00.000Z')
  await create('same', '2026-06-01T13:00:00.000Z')
  const roll = (path: string) => t.call(`POST /admin/${path}/roll`, {}, withKey(brief))
  for (const path of ['api-keys/2', 'api-keys/3'])
    expect((await roll(path)).body).toMatchObject({
      code: 'scope_missing',
      message: expect.stringContaining('outlives their own'),
    })
  await kinds['admin-tokens']('desk')
  expect((await roll('admin-tokens/1')).status).toBe(403)
  expect([(await roll('api-keys/4')).status, (await roll('api-keys/1')).status]).toEqual([200, 200])
})

describe('last use', () => {
  const list = async (kind: string) => (await t.call(`GET /admin/${kind}`)).body

  test('is listed with its address and its program', async () => {
    const key = await kinds['api-keys']('ci')
    await kinds['api-keys']('unused')
    const agent = { 'user-agent': `curl/8.5.0\u00e9 ${'x'.repeat(500)}` }
    clock.advance('1m')
    await t.call('GET /chip-groups', undefined, { ...withKey(key), ...agent })
    expect(await list('api-keys')).toMatchObject([
      {
        lastUsedAt: '2026-06-01T12:01:00.000Z',
        lastUsedFrom: expect.stringMatching(/^127\.0\.0\.1, curl\/8\.5\.0 x{60,75}$/),
      },
      { lastUsedAt: null, lastUsedFrom: null },
    ])
  })

  test('is the newest, whichever daemon stores it last', async () => {
    const token = await kinds['admin-tokens']('desk')
    const { db } = t.ctx
    const future = '2026-06-01T13:00:00.000Z'
    await db.write((trx) =>
      trx.updateTable('adminTokens').set({ lastUsedAt: future, lastUsedFrom: 'elsewhere' }).execute(),
    )
    await t.call('GET /admin/teams', undefined, bearer(token))
    expect(await list('admin-tokens')).toMatchObject([{ lastUsedAt: future, lastUsedFrom: 'elsewhere' }])
    clock.advance('2h')
    await t.call('GET /admin/teams', undefined, bearer(token))
    expect(await list('admin-tokens')).toMatchObject([{ lastUsedAt: '2026-06-01T14:00:00.000Z' }])
  })

  test('counts a use with the old secret after a roll, and none of a secret that is refused', async () => {
    const old = await kinds['api-keys']('ci')
    await t.call('POST /admin/api-keys/1/roll', {})
    clock.advance('1h')
    await t.call('GET /chip-groups', undefined, withKey(old))
    await t.call('DELETE /admin/api-keys/1')
    clock.advance('1h')
    await t.call('GET /chip-groups', undefined, withKey(old))
    expect(await list('api-keys')).toMatchObject([{ lastUsedAt: '2026-06-01T13:00:00.000Z' }])
  })
})
