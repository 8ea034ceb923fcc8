import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAdminApp } from '../support/admin.ts'
import { run } from '../support/process.ts'
import { seed } from '../support/seeds.ts'

/** `nobody`, or whoever has that number. */
const owner = 65534

let dir: string
/** Only root may look in. */
let backup: string
let secret: string
let data: string
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-root-'))
  chmodSync(dir, 0o755)
  const roots = join(dir, 'root')
  mkdirSync(roots, { mode: 0o700 })
  secret = join(roots, 'secret')
  writeFileSync(secret, 'untouched')
  mkdirSync(join(roots, 'made'))
  const t = await openAdminApp({ seed, dataDir: join(roots, 'made') })
  const { path } = (await t.call('POST /admin/backup', {})).body
  await t.close()
  backup = join(roots, 'backup')
  cpSync(path, backup, { recursive: true })
  cpSync(join(roots, 'made', 'data.key'), join(backup, 'data.key'))
  data = join(dir, 'data')
  mkdirSync(data, { mode: 0o700 })
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const give = () => execFileSync('chown', ['-hR', `${owner}:${owner}`, data])
const restore = (from = backup) => run('tapchipd', ['--restore', from, '--data-dir', data], {})
const isRoot = process.getuid?.() === 0

test.runIf(isRoot)(
  'root restores as the owner of the directory, from a folder that only root can read',
  async () => {
    give()
    const ended = await restore()
    expect([ended.stderr, ended.code]).toEqual(['', 0])
    const names = readdirSync(data)
    expect(names).toEqual(expect.arrayContaining(['tapchip.db', 'data.key', 'instance', 'daemon.lock']))
    for (const name of names) expect([name, lstatSync(join(data, name)).uid]).toEqual([name, owner])
  },
)

const planted: [string, () => void][] = [
  ['restoring', () => symlinkSync(join(dir, 'root'), join(data, 'restoring'))],
  ['restore.json', () => symlinkSync(secret, join(data, 'restore.json'))],
  ['daemon.lock', () => symlinkSync(secret, join(data, 'daemon.lock'))],
  ['tapchip.db', () => symlinkSync(secret, join(data, 'tapchip.db'))],
  ['badge-images', () => symlinkSync(join(dir, 'root'), join(data, 'badge-images'))],
  ['data.key', () => symlinkSync(secret, join(data, 'data.key'))],
  ['a pipe for restore.json', () => execFileSync('mkfifo', [join(data, 'restore.json')])],
  ['a pipe for daemon.lock', () => execFileSync('mkfifo', [join(data, 'daemon.lock')])],
  ['a pipe for tapchip.db', () => execFileSync('mkfifo', [join(data, 'tapchip.db')])],
]
test.runIf(isRoot).each(planted)('what its owner planted leads root nowhere: %s', async (_, plant) => {
  plant()
  give()
  const ended = await restore()
  expect(ended.stderr).not.toContain('    at ')
  expect([0, 1]).toContain(ended.code)
  expect(readFileSync(secret, 'utf8')).toBe('untouched')
  expect(lstatSync(secret).uid).toBe(0)
  expect(readdirSync(join(dir, 'root')).sort()).toEqual(['backup', 'made', 'secret'])
})

test.runIf(isRoot)(
  'root reads no backup for the owner that the owner could have made lead elsewhere',
  async () => {
    const folder = join(data, 'backups')
    mkdirSync(folder)
    symlinkSync(backup, join(folder, 'linked'))
    give()
    const ended = await restore(join(folder, 'linked'))
    expect(ended).toMatchObject({ code: 1 })
    expect(ended.stderr).toContain('the restore works as that user')
    expect(existsSync(join(data, 'tapchip.db'))).toBe(false)
  },
)

test('a pipe in the place of a file of the data directory is named, and keeps nobody waiting', async () => {
  for (const name of ['instance', 'data.key', 'daemon.lock', 'tapchip.db', 'server', 'restore.json']) {
    rmSync(data, { recursive: true, force: true })
    mkdirSync(data, { mode: 0o700 })
    const path = join(data, name)
    execFileSync('mkfifo', ['-m', '600', path])
    const ended = await run('tapchipd', ['--data-dir', data, '--port', '0'], { TAPCHIP_DEV_CHAIN: 'off' })
    expect([name, ended.code, ended.stderr]).toEqual([name, 1, expect.stringContaining(`${path} `)])
    expect(ended.stderr).toMatch(/is a pipe or a device|is not a file|missing|empty/)
  }
})
