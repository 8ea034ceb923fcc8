import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp()
  await t.call('POST /admin/teams', { name: 'Acme' })
})
afterEach(() => t.close())

const baseUrl = 'https://acme.example/tap?from=chip#top'

test('a link is registered, listed and removed', async () => {
  const created = await t.call('POST /admin/links', { label: 'Open in Acme', baseUrl })
  expect(created).toMatchObject({
    status: 200,
    body: { id: 1, team: 'Acme', label: 'Open in Acme', baseUrl },
  })
  expect((await t.call('GET /admin/links')).body).toEqual([created.body])
  expect((await t.call('DELETE /admin/links/1')).status).toBe(200)
  expect((await t.call('DELETE /admin/links/1')).status).toBe(404)
  expect((await t.call('GET /admin/links')).body).toEqual([])
  expect(await t.audit('action=links')).toMatchObject([
    { action: 'links.delete', actor: 'admin:root', target: 'Open in Acme', team: 'Acme' },
    { action: 'links.create', actor: 'admin:root', target: 'Open in Acme', team: 'Acme' },
  ])
})

test('of ten links with one label registered at once there is one', async () => {
  expect(await tenTimes(() => t.call('POST /admin/links', { label: 'Acme', baseUrl }))).toEqual({
    200: 1,
    409: 9,
  })
})

test('a team has fifty links at most, and a tap page gives each a ref of its own', async () => {
  const create = (n: number) => t.call('POST /admin/links', { label: `Link ${n}`, baseUrl })
  for (let n = 1; n < 50; n++) expect((await create(n)).status).toBe(200)
  const last = await Promise.all([50, 51, 52].map(create))
  expect(last.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  expect(last.find(({ status }) => status === 409)?.body.message).toContain('50 links already')
  expect((await t.call('GET /admin/links')).body).toHaveLength(50)
})

const otherUrls = [
  'javascript:alert(1)',
  'acme://tap',
  'acme.example',
  'https://user:pass@acme.example',
  'https:///x',
  '',
  'http://a b',
]

test('a link to anything but a web page is refused, naming baseUrl', async () => {
  for (const url of otherUrls) {
    const refused = await t.call('POST /admin/links', { label: 'Bad', baseUrl: url })
    expect([refused.status, refused.body.message], url).toEqual([400, expect.stringContaining('baseUrl')])
  }
  expect((await t.call('GET /admin/links')).body).toEqual([])
})
