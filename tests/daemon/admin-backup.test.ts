import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { unwrapDataKey, wrapDataKey } from '../../src/daemon/store/data-dir/data-key.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { openTestApp } from '../support/daemon.ts'

const metaReadKey = '0011223344556677aabbccddeeff0011'

let t: AdminApp
let lines: string[]
beforeEach(async () => {
  lines = []
  t = await openAdminApp({ log: (line) => lines.push(line) })
  await t.call('POST /admin/teams', { name: 'Acme' })
  await t.call('POST /admin/key-sets', {
    id: 1,
    metaReadKey,
    fileReadKey: metaReadKey,
    diversification: 'none',
  })
})
afterEach(() => t.close())

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

test('the status says who asks, what there is, and that the database is whole', async () => {
  const { status, body } = await t.call('GET /admin/status?check=true')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    pid: process.pid,
    dataDir: t.dataDir,
    ephemeral: false,
    token: { name: 'root', scopes: ['all'] },
    database: { engine: 'sqlite', integrity: 'ok', sizeBytes: expect.any(Number), server: null },
    counts: { teams: 1, keySets: 1, chips: 0, taps: 0 },
  })
  expect(body.database.sizeBytes).toBeGreaterThan(10_000)
  expect(body.uptimeSeconds).toBeGreaterThanOrEqual(0)
})

test('a backup with a passphrase is all that a new daemon needs', async () => {
  const { status, body } = await t.call('POST /admin/backup', { passphrase: 'correct horse' })
  expect(status).toBe(200)
  expect(body).toEqual({
    path: expect.stringContaining(join(t.dataDir, 'backups', 'tapchip-')),
    sizeBytes: expect.any(Number),
    holdsDataKey: true,
  })
  expect(readdirSync(body.path).sort()).toEqual(['backup.json', 'data.key.enc', 'tapchip.db'])
  expect(mode(body.path)).toBe('700')
  expect(mode(join(body.path, 'tapchip.db'))).toBe('600')
  expect(mode(join(body.path, 'data.key.enc'))).toBe('600')

  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-restored-'))
  cpSync(body.path, dataDir, { recursive: true })
  await expect(openTestApp({ dataDir })).rejects.toThrow(/data\.key\.enc.*TAPCHIP_BACKUP_PASSPHRASE/)
  const wrong = { TAPCHIP_BACKUP_PASSPHRASE: 'wrong horse' }
  await expect(openTestApp({ dataDir, env: wrong })).rejects.toThrow(/passphrase is not the one/)
  expect(readdirSync(dataDir)).not.toContain('data.key')
  const once = { TAPCHIP_BACKUP_PASSPHRASE: 'correct horse' }
  await (await openTestApp({ dataDir, env: once })).close()
  expect(readFileSync(join(dataDir, 'data.key'))).toEqual(readFileSync(join(t.dataDir, 'data.key')))
  expect(mode(join(dataDir, 'data.key'))).toBe('600')
  const restored = await openTestApp({ dataDir })
  expect(restored.ctx.keyRing.get(1)?.id).toBe(1)
  expect(restored.ctx.instance).toBe(t.ctx.instance)
  await restored.close()
  rmSync(dataDir, { recursive: true })
})

test('a backup without a passphrase says loudly that it does not hold the data key', async () => {
  const { body } = await t.call('POST /admin/backup', {})
  expect(body.holdsDataKey).toBe(false)
  expect(body.warning).toMatch(/DOES NOT CONTAIN THE DATA KEY.*passphrase/)
  expect(readdirSync(body.path).sort()).toEqual(['backup.json', 'tapchip.db'])
  expect((await t.call('POST /admin/backup')).body.path).not.toBe(body.path)
  expect((await t.call('POST /admin/backup', { passphrase: '' })).status).toBe(400)
})

test('a backup is recorded, and neither it nor the record holds a key or the passphrase', async () => {
  const { body } = await t.call('POST /admin/backup', { passphrase: 'correct horse' })
  const [record] = await t.audit()
  expect(record).toMatchObject({
    action: 'daemon.backup',
    actor: 'admin:root',
    target: body.path,
    detail: { holdsDataKey: true },
  })
  const dataKey = readFileSync(join(t.dataDir, 'data.key'), 'utf8').trim()
  const files = readdirSync(body.path).map((name) => readFileSync(join(body.path, name)))
  for (const secret of [dataKey, metaReadKey]) {
    for (const file of files) {
      expect(file.includes(secret)).toBe(false)
      expect(file.includes(Buffer.from(secret, 'hex'))).toBe(false)
    }
  }
  expect([JSON.stringify(record), ...lines].join()).not.toContain('correct horse')
})

test('a backup is consistent while writes go on: a change and its record are both in it, or neither', async () => {
  let isDone = false
  const writing = (async () => {
    for (let n = 0; !isDone; n++) await t.call('POST /admin/chip-groups', { name: `group ${n}` })
  })()
  const { body } = await t.call('POST /admin/backup', {})
  isDone = true
  await writing
  const copy = new BetterSqlite3(join(body.path, 'tapchip.db'), { readonly: true })
  const count = (sql: string) => copy.prepare(sql).pluck().get()
  expect(copy.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(count('select count(*) from "chipGroups"')).toBe(
    count(`select count(*) from audit where action = 'chip-groups.create'`),
  )
  copy.close()
})

test('two backups at once are both whole', async () => {
  const backups = await Promise.all([t.call('POST /admin/backup', {}), t.call('POST /admin/backup', {})])
  for (const { status, body } of backups) {
    expect(status).toBe(200)
    const copy = new BetterSqlite3(join(body.path, 'tapchip.db'), { readonly: true })
    expect(copy.pragma('integrity_check', { simple: true })).toBe('ok')
    copy.close()
  }
})

test('a backup that fails leaves nothing behind and shows nothing of the inside', async () => {
  writeFileSync(join(t.dataDir, 'backups'), 'in the way')
  const { status, text } = await t.call('POST /admin/backup', {})
  expect(status).toBe(500)
  expect(text).not.toContain('EEXIST')
  expect(existsSync(join(t.dataDir, 'backups'))).toBe(true)
})

test('a wrapped data key opens with its passphrase alone, and not when it was changed', async () => {
  const key = Buffer.alloc(32, 7)
  const wrapped = await wrapDataKey(key, 'pass\u0065\u0301')
  expect(Buffer.from(await unwrapDataKey(wrapped, 'pass\u00e9'))).toEqual(key)
  await expect(unwrapDataKey(wrapped, 'passe')).rejects.toThrow(/passphrase is not the one/)
  const changed = JSON.stringify({ ...JSON.parse(wrapped), p: 2 })
  await expect(unwrapDataKey(changed, 'pass\u00e9')).rejects.toThrow(/passphrase is not the one/)
  for (const text of ['', '{}', 'nonsense', JSON.stringify({ ...JSON.parse(wrapped), N: 2 ** 30 })]) {
    await expect(unwrapDataKey(text, 'x')).rejects.toThrow(/not a wrapped data key/)
  }
})
