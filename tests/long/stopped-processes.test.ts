import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, getAddress } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { anvilOf, endAnvilOf, hasEnded, runs } from '../support/anvil-of.ts'
import { DaemonOnDisk } from '../support/daemon-on-disk.ts'
import { bob, chips, phygitalSeed } from '../support/phygitals.ts'
import { run } from '../support/process.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let dir: string
let daemon: DaemonOnDisk
let contract: Address
const stopped = new Set<number>()
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-stopped-'))
  const seedFile = join(dir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(phygitalSeed))
  daemon = await DaemonOnDisk.start(dir, ['--seed', seedFile])
  contract = (await daemon.call('GET /admin/contracts?team=Acme')).body.find(
    ({ symbol }: { symbol: string }) => symbol === 'JKT',
  ).address
})
afterEach(async () => {
  // Nobody is left stopped, whatever became of the test.
  for (const pid of stopped) if (runs(pid)) go(pid)
  stopped.clear()
  await daemon.end('SIGKILL')
  endAnvilOf(join(dir, 'data'))
  rmSync(dir, { recursive: true, force: true })
})

const halt = (pid: number) => {
  stopped.add(pid)
  process.kill(pid, 'SIGSTOP')
}
const go = (pid: number) => process.kill(pid, 'SIGCONT')
const anvil = () => anvilOf(join(dir, 'data'))
const valid = async (counter: number) =>
  (await daemon.call(`GET ${tapPath(tap(derived, { uid: chips.jacket(1) }, counter), '/chips/find')}`)).body
    .isValidTap
const transfer = (tokenId: number) =>
  daemon.ask('POST /phygitals/transfer', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      contractAddress: contract,
      chainId: 31337,
      tokenId: String(tokenId),
      recipient: bob,
    }),
  })
const chainIs = (word: string) =>
  expect.poll(async () => (await daemon.call('GET /readyz')).body.chains['31337']).toBe(word)

test('a chain that is stopped takes taps along in nothing, is in trouble for who watches, and goes on where it was', async () => {
  const pid = anvil()
  halt(pid)
  expect(await valid(1)).toBe(true)
  const waiting = transfer(1)
  await chainIs('trouble')
  expect((await daemon.call('GET /metrics')).text).toMatch(/^tapchip_chain_trouble\{[^}]*31337[^}]*\} 1$/m)
  expect(await valid(2)).toBe(true)
  go(pid)
  expect((await waiting).status).toBe(200)
  await chainIs('ok')
  expect(anvil()).toBe(pid)
  expect(await valid(2)).toBe(false)
})

test('a chain that stays stopped is refused in time, and replaced by one that has all of it', async () => {
  expect((await transfer(1)).status).toBe(200)
  const pid = anvil()
  halt(pid)
  const refused = await transfer(2)
  expect([refused.status, refused.body.code]).toEqual([503, 'chain_unavailable'])
  await hasEnded(pid)
  await expect.poll(async () => (await transfer(2)).status).toBe(200)
  await chainIs('ok')
  expect(anvil()).not.toBe(pid)
  for (const token of [1, 2]) await expect.poll(() => daemon.owner(contract, token)).toBe(getAddress(bob))
})

test('a stop with a stopped chain ends in order and before anybody loses patience, and leaves none', async () => {
  expect((await transfer(1)).status).toBe(200)
  const pid = anvil()
  halt(pid)
  // Under way, and not to be answered any more.
  const waiting = transfer(2).catch(() => undefined)
  const began = performance.now()
  expect(await daemon.end()).toBe(0)
  expect(performance.now() - began).toBeLessThan(18_000)
  await waiting
  await hasEnded(pid)
  daemon = await DaemonOnDisk.start(dir)
  await chainIs('ok')
  await expect.poll(() => daemon.owner(contract, 1)).toBe(getAddress(bob))
  expect((await transfer(3)).status).toBe(200)
})

test('a daemon that is stopped is told from one that is not there, and goes on with what was asked meanwhile', async () => {
  const pid = daemon.pid ?? 0
  const env = { TAPCHIP_URL: daemon.url, TAPCHIP_API_KEY: acmeKey, HOME: dir }
  const late = valid(1)
  halt(pid)
  const asked = await run('tapchip', ['chip-groups', 'list', '--timeout', '2'], env)
  expect(asked.code).toBe(5)
  expect(asked.stderr).toMatch(/no answer in time.*process is suspended.*--timeout SECONDS/)
  expect(asked.stderr).not.toContain('daemon start')
  go(pid)
  expect(await late).toBe(true)
  expect((await run('tapchip', ['chip-groups', 'list'], env)).code).toBe(0)
})
