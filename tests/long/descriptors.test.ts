import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { anvilOf, endAnvilOf, hasEnded, runs } from '../support/anvil-of.ts'
import { DaemonOnDisk } from '../support/daemon-on-disk.ts'
import { limitDescriptors, openDescriptors } from '../support/descriptors.ts'
import { bob, chips, phygitalSeed } from '../support/phygitals.ts'
import { derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let dir: string
let daemon: DaemonOnDisk
let pid: number
const crowd = new Set<Socket>()
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-descriptors-'))
  const seedFile = join(dir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(phygitalSeed))
  daemon = await DaemonOnDisk.start(dir, ['--seed', seedFile])
  pid = daemon.pid ?? 0
})
afterEach(async () => {
  disperse()
  await daemon.end('SIGKILL')
  endAnvilOf(join(dir, 'data'))
  rmSync(dir, { recursive: true, force: true })
})

const data = () => join(dir, 'data')
const before = 4096
const find = (uid: string, counter: number) => `GET ${tapPath(tap(derived, { uid }, counter), '/chips/find')}`
const ready = async () => (await daemon.call('GET /readyz')).body
const chainIsWell = () => expect.poll(async () => (await ready()).chains?.['31337']).toBe('ok')
const addressOfJackets = async () =>
  (await daemon.call('GET /admin/contracts?team=Acme')).body.find(
    ({ symbol }: { symbol: string }) => symbol === 'JKT',
  ).address
const transfer = (contractAddress: string, tokenId: number) =>
  daemon.ask('POST /phygitals/transfer', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ contractAddress, chainId: 31337, tokenId: String(tokenId), recipient: bob }),
  })

/** Connections that say nothing, until the daemon has no descriptor for another. */
async function comeInCrowds(most: number): Promise<void> {
  const port = Number(new URL(daemon.url).port)
  let refused = 0
  for (let count = 0; count < 4 * most && refused < 20; count += 1) {
    const socket = connect(port, '127.0.0.1')
    crowd.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      refused += 1
      crowd.delete(socket)
    })
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
  }
  expect(refused).toBeGreaterThan(0)
}

function disperse() {
  for (const socket of crowd) socket.destroy()
  crowd.clear()
}

test('a daemon whose anvil dies while it has no descriptor left goes on, and starts another once it has', async () => {
  const contract = await addressOfJackets()
  expect((await transfer(contract, 1)).status).toBe(200)
  const anvil = anvilOf(data())
  limitDescriptors(pid, openDescriptors(pid))
  process.kill(anvil, 'SIGKILL')
  await expect.poll(() => daemon.log).toMatch(/the dev chain does not start/)
  expect(daemon.log).toMatch(/EMFILE/)
  expect((await daemon.call(find(chips.jacket(1), 1))).body.isValidTap).toBe(true)
  const refused = await transfer(contract, 2)
  expect([refused.status, refused.body.code]).toEqual([503, 'chain_unavailable'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)

  limitDescriptors(pid, before)
  await expect.poll(async () => (await transfer(contract, 2)).status).toBe(200)
  await chainIsWell()
  expect((await daemon.call(find(chips.jacket(1), 1))).body.isValidTap).toBe(false)
  const next = anvilOf(data())
  expect(next).not.toBe(anvil)
  expect(runs(next)).toBe(true)
  expect(await daemon.end()).toBe(0)
  await hasEnded(next)
})

test('a daemon that has to stop while its anvil cannot be started stops in order', async () => {
  const anvil = anvilOf(data())
  limitDescriptors(pid, openDescriptors(pid))
  process.kill(anvil, 'SIGKILL')
  await expect.poll(() => daemon.log).toMatch(/the dev chain does not start/)
  expect(await daemon.end()).toBe(0)
  expect(daemon.log).not.toMatch(/a step of the shutdown failed|uncaught/i)
})

test('a crowd of connections that takes all descriptors ends nothing, and loses nothing that was answered', async () => {
  const contract = await addressOfJackets()
  const anvil = anvilOf(data())
  const limit = openDescriptors(pid) + 40
  limitDescriptors(pid, limit)
  const answered: string[] = []
  const sent: number[] = []
  for (let round = 1; round <= 3; round += 1) {
    await comeInCrowds(limit)
    for (let n = 1; n <= 10; n += 1) {
      const path = find(chips.jacket(n), round)
      // Turned away, or answered by the connection that is there still.
      const answer = await daemon.call(path).catch(() => undefined)
      if (answer?.status === 200) answered.push(path)
      const token = (round - 1) * 5 + n
      if (n <= 5 && (await transfer(contract, token).catch(() => undefined))?.status === 200) sent.push(token)
    }
    expect(daemon.isRunning).toBe(true)
    disperse()
    await expect
      .poll(() =>
        daemon.call('GET /healthz').then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200)
    const path = find(chips.jacket(20), round)
    expect((await daemon.call(path)).body.isValidTap).toBe(true)
    answered.push(path)
  }
  limitDescriptors(pid, before)
  await chainIsWell()
  expect((await transfer(contract, 19)).status).toBe(200)
  sent.push(19)
  expect(runs(anvil)).toBe(true)
  for (const path of answered) expect((await daemon.call(path)).body.isValidTap).toBe(false)

  // A kill in the crowd, and whoever comes next finds all of it.
  limitDescriptors(pid, openDescriptors(pid) + 20)
  await comeInCrowds(limit)
  await daemon.end('SIGKILL')
  disperse()
  daemon = await DaemonOnDisk.start(dir)
  for (const path of answered) expect((await daemon.call(path)).body.isValidTap).toBe(false)
  for (const token of sent) await expect.poll(() => daemon.owner(contract, token)).toBe(getAddress(bob))
  await hasEnded(anvil)
  const next = anvilOf(data())
  expect(await daemon.end()).toBe(0)
  await hasEnded(next)
})
