import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DaemonProcess, run, spawnDaemon } from '../support/process.ts'

// What a newcomer does without a reader: the executables as they are, a virtual chip, a fresh daemon.

const seed = {
  version: 1,
  keySets: [
    {
      id: 7,
      metaReadKey: '11'.repeat(16),
      fileReadKey: '22'.repeat(16),
      appMasterKey: '33'.repeat(16),
      diversification: 'an10922',
      macInputFrom: 'd',
    },
  ],
  teams: [{ name: 'Acme' }],
}

let daemon: DaemonProcess
let home: string
let env: Record<string, string>
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'tapchip-nfc-'))
  writeFileSync(join(home, 'seed.json'), JSON.stringify(seed))
  const token = 'adm_for-tests-only-0123456789'
  daemon = await spawnDaemon(['--ephemeral', '--port', '0', '--seed', join(home, 'seed.json')], {
    TAPCHIP_ADMIN_TOKEN: token,
  })
  env = { HOME: home, TAPCHIP_URL: daemon.ready.url, TAPCHIP_ADMIN_TOKEN: token }
})
afterAll(async () => {
  await daemon.stop()
  rmSync(home, { recursive: true })
})

const nfc = async (...args: string[]) => {
  const { code, stdout, stderr } = await run(
    'tapchip',
    ['nfc', ...args, '--reader', 'emulator', '--json'],
    env,
  )
  // What changes something says where; reading does not.
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^(At http:\S+ \(TAPCHIP_URL\)\n)?$/)])
  return JSON.parse(stdout) as Record<string, unknown>
}

test('the emulated chip is set up, read, verified, reset, and blank again', async () => {
  const provisioned = await nfc('provision', '--key-set', '7', '--chip-group', 'Virtual')
  expect(provisioned).toMatchObject({ status: 'provisioned', keySet: 7 })
  const read = await nfc('read')
  expect(read).toMatchObject({ reader: 'emulator', family: 'ntag424', d: '7' })
  expect(String(read.url).startsWith(`${daemon.ready.url}/t?d=7&e=`)).toBe(true)
  const { uid } = provisioned
  expect(await nfc('verify')).toMatchObject({ uid, isValidTap: true, d: '7' })
  expect(await nfc('watch', '--verify', '--count', '1', '--quiet')).toMatchObject({ uid, isValidTap: true })
  // Older than the taps that were taken since.
  const { stdout } = await run('tapchip', ['chips', 'find', String(read.url), '--json'], env)
  expect(JSON.parse(stdout)).toMatchObject({ uid, isValidTap: false })

  expect(await nfc('reset', '--yes')).toMatchObject({ uid, status: 'factory' })
  expect(await nfc('read', '--quiet')).toMatchObject({ family: 'ntag424', url: null })
})
