import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'

let dataDir: string
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-kills-'))
})
let daemon: DaemonProcess | undefined
afterAll(async () => {
  await daemon?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

const start = () =>
  spawnDaemon(['--data-dir', dataDir, '--port', '0'], {
    TAPCHIP_DEV_CHAIN: 'off',
    TAPCHIP_DATA_KEY: '0123456789abcdef'.repeat(4),
  })
const rootToken = () => readFileSync(join(dataDir, 'admin.token'), 'utf8').trim()

async function call(method: string, path: string, headers: Record<string, string>, body?: object) {
  const json = body && { body: JSON.stringify(body) }
  const answer = await fetch(`${daemon?.ready.url}${path}`, {
    ...{ method, ...json },
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
  })
  const told: { id: number; key: string } = JSON.parse(await answer.text())
  return { status: answer.status, body: told }
}

test('what a roll told works after kill -9 a moment later, and what it ended stays ended', async () => {
  daemon = await start()
  const root = () => ({ authorization: `Bearer ${rootToken()}` })
  const withKey = (key: string) => ({ 'x-svc-api-key': key })
  await call('POST', '/admin/teams', root(), { name: 'Acme' })
  const { id, key } = (await call('POST', '/admin/api-keys', root(), { name: 'ci', team: 'Acme' })).body
  const old = rootToken()

  const rolled = (await call('POST', `/admin/api-keys/${id}/roll`, root(), {})).body.key
  await daemon.kill()
  daemon = await start()
  for (const secret of [key, rolled]) expect((await call('GET', '/team', withKey(secret))).status).toBe(200)

  expect((await call('POST', '/admin/root-token/roll', root())).status).toBe(200)
  await daemon.kill()
  daemon = await start()
  expect((await call('GET', '/admin/teams', { authorization: `Bearer ${old}` })).status).toBe(401)
  expect((await call('GET', '/admin/teams', root())).status).toBe(200)

  await call('DELETE', `/admin/api-keys/${id}`, root())
  await daemon.kill()
  daemon = await start()
  for (const secret of [key, rolled]) expect((await call('GET', '/team', withKey(secret))).status).toBe(401)
})
