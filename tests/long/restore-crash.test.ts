import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { bin } from '../support/process.ts'
import { seed } from '../support/seeds.ts'

let dir: string
let path: string
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-restore-crash-'))
  const own = join(dir, 'own')
  mkdirSync(own)
  const t = await openAdminApp({ seed, dataDir: own })
  path = (await t.call('POST /admin/backup', {})).body.path
  await t.call('POST /admin/chip-groups', { name: 'made since', team: 'Acme' })
  await t.close()
  cpSync(path, join(dir, 'backup'), { recursive: true })
  cpSync(join(own, 'data.key'), join(dir, 'backup', 'data.key'))
  path = join(dir, 'backup')
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const preload = join(import.meta.dirname, '../support/kill-at-write.mjs')
const restore = (dataDir: string, killAt?: number) =>
  spawnSync(
    process.execPath,
    ['--import', preload, bin('tapchipd'), '--restore', path, '--data-dir', dataDir],
    { encoding: 'utf8', env: { PATH: process.env.PATH ?? '', KILL_AT: String(killAt ?? 0) } },
  )

/** Which data a daemon finds. */
const stateOf = async (dataDir: string): Promise<'old' | 'new'> => {
  const t: AdminApp = await openAdminApp({ dataDir })
  try {
    const groups = (await t.call('GET /admin/chip-groups?team=Acme')).body
    const isOld = groups.some(({ name }: { name: string }) => name === 'made since')
    const marked = await t.ctx.db.read.selectFrom('chips').select('uid').where('catchesUp', '=', 1).execute()
    expect(marked).toHaveLength(isOld ? 0 : 8)
    return isOld ? 'old' : 'new'
  } finally {
    await t.close()
  }
}

const asides = (dataDir: string) => readdirSync(dataDir).filter((name) => name.startsWith('before-restore'))

const copyOfOld = (name: string): string => {
  const dataDir = join(dir, name)
  cpSync(join(dir, 'own'), dataDir, { recursive: true })
  return dataDir
}

test('a restore that is killed before any of its steps leaves the old or the new data, and is completed by the next', async () => {
  const whole = restore(copyOfOld('whole'))
  expect([whole.status, whole.stdout]).toEqual([0, expect.stringContaining('"restored"')])
  const steps = Number(/changes: (\d+)/.exec(whole.stderr)?.[1])
  expect(steps).toBeGreaterThan(15)
  const found: string[] = []
  for (let at = 1; at <= steps; at += 1) {
    const dataDir = copyOfOld(`killed-${at}`)
    expect([at, restore(dataDir, at).signal]).toEqual([at, 'SIGKILL'])
    // A start completes it, or drops what is left of it; so does another restore.
    const seen = copyOf(dataDir, `seen-${at}`)
    const state = await stateOf(seen)
    found.push(state)
    expect(readdirSync(seen)).not.toContain('restoring')
    expect(asides(seen)).toHaveLength(state === 'old' ? 0 : 1)
    const again = restore(dataDir)
    expect([at, again.status, again.stderr]).toEqual([at, 0, expect.anything()])
    expect([at, await stateOf(dataDir)]).toEqual([at, 'new'])
    expect(asides(dataDir).length).toBeGreaterThan(0)
    for (const used of [dataDir, seen]) rmSync(used, { recursive: true })
  }
  // It takes effect at one step.
  expect(found.join(' ')).toMatch(/^(old )+(new ?)+$/)
}, 900_000)

const copyOf = (from: string, name: string): string => {
  const to = join(dir, name)
  cpSync(from, to, { recursive: true })
  return to
}

test('a restore into a new directory that is killed leaves no daemon that looks empty', async () => {
  const steps = Number(/changes: (\d+)/.exec(restore(join(dir, 'new')).stderr)?.[1])
  expect(steps).toBeGreaterThan(10)
  for (let at = 1; at <= steps; at += 1) {
    const dataDir = join(dir, `new-${at}`)
    expect(restore(dataDir, at).signal).toBe('SIGKILL')
    const isStaged = existsSync(join(dataDir, 'restoring')) && !existsSync(join(dataDir, 'restore.json'))
    if (isStaged && !existsSync(join(dataDir, 'tapchip.db')))
      await expect(openAdminApp({ dataDir })).rejects.toThrow(/was interrupted. Run it again/)
    expect(restore(dataDir).status).toBe(0)
    expect([at, await stateOf(dataDir)]).toEqual([at, 'new'])
    rmSync(dataDir, { recursive: true })
  }
}, 900_000)
