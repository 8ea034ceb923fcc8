import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { endAnvilOf } from '../support/anvil-of.ts'
import { eventForm } from '../support/badges.ts'
import { type Answered, DaemonOnDisk } from '../support/daemon-on-disk.ts'
import { type SmallDisk, smallDisk } from '../support/full-disk.ts'
import { bob, chips, phygitalSeed } from '../support/phygitals.ts'
import { png } from '../support/poap/image-bytes.ts'
import { run } from '../support/process.ts'
import { minedReceipt } from '../support/receipt.ts'
import { derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let disk: SmallDisk
let daemon: DaemonOnDisk | undefined
let seedFile: string
const data = () => join(disk.path, 'data')

beforeEach(() => {
  disk = smallDisk(48)
  seedFile = join(disk.path, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(phygitalSeed))
})
afterEach(async () => {
  await daemon?.end('SIGKILL')
  daemon = undefined
  endAnvilOf(data())
  disk.free()
  disk.remove()
})

const start = async (...args: string[]): Promise<DaemonOnDisk> => {
  daemon = await DaemonOnDisk.start(disk.path, args)
  return daemon
}
const find = (uid: string, counter: number) => `GET ${tapPath(tap(derived, { uid }, counter), '/chips/find')}`
const readyAgain = (on: DaemonOnDisk) =>
  expect.poll(async () => (await on.call('GET /readyz')).status).toBe(200)

/** In words, with when to come back, and nothing of the inside. */
function isRefusal({ status, headers, text, body }: Answered): void {
  expect([status, text]).toEqual([503, expect.anything()])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(body.code).toMatch(disk.code)
  expect(text).not.toMatch(/ENOSPC|EFBIG|SQLITE|no space left|database or disk/)
}

const folder = (name: string): string[] =>
  existsSync(join(data(), name)) ? readdirSync(join(data(), name)) : []
const sheet = (from: number, to: number): string =>
  `uid\n${Array.from({ length: to - from }, (_, n) => `04B0${(from + n).toString(16).padStart(8, '0').toUpperCase()}80`).join('\n')}\n`
const imported = async (on: DaemonOnDisk, body: string, query = '') => {
  const answer = await on.call(`POST /admin/chips/import?team=Acme&chipGroup=Big&keySet=101${query}`, {
    headers: { 'content-type': 'text/csv' },
    body,
  })
  return {
    ...answer,
    lines: answer.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  }
}
const backUp = (on: DaemonOnDisk) =>
  on.call('POST /admin/backup', { headers: { 'content-type': 'application/json' }, body: '{}' })
const chipCount = async (on: DaemonOnDisk): Promise<number> =>
  (await on.call('GET /admin/status')).body.counts.chips

test('with its log on the full disk a daemon refuses in words, does nothing of it, and goes on by itself', async () => {
  const on = await start('--seed', seedFile)
  const somebody = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  const wallet = createWalletClient({
    account: somebody,
    chain: foundry,
    transport: http(on.rpcUrl, { retryCount: 0 }),
    pollingInterval: 20,
  }).extend(publicActions)
  const client = createPublicClient({ chain: foundry, transport: http(on.rpcUrl), cacheTime: 0 })
  const contract = (await on.call('GET /admin/contracts?team=Acme')).body.find(
    ({ symbol }: { symbol: string }) => symbol === 'JKT',
  ).address
  const transfer = (n: number, recipient: string) =>
    on.ask('POST /phygitals/transfer', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ contractAddress: contract, chainId: 31337, tokenId: String(n), recipient }),
    })

  // Before: what is answered must stay.
  const answered: string[] = []
  for (let n = 1; n <= 10; n += 1) {
    const path = find(chips.jacket(n), 1)
    expect((await on.call(path)).body.isValidTap).toBe(true)
    answered.push(path)
  }
  expect((await transfer(1, bob)).status).toBe(200)
  expect((await imported(on, sheet(0, 100))).lines.at(-1)).toMatchObject({ row: 100, status: 'created' })
  const chipsBefore = await chipCount(on)
  expect((await backUp(on)).status).toBe(200)

  disk.fill(on.pid)
  // What is left of the last pages goes to whoever comes first.
  const refused: string[] = []
  for (let counter = 2; refused.length < 5 && counter < 400; counter += 1)
    for (let n = 1; n <= 20 && refused.length < 5; n += 1) {
      const path = find(chips.jacket(n), counter)
      if (refused.some((other) => other.includes(`#${n}`))) continue
      const answer = await on.call(path)
      if (answer.status === 200) answered.push(path)
      else {
        isRefusal(answer)
        refused.push(`${path}#${n}`)
      }
    }
  expect(refused).toHaveLength(5)

  const page = await on.call(`GET ${tapPath(tap(derived, { uid: chips.art(1) }, 1))}`)
  expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8'])
  expect(page.text).toContain('was not used up')
  // A state of the chain that was half written when the disk became full has given its space back meanwhile.
  disk.fill(on.pid)
  const ready = await on.call('GET /readyz')
  isRefusal(ready)
  expect(ready.body.message).toMatch(/store.*disk/)
  expect((await on.call('GET /healthz')).status).toBe(200)
  const metrics = (await on.call('GET /metrics')).text
  expect(Number(/^tapchip_writes_refused_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(5)
  expect(metrics).toMatch(/^tapchip_data_dir_free_bytes \d/m)
  const doctor = await run('tapchip', ['doctor', '--json'], {
    TAPCHIP_URL: on.url,
    TAPCHIP_ADMIN_TOKEN: 'adm_disk-test-0123456789',
  })
  const line = JSON.parse(doctor.stdout).find(({ check }: { check: string }) => check === 'disk')
  expect(line).toMatchObject({ status: 'fail', fix: expect.stringMatching(/\w/) })

  disk.fill(on.pid)
  const { headers, payload } = await eventForm({}, { image: png(8, 8, { bytes: 1_000_000 }) })
  isRefusal(await on.ask('POST /badge-events', { headers, body: new Uint8Array(payload) }))
  expect(folder('badge-images')).toEqual([])
  isRefusal(await backUp(on))
  expect(folder('backups')).toHaveLength(1)
  isRefusal(await imported(on, sheet(100, 5000)))
  expect(await chipCount(on)).toBe(chipsBefore)
  isRefusal(await transfer(2, bob))

  // A wallet of somebody's own, that talks to the chain itself.
  const stranger = privateKeyToAccount(`0x${'91'.repeat(32)}`).address
  const toStranger = { to: stranger, value: 1n, gas: 21_000n, maxFeePerGas: 10_000_000_000n }
  await minedReceipt(wallet, await wallet.sendTransaction(toStranger))
  expect(await client.getBalance({ address: stranger })).toBe(1n)

  disk.free()
  await readyAgain(on)
  for (const path of answered) {
    const again = (await on.call(path)).body
    expect(again.isValidTap).toBe(false)
  }
  for (const path of refused) {
    const [url = ''] = path.split('#')
    expect((await on.call(url)).body.isValidTap).toBe(true)
    expect((await on.call(url)).body.isValidTap).toBe(false)
  }
  expect((await on.call(`GET ${tapPath(tap(derived, { uid: chips.art(1) }, 1))}`)).status).toBe(200)
  expect((await transfer(2, bob)).status).toBe(200)
  expect((await on.ask('POST /badge-events', { headers, body: new Uint8Array(payload) })).status).toBe(200)
  expect((await backUp(on)).status).toBe(200)
  expect((await imported(on, sheet(100, 5000), '&report=failures')).lines).toEqual([
    { created: 4900, unchanged: 0, failed: 0 },
  ])
  // States of the chain are kept again, and those that could not be left nothing behind.
  await expect.poll(() => folder('dev-chain').filter((name) => /^state-.*\.gz$/.test(name))).not.toEqual([])
  // A state that is just being written has such a file for a moment.
  await expect.poll(() => folder('dev-chain').filter((name) => name.endsWith('.new'))).toEqual([])

  // And with a start in between.
  expect(await on.end()).toBe(0)
  const next = await start()
  const after = createPublicClient({ chain: foundry, transport: http(next.rpcUrl), cacheTime: 0 })
  expect(await after.getBalance({ address: stranger })).toBe(1n)
  for (const path of answered) expect((await next.call(path)).body.isValidTap).toBe(false)
  for (const line of on.log.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow()
})

test('an import that the disk ends says how many rows stand, and goes on when it is run again', async () => {
  const on = await start('--seed', seedFile)
  const before = await chipCount(on)
  const rows = 40_000
  // Room for the first pieces of its one window, and no more.
  disk.fill(on.pid, 3_000_000)
  const answer = await imported(on, sheet(0, rows))
  const last = answer.lines.at(-1)
  expect(last).toMatchObject({ statusCode: 503, code: expect.stringMatching(disk.code) })
  const created = answer.lines.filter(({ status }) => status === 'created').length
  expect(created).toBeGreaterThan(0)
  expect(created).toBeLessThan(rows)
  expect(last.message).not.toContain('Nothing was changed')
  expect(last.message).toContain(`${created} rows were created, `)
  expect(await chipCount(on)).toBe(before + created)

  // The same by the command line, in the same words.
  const home = mkdtempSync(join(tmpdir(), 'tapchip-home-'))
  const env = { HOME: home, TAPCHIP_URL: on.url, TAPCHIP_ADMIN_TOKEN: 'adm_disk-test-0123456789' }
  const file = join(home, 'sheet.csv')
  writeFileSync(file, sheet(0, rows))
  const place = ['--team', 'Acme', '--chip-group', 'Big', '--key-set', '101']
  try {
    const importAll = () => run('tapchip', ['chips', 'import', '--file', file, ...place], env)
    const stopped = await importAll()
    expect(stopped.code).toBe(1)
    expect(stopped.stderr).toMatch(/disk is full|cannot be written/)
    disk.free()
    await readyAgain(on)
    const resumed = await importAll()
    expect(resumed.stderr).toContain(`${(rows - created).toLocaleString('en-US')} chips created`)
    expect(resumed.code).toBe(0)
    expect(await chipCount(on)).toBe(before + rows)
  } finally {
    rmSync(home, { recursive: true })
  }
})

test('a start on a full disk is refused in words, the first one and a later one', async () => {
  const args = ['--data-dir', data(), '--port', '0']
  const refused = async () => {
    const { code, stderr } = await run('tapchipd', args)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^tapchipd: .*(is full|fails to read or write|Free some)/m),
    ])
    expect(stderr).not.toMatch(/^ {4}at |Another tapchipd/m)
  }
  disk.fill(undefined)
  await refused()
  disk.free()
  await start('--seed', seedFile)
  const before = (await daemon?.call(find(chips.jacket(1), 1)))?.body
  expect(before.isValidTap).toBe(true)
  await daemon?.end('SIGKILL')
  disk.fill(undefined)
  await refused()
  disk.free()
  const again = await start()
  expect((await again.call(find(chips.jacket(1), 1))).body.isValidTap).toBe(false)
})
