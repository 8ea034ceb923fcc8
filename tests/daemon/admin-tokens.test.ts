import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { seed, uids } from '../support/seeds.ts'

// What an attacker tried, and how it ends now.

let t: TestApp
const clock = testClock()
beforeAll(async () => {
  t = await openTestApp({ seed, clock })
})
afterAll(() => t.close())
const admin = (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object, token?: string) =>
  t.app.inject({
    method,
    url,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : t.admin),
      ...(payload ? { 'content-type': 'application/json' } : {}),
    },
    ...(payload ? { payload: JSON.stringify(payload) } : {}),
  })

describe('an admin token', () => {
  test('gives no more than it has, for no longer, and shuts nobody out who may do more', async () => {
    const end = '2026-06-02T00:00:00.000Z'
    const create = { name: 'keys only', scopes: ['keys'], expiresAt: end }
    const { token } = (await admin('POST', '/admin/admin-tokens', create)).json()
    const full = (await admin('POST', '/admin/admin-tokens', { name: 'full', scopes: ['all'] })).json()

    const wanted = await admin(
      'POST',
      '/admin/api-keys',
      { team: 'Acme', name: 'evil', scopes: ['all'] },
      token,
    )
    expect({ status: wanted.statusCode, code: wanted.json().code }).toEqual({
      status: 403,
      code: 'scope_missing',
    })
    const given = (await admin('POST', '/admin/api-keys', { team: 'Acme', name: 'modest' }, token)).json()
    expect(given).toMatchObject({ scopes: ['read'], expiresAt: end })
    const patch = { tagUIDs: [uids.jacket], updates: { redirectUrl: null } }
    const headers = { 'x-svc-api-key': given.key, 'content-type': 'application/json' }
    expect(
      (await t.app.inject({ method: 'PATCH', url: '/chips', headers, payload: JSON.stringify(patch) }))
        .statusCode,
    ).toBe(403)
    const later = { name: 'later', scopes: ['keys'], expiresAt: '2027-01-01' }
    expect((await admin('POST', '/admin/admin-tokens', later, token)).json().message).toContain('expiresAt')
    expect((await admin('DELETE', `/admin/admin-tokens/${full.id}`, undefined, token)).statusCode).toBe(403)
    expect((await admin('GET', '/admin/teams', undefined, full.token)).statusCode).toBe(200)
  })

  test('cannot turn a physical chip into one whose taps can be made', async () => {
    const uid = uids.blank
    await admin('DELETE', `/admin/chips/${uid}`)
    const answer = await t.app.inject({
      method: 'POST',
      url: '/admin/chips/import?team=Acme&chipGroup=Jackets&keySet=101&simulated=true',
      headers: { ...t.admin, 'content-type': 'text/csv' },
      payload: `uid\n${uid}\n04AB000000AB80\n`,
    })
    const [first, second] = answer.body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(first).toMatchObject({ status: 'failed', error: expect.stringContaining('physical') })
    expect(second.status).toBe('created')
  })
})
