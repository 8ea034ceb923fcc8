import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, bearer, openAdminApp, tenTimes } from '../support/admin.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp()
  await t.call('POST /admin/teams', { name: 'Acme' })
})
afterEach(() => t.close())

const url = 'https://hooks.acme.example/in?token=hunter2'
const create = (more: object = {}) => t.call('POST /admin/webhooks', { url, ...more })

const tokenWith = async (...scopes: string[]) =>
  bearer((await t.call('POST /admin/admin-tokens', { name: scopes.join(), scopes })).body.token)

test('a webhook is registered, listed, edited, rolled and removed, and the log says so without its secrets', async () => {
  const created = await create({ events: ['tap.valid', 'badge.minted'] })
  expect(created.body).toMatchObject({
    id: 1,
    team: 'Acme',
    url,
    events: ['tap.valid', 'badge.minted'],
    disabledAt: null,
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  })
  const { secret, ...shown } = created.body
  expect((await t.call('GET /admin/webhooks')).body).toEqual([shown])

  const edited = await t.call('PATCH /admin/webhooks/1', { events: ['tap.refused'], disabled: true })
  expect(edited.body).toMatchObject({ events: ['tap.refused'], disabledReason: 'disabled by an operator' })
  for (const nothing of [{}, { disabled: true }])
    expect(await t.call('PATCH /admin/webhooks/1', nothing)).toMatchObject({ status: 200, body: edited.body })
  expect((await t.call('GET /admin/status')).body.webhooks).toEqual({ enabled: 0, failed: [] })
  expect((await t.call('POST /admin/webhooks/1/test')).status).toBe(409)
  const enabled = await t.call('PATCH /admin/webhooks/1', { url: 'https://other.example/', disabled: false })
  expect(enabled.body).toMatchObject({
    url: 'https://other.example/',
    disabledAt: null,
    disabledReason: null,
  })

  const rolled = await t.call('POST /admin/webhooks/1/roll')
  expect(rolled.body.secret).not.toBe(secret)
  expect(Date.parse(rolled.body.rollingUntil)).toBeGreaterThan(Date.now())

  expect((await t.call('DELETE /admin/webhooks/1')).status).toBe(200)
  for (const gone of [
    'DELETE /admin/webhooks/1',
    'POST /admin/webhooks/1/roll',
    'POST /admin/webhooks/1/test',
  ])
    expect((await t.call(gone)).status).toBe(404)
  expect((await t.call('PATCH /admin/webhooks/1', { disabled: true })).status).toBe(404)
  expect((await t.call('GET /admin/webhooks')).body).toEqual([])
  expect((await t.call('DELETE /admin/teams/1')).status).toBe(200)

  const log = await t.audit('action=webhooks')
  expect(log.map(({ action }) => action)).toEqual(
    ['delete', 'roll', 'edit', 'edit', 'create'].map((verb) => `webhooks.${verb}`),
  )
  expect(log.at(-1)).toMatchObject({ target: '1 https://hooks.acme.example', actor: 'admin:root' })
  expect(JSON.stringify(log)).not.toMatch(/hunter2|whsec_/)
})

test('by default it gets all types', async () => {
  expect((await create()).body.events).toEqual([
    'tap.valid',
    'tap.refused',
    'claim.registered',
    'token.transferred',
    'guestbook.minted',
    'badge.minted',
    'transaction.settled',
    'chip.opened',
    'audit.broken',
    'relayer.low',
  ])
})

const refusable = [
  { events: ['tap.valid', 'tap.made'] },
  { events: [] },
  { url: 'http://hooks.acme.example/' },
  { url: 'https://user:pass@hooks.acme.example/' },
  { url: 'hooks.acme.example' },
  { url: 'https://127.0.0.1/' },
  { url: 'https://localhost:8443/' },
  { url: 'https://[::ffff:10.0.0.1]/' },
  { url: 'https://0x7f000001/' },
  { url: 'https://169.254.169.254/latest/meta-data' },
  { url: 'https://[64:ff9b::a00:1]/' },
  { url: 'https://100.64.0.1/' },
]

test('what is no type, or may not be called, is refused, naming the field', async () => {
  for (const more of refusable) {
    const refused = await create(more)
    expect(refused).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(Object.keys(more)[0] ?? '') },
    })
  }
  expect((await t.call('GET /admin/webhooks')).body).toEqual([])
})

describe('who may see and do what', () => {
  test('a token that may only read sees no path and no query, and changes nothing', async () => {
    await create()
    const reader = await tokenWith('read')
    const listed = await t.call('GET /admin/webhooks', undefined, reader)
    expect(listed.body).toMatchObject([{ id: 1, url: 'https://hooks.acme.example/…' }])
    expect(listed.text).not.toMatch(/hunter2|whsec_|secret/)
    for (const endpoint of [
      'POST /admin/webhooks',
      'POST /admin/webhooks/1/roll',
      'POST /admin/webhooks/1/test',
    ])
      expect((await t.call(endpoint, { url }, reader)).status).toBe(403)
    expect((await t.call('GET /admin/webhooks', undefined, await tokenWith('edit'))).body[0].url).toBe(url)
  })

  test('neither the URL nor the secret is stored readably', async () => {
    const { secret } = (await create()).body
    const [row] = await t.ctx.db.read.selectFrom('webhooks').selectAll().execute()
    const stored = Object.values(row ?? {}).map((value) =>
      Buffer.from(value instanceof Uint8Array ? value : String(value)),
    )
    const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64')
    for (const value of stored) {
      expect(value.includes('hunter2')).toBe(false)
      expect(value.includes(bytes)).toBe(false)
    }
  })
})

test('of ten removals at once one succeeds, and of 25 registrations at once twenty', async () => {
  await create()
  expect(await tenTimes(() => t.call('DELETE /admin/webhooks/1'))).toEqual({ 200: 1, 404: 9 })
  const made = await Promise.all(Array.from({ length: 25 }, () => create()))
  expect(made.filter(({ status }) => status === 200)).toHaveLength(20)
  expect(made.find(({ status }) => status === 409)?.body.message).toContain('20 webhooks')
})
