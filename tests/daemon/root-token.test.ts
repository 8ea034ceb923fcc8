import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bearer, openAdminApp, tenTimes } from '../support/admin.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-root-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const file = () => join(dataDir, 'admin.token')
const inFile = () => readFileSync(file(), 'utf8').trim()

test('a rolled root token is in its file alone, works at once and after a restart, and ends the old one', async () => {
  const t = await openAdminApp({ dataDir, env: { TAPCHIP_ADMIN_TOKEN: '' } })
  const statusWith = async (token: string) =>
    (await t.call('GET /admin/teams', undefined, bearer(token))).status
  const old = inFile()
  const rolled = await t.call('POST /admin/root-token/roll', undefined, bearer(old))
  expect([rolled.status, rolled.body]).toEqual([200, { path: file() }])
  const first = inFile()
  expect(rolled.text).not.toContain(first)
  expect(statSync(file()).mode & 0o777).toBe(0o600)
  expect([await statusWith(old), await statusWith(first)]).toEqual([401, 200])

  // Each of them was let in by the token that the first of them ends.
  const counts = await tenTimes(() => t.call('POST /admin/root-token/roll', undefined, bearer(first)))
  expect((counts[200] ?? 0) + (counts[401] ?? 0)).toBe(10)
  const last = inFile()
  expect([await statusWith(first), await statusWith(last)]).toEqual([401, 200])
  const logged = await t.call('GET /admin/audit?action=root-token.roll', undefined, bearer(last))
  expect(logged.body).toHaveLength(1 + (counts[200] ?? 0))
  await t.close()

  const again = await openAdminApp({ dataDir, env: { TAPCHIP_ADMIN_TOKEN: '' } })
  expect((await again.call('GET /admin/teams', undefined, bearer(last))).status).toBe(200)
  await again.close()
})

test('a root token that is set elsewhere is not rolled, nor by a credential of one team', async () => {
  const t = await openAdminApp({ dataDir })
  const refused = await t.call('POST /admin/root-token/roll')
  expect([refused.status, refused.body.message]).toEqual([
    409,
    expect.stringContaining('TAPCHIP_ADMIN_TOKEN'),
  ])
  await t.call('POST /admin/teams', { name: 'Acme' })
  const { key } = (await t.call('POST /admin/api-keys', { name: 'ops' })).body
  expect((await t.call('POST /admin/root-token/roll', undefined, { 'x-svc-api-key': key })).status).toBe(403)
  await t.close()
})
