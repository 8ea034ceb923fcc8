import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, createPublicClient, type Hex, http, parseAbi } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { anvilBinary } from '../../src/daemon/chain/dev-chain/anvil-binary.ts'
import { endAnvilOf } from '../support/anvil-of.ts'
import { testClock } from '../support/daemon.ts'
import { DaemonOnDisk } from '../support/daemon-on-disk.ts'
import { clientOf, devChains, payee, transfer } from '../support/dev-chain.ts'
import { type FakeTime, fakeTime } from '../support/fake-time.ts'
import { ownerEdit } from '../support/owner-edit.ts'
import { bob, carol, chips, phygitalSeed } from '../support/phygitals.ts'
import { derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// The built executable on a machine whose clock is wrong: while it runs, at its start, and until that is mended.

const hour = 3600
const year = 365 * 24 * hour
let dir: string
let time: FakeTime
let daemon: DaemonOnDisk | undefined
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-clock-'))
  time = fakeTime(dir)
  writeFileSync(join(dir, 'seed.json'), JSON.stringify(phygitalSeed))
})
afterEach(async () => {
  await daemon?.end('SIGKILL')
  daemon = undefined
  endAnvilOf(join(dir, 'data'))
  rmSync(dir, { recursive: true, force: true })
})

const start = async (env: Record<string, string> = {}): Promise<DaemonOnDisk> => {
  daemon = await DaemonOnDisk.start(dir, ['--seed', join(dir, 'seed.json')], { ...time.env, ...env })
  return daemon
}
/** Sets the clock, and waits until the daemon has seen that. */
const jump = async (on: DaemonOnDisk, seconds: number): Promise<void> => {
  const seen = () => on.log.split('"jumpSeconds"').length
  const before = seen()
  time.set(seconds)
  await expect.poll(seen).toBeGreaterThan(before)
}
const status = async (on: DaemonOnDisk) => (await on.call('GET /admin/status')).body

test('an hour back, nobody waits longer, and the daemon is as old as it is', async () => {
  const on = await start({ TAPCHIP_RATE_LIMIT: '3', TAPCHIP_DEV_CHAIN: 'off' })
  const waits = async () => Number((await on.call('GET /refs/none')).headers.get('retry-after'))
  await expect.poll(waits).toBeGreaterThan(0)
  const before = (await status(on)).uptimeSeconds
  for (const seconds of [-hour, year, -year, 0]) {
    await jump(on, seconds)
    // One of three a minute comes back every twenty seconds.
    await expect.poll(waits).toBeGreaterThan(0)
    expect(await waits()).toBeLessThanOrEqual(20)
    const { uptimeSeconds } = await status(on)
    expect(uptimeSeconds).toBeGreaterThanOrEqual(before)
    expect(uptimeSeconds).toBeLessThan(10 * 60)
  }
})

