import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EndpointSpec } from '../../src/daemon/contract/endpoint.ts'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { type AdminApp, bearer, openAdminApp } from '../support/admin.ts'

const adminEndpoints = Object.entries<EndpointSpec>(endpoints).filter(([, spec]) => spec.part === 'admin')
const concrete = (key: string) => key.replace(/:uid/, '1368680417108032').replace(/:\w+/, '1')

describe.each(adminEndpoints)('%s', (key, spec) => {
  test('answers 401 without a token, and with one that is not known', async () => {
    const missing = await t.call(concrete(key), undefined, {})
    expect(missing).toMatchObject({ status: 401, body: { code: 'admin_token_missing' } })
    const unknown = await t.call(concrete(key), undefined, bearer('adm_nobody-has-this-one'))
    expect(unknown).toMatchObject({ status: 401, body: { code: 'admin_token_unknown' } })
  })

  test('refuses a request that came through a proxy, and says how to allow it', async () => {
    for (const header of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip']) {
      const refused = await t.call(concrete(key), undefined, { ...t.admin, [header]: '203.0.113.9' })
      expect(refused).toMatchObject({ status: 403, body: { code: 'forwarded_refused' } })
      expect(refused.body.message).toContain('TAPCHIP_ADMIN_REMOTE')
    }
  })

  test('has no CORS', async () => {
    const [, url = ''] = concrete(key).split(' ')
    const answer = await t.app.inject({
      method: 'OPTIONS',
      url,
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
    })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })

  const isForReaders = spec.scope === 'read'
  // A stream that is let in never ends by itself: admin-taps.test.ts follows it.
  if (/(?:taps|events)\/follow$/.test(key)) return
  test(
    isForReaders ? 'lets a token in that may only read' : 'refuses a token that may only read',
    async () => {
      const { status, body } = await t.call(concrete(key), undefined, bearer(reader))
      if (isForReaders) expect([401, 403]).not.toContain(status)
      else expect({ status, code: body.code }).toEqual({ status: 403, code: 'scope_missing' })
    },
  )
})

let t: AdminApp
let reader: string
beforeAll(async () => {
  t = await openAdminApp()
  reader = (await t.call('POST /admin/admin-tokens', { name: 'reader', scopes: ['read'] })).body.token
})
afterAll(() => t.close())

test('an API key is no bearer token', async () => {
  await t.call('POST /admin/teams', { name: 'Acme' })
  const { key } = (await t.call('POST /admin/api-keys', { name: 'ops' })).body
  expect((await t.call('GET /admin/teams', undefined, { 'x-svc-api-key': key })).status).toBe(200)
  expect((await t.call('GET /admin/teams', undefined, bearer(key))).status).toBe(401)
})

test('with TAPCHIP_ADMIN_REMOTE=on a forwarded request is answered', async () => {
  const remote = await openAdminApp({ env: { TAPCHIP_ADMIN_REMOTE: 'on' } })
  const answer = await remote.call('GET /admin/teams', undefined, {
    ...remote.admin,
    'x-forwarded-for': '203.0.113.9',
  })
  expect(answer.status).toBe(200)
  await remote.close()
})
