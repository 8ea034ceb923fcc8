import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTestDaemon } from '../support/daemon.ts'
import { limitFiles } from '../support/full-disk.ts'
import { run } from '../support/process.ts'
import { seed } from '../support/seeds.ts'

test('an export that the disk has no room for leaves the file as it was, and no half of one', async () => {
  const daemon = await startTestDaemon({ seed })
  const home = mkdtempSync(join(tmpdir(), 'tapchip-home-'))
  const file = join(home, 'chips.csv')
  const env = { HOME: home, TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken }
  const write = () => run('tapchip', ['chips', 'export', '--team', 'Acme', '--file', file, '--yes'], env)
  try {
    writeFileSync(file, 'as it was')
    // What is started now inherits it.
    const lift = limitFiles(300)
    const refused = await write().finally(lift)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(`${file} cannot be written: the disk is full.`)
    expect(refused.stderr).not.toMatch(/EFBIG|^ {4}at /m)
    expect(readFileSync(file, 'utf8')).toBe('as it was')
    expect(readdirSync(home)).toEqual(['chips.csv'])

    expect((await write()).code).toBe(0)
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(8)
    expect(readdirSync(home)).toEqual(['chips.csv'])
  } finally {
    await daemon.stop()
    rmSync(home, { recursive: true })
  }
})