test('a year ahead, in 1970, and mended: nothing is done twice, and what was good stays so', async () => {
  let on = await start()
  const contract: Address = (await on.call('GET /admin/contracts?team=Acme')).body.find(
    ({ symbol }: { symbol: string }) => symbol === 'JKT',
  ).address
  const token = (n: number) => ({ contractAddress: contract, chainId: 31337, tokenId: String(n) })
  const headers = { 'content-type': 'application/json' }
  const move = (n: number, recipient: string, key: string) =>
    on.ask('POST /phygitals/transfer', {
      headers: { ...headers, 'idempotency-key': key },
      body: JSON.stringify({ ...token(n), recipient }),
    })
  const ownerOf = async (n: number) => {
    const client = createPublicClient({ chain: foundry, transport: http(on.rpcUrl), cacheTime: 0 })
    return client.readContract({
      address: contract,
      abi: parseAbi(['function ownerOf(uint256) view returns (address)']),
      functionName: 'ownerOf',
      args: [BigInt(n)],
    })
  }
  const isOwnedBy = (n: number, owner: string) =>
    expect.poll(async () => (await ownerOf(n)).toLowerCase()).toBe(owner.toLowerCase())

  const owner = privateKeyToAccount(generatePrivateKey())
  const edit = async (requestExpiryTime: number, ownerSignature: Hex) => {
    const updates = { redirectUrl: 'https://owner.example/' }
    const body = JSON.stringify({ ...token(9), updates, requestExpiryTime, ownerSignature })
    const answer = await on.call('PATCH /chips/self-service', { headers, body })
    return answer.body.code ?? answer.status
  }
  const until = Math.floor(Date.now() / 1000) + hour
  const signature = await owner.signTypedData(ownerEdit(contract, 9, 'https://owner.example/', until))
  await move(9, owner.address, 'give')
  await isOwnedBy(9, owner.address)
  expect(await edit(until, signature)).toBe(200)

  let counter = 0
  const tapOnce = async () => {
    counter += 1
    const path = tapPath(tap(derived, { uid: chips.jacket(1) }, counter), '/chips/find')
    expect((await on.call(`GET ${path}`)).body.isValidTap).toBe(true)
    expect((await on.call(`GET ${path}`)).body.isValidTap).toBe(false)
  }
  const codeOf = async (n: number) => {
    counter += 1
    const page = await on.call(`GET ${tapPath(tap(derived, { uid: chips.jacket(n) }, counter))}`)
    const ref = /data-ref="([^"]+)"/.exec(page.text)?.[1]
    return (await on.call(`GET /refs/${ref}`)).body.linkedToken.otp as string
  }
  const isExpired = async (code: string) => (await on.call(`GET /otps/${code}`)).body.isExpired

  // What was sent, with its key, and what came of it.
  const sent: { n: number; key: string; body: unknown }[] = []
  const count = async () => (await on.call('GET /admin/transactions?limit=500')).body.length as number
  const moveOnce = async (n: number) => {
    const key = `move ${n}`.replace(' ', '-')
    const { status, body } = await move(n, bob, key)
    expect(status).toBe(200)
    sent.push({ n, key, body })
    await isOwnedBy(n, bob)
  }
  const nothingTwice = async () => {
    const before = await count()
    for (const { n, key, body } of sent) expect(await move(n, bob, key)).toMatchObject({ status: 200, body })
    expect(await edit(until, signature)).toMatch(/^signature_(used|expired)$/)
    expect(await count()).toBe(before)
    await tapOnce()
  }

  await moveOnce(1)
  const early = await codeOf(2)
  await jump(on, year)
  await moveOnce(2)
  const late = await codeOf(3)
  expect([await isExpired(early), await isExpired(late)]).toEqual([true, false])
  await nothingTwice()

  expect(await on.end()).toBe(0)
  on = await start()
  await nothingTwice()
  expect(await isExpired(late)).toBe(false)

  await jump(on, 0)
  expect(on.log).toContain('The clock was set back')
  expect((await on.call('GET /readyz')).body.clock).toBe('jumped')
  expect([await isExpired(early), await isExpired(late)]).toEqual([true, true])
  await nothingTwice()
  expect(await edit(until, signature)).toBe('signature_used')
  await moveOnce(4)
  // What was settled after the clock was set back is on the chain that comes back from before.
  await on.end('SIGKILL')
  on = await start()
  for (const { n } of sent) await isOwnedBy(n, bob)
  await nothingTwice()

  await on.end('SIGKILL')
  time.set(hour - Math.floor(Date.now() / 1000))
  on = await start()
  expect((await status(on)).warnings.join()).toContain('1970-01-01')
  await nothingTwice()
  await moveOnce(5)
  await jump(on, 0)
  await nothingTwice()
  await moveOnce(6)
  await on.end('SIGKILL')
  on = await start()
  for (const { n } of sent) await isOwnedBy(n, bob)
  await nothingTwice()
  expect(await move(1, carol, 'move-1')).toMatchObject({ status: 409 })
})

describe('the embedded chain on a clock that jumps', () => {
  const chains = devChains()
  afterEach(() => chains.clean())

  test('makes no blocks for it, and goes on at the latest time that it had, until a restart', async () => {
    const binary = join(dir, 'anvil')
    const settings = Object.entries(time.env).map(([name, value]) => `${name}='${value}'`)
    writeFileSync(binary, `#!/bin/sh\n${settings.join(' ')} exec '${anvilBinary()}' "$@"\n`)
    chmodSync(binary, 0o755)
    const clock = testClock(new Date().toISOString())
    const dataDir = chains.dir()
    let chain = await chains.start({ dataDir, clock, binary })
    const jumpTo = (seconds: number, span: string) => {
      time.set(seconds)
      clock.jump(span)
    }
    let nonce = 0
    const send = async () => {
      await chain.request({ method: 'eth_sendRawTransaction', params: [await transfer(nonce)] })
      await expect.poll(() => clientOf(chain).getBalance({ address: payee(nonce) })).toBe(1n)
      nonce += 1
      const { number, timestamp } = await clientOf(chain).getBlock()
      return { number, at: Number(timestamp) - Math.floor(Date.now() / 1000) }
    }
    const first = await send()
    expect(Math.abs(first.at)).toBeLessThan(60)

    jumpTo(year, '365d')
    const ahead = await send()
    expect(Math.abs(ahead.at - year)).toBeLessThan(60)
    // A jump brings no blocks: what is signed for so many blocks stays good.
    expect(ahead.number).toBe(first.number + 1n)

    jumpTo(0, '-365d')
    const mended = await send()
    expect(mended.number).toBe(ahead.number + 1n)
    expect(mended.at).toBeGreaterThanOrEqual(ahead.at - 60)

    await chain.dump()
    await chain.stop()
    chain = await chains.start({ dataDir, clock, binary })
    const again = await send()
    expect(Math.abs(again.at)).toBeLessThan(60)
    expect(again.number).toBe(mended.number + 1n)
  })
})
