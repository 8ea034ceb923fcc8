import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { seed } from '../support/seeds.ts'

let daemon: TestDaemon
let here: CliHome
let path: string
beforeAll(async () => {
  daemon = await startTestDaemon({ seed })
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
  here.env.TAPCHIP_BACKUP_PASSPHRASE = 'correct horse'
  path = ((await here.run('backup', '--json')).json() as { path: string }).path
  delete here.env.TAPCHIP_BACKUP_PASSPHRASE
  writeFileSync(join(here.home, 'passphrase.txt'), 'correct horse\n')
})
afterAll(async () => {
  here.remove()
  await daemon.stop()
})

const restore = (dir: string, ...more: string[]) =>
  here.run('restore', path, '--data-dir', join(here.home, dir), ...more)
const withKey = ['--passphrase-file', 'passphrase.txt'] as const

describe('tapchip restore', () => {
  test('restores into a new directory, prints what it did, and asks before it replaces data', async () => {
    const dir = join(here.home, 'new')
    const first = await restore('new', ...withKey, '--json')
    expect([first.code, first.json()]).toEqual([
      0,
      { from: path, dataDir: dir, madeAt: expect.any(String), keptAside: null, chips: 8 },
    ])
    expect(first.stderr).toContain('The first tap of each chip only brings its counter up to date')
    expect(first.stderr).toContain('revoked since the backup are valid again')
    const asked = await restore('new', ...withKey)
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--yes')])
    expect(readdirSync(dir).filter((name) => name.startsWith('before-restore'))).toEqual([])
    expect(first.stderr).not.toContain('TAPCHIP_DATABASE_URL')
    here.env.TAPCHIP_DATABASE_URL = 'postgres://tapchip:secret@db1/tapchip'
    const again = await restore('new', ...withKey, '--yes', '--json')
    expect(again.stderr).toMatch(/TAPCHIP_DATABASE_URL is set: .* tapchip store copy/)
    delete here.env.TAPCHIP_DATABASE_URL
    expect([again.code, (again.json() as { keptAside: string }).keptAside]).toEqual([
      0,
      expect.stringContaining(join(dir, 'before-restore-')),
    ])
    expect(readdirSync(dir)).not.toContain('restoring')
  })

  test('says what is wrong, and what to do, and leaves nothing behind', async () => {
    writeFileSync(join(here.home, 'wrong.txt'), 'wrong')
    writeFileSync(join(here.home, 'empty.txt'), '\n')
    for (const [code, says, ...flags] of [
      [1, 'The passphrase is not the one', '--passphrase-file', 'wrong.txt'],
      [1, '--passphrase-file FILE'],
      [2, 'empty.txt is empty', '--passphrase-file', 'empty.txt'],
      [1, 'nowhere.txt', '--passphrase-file', 'nowhere.txt'],
    ] as const) {
      const ran = await restore('none', ...flags)
      expect([flags, ran.code, ran.stderr]).toEqual([flags, code, expect.stringContaining(says)])
      expect(existsSync(join(here.home, 'none'))).toBe(false)
    }
    const lost = await here.run('restore', 'nowhere', '--data-dir', 'none')
    expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining('nowhere does not exist')])
    const running = await here.run('restore', path, '--data-dir', daemon.dataDir, ...withKey, '--yes')
    expect([running.code, running.stderr]).toEqual([1, expect.stringContaining('tapchip daemon stop')])
  })

  test('changes nothing with --dry-run', async () => {
    const ran = await restore('none', ...withKey, '--dry-run')
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('Would restore')])
    expect(existsSync(join(here.home, 'none'))).toBe(false)
  })
})
