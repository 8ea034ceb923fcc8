import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Address, createPublicClient, getAddress, http, parseAbi } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { spawnCli } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { spawnDaemon } from '../support/process.ts'
import { acmeKey, alice, tokenSeed } from '../support/seeds.ts'

// Thousands of tokens by file, through the built executable, on the embedded chain.

const count = 5000
const one: Address = '0x000000000000000000000000000000000000bEEF'
const named: Address = '0xde709f2102306220921060314715629080e2fb77'
const seed = {
  ...tokenSeed(count, (n) => ({ uid: `04${n.toString(16).padStart(12, '0')}`.toUpperCase(), owner: alice })),
  names: { 'named.eth': named },
}

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
let contract: Address

beforeAll(async () => {
  daemon = await startTestDaemon({ seed, chain: true })
  const [row] = await daemon.ctx.db.read.selectFrom('contracts').selectAll().execute()
  contract = getAddress(row?.address ?? '')
}, 120_000)
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_API_KEY: acmeKey })
})
afterEach(() => here.remove())

const sheet = (from: number, recipientOf: (n: number) => string, rows = 1000) => {
  const lines = Array.from(
    { length: rows },
    (_, i) => `${contract},31337,${from + i},${recipientOf(from + i)}`,
  )
  writeFileSync(
    join(here.home, 'transfers.csv'),
    `contractAddress,chainId,tokenId,recipient\n${lines.join('\n')}\n`,
  )
}
const abi = parseAbi(['function balanceOf(address) view returns (uint256)'])
const balance = (holder: Address) =>
  daemon.ctx.chains
    .get(31337)
    .client.readContract({ address: contract, abi, functionName: 'balanceOf', args: [holder] })
const open = () =>
  daemon.ctx.db.read.selectFrom('transactions').select('id').where('settledAt', 'is', null).execute()
const settle = async () => {
  await Promise.all((await open()).map(({ id }) => daemon.ctx.chains.relayer.settled(id)))
}
/** The nonces of the relayer, in order: each once, and none left out. */
const assertNoGap = async () => {
  await settle()
  const { client, relayer } = daemon.ctx.chains.get(31337)
  const rows = await daemon.ctx.db.read
    .selectFrom('transactions')
    .select(['nonce', 'state'])
    .where('signer', '=', 'relayer')
    .execute()
  expect(rows.every(({ state }) => state === 'confirmed')).toBe(true)
  const nonces = rows.map(({ nonce }) => nonce ?? -1).sort((a, b) => a - b)
  expect(nonces).toEqual(nonces.map((_, i) => i))
  expect(await client.getTransactionCount({ address: relayer })).toBe(nonces.length)
}
const transfersOf = async (from: number, rows: number) => {
  const subjects = await daemon.ctx.db.read
    .selectFrom('transactions')
    .select('subject')
    .where('kind', '=', 'phygital-transfer')
    .execute()
  return subjects
    .map(({ subject }) => Number((JSON.parse(subject) as { tokenId: string }).tokenId))
    .filter((n) => n >= from && n < from + rows)
}
const args = ['phygitals', 'transfer', '--file', 'transfers.csv', '--yes', '--json']
const idIn = (stderr: string) => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''

test('1,000 transfers to one address', async () => {
  sheet(1, () => one)
  const started = performance.now()
  const running = spawnCli(args, here.env, here.home)
  expect(await running.ended).toBe(0)
  const seconds = (performance.now() - started) / 1000
  console.log(
    `1,000 transfers to one address: ${seconds.toFixed(1)} s, ${Math.round(1000 / seconds)} a second`,
  )
  const lines = running
    .stdout()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ row, status }) => `${row} ${status}`)).toEqual(
    Array.from({ length: 1000 }, (_, i) => `${i + 1} transferred`),
  )
  await assertNoGap()
  expect(await balance(one)).toBe(1000n)
})

test('1,000 transfers to many, a name among them', async () => {
  const of = (n: number) =>
    n % 10 === 0 ? 'named.eth' : getAddress(`0x${(n + 0xabc0000).toString(16).padStart(40, '0')}`)
  sheet(1001, of)
  const started = performance.now()
  const running = spawnCli(args, here.env, here.home)
  expect(await running.ended).toBe(0)
  const seconds = (performance.now() - started) / 1000
  console.log(
    `1,000 transfers to 901 addresses: ${seconds.toFixed(1)} s, ${Math.round(1000 / seconds)} a second`,
  )
  await assertNoGap()
  expect(await balance(named)).toBe(100n)
  const balances = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => i + 1001)
      .filter((n) => n % 10 !== 0)
      .map((n) => balance(getAddress(of(n)))),
  )
  expect(balances).toEqual(Array(900).fill(1n))
})

test('kill -9 of the command, again and again: the batch goes on, and each token moves exactly once', async () => {
  const to = getAddress(`0x${'7'.repeat(40)}`)
  sheet(2001, () => to)
  let running = spawnCli(args, here.env, here.home)
  await running.until((stdout) => stdout.includes('"transferred"'))
  const id = idIn(running.stderr())
  let kills = 0
  for (const wanted of [100, 250, 350]) {
    await running.until((stdout) => stdout.split('\n').length > wanted - kills * 50).catch(() => undefined)
    running.child.kill('SIGKILL')
    const ended = await running.ended
    if (ended === 'SIGKILL') kills += 1
    running = spawnCli(['batch', 'follow', id, '--json'], here.env, here.home)
  }
  expect(kills).toBeGreaterThan(0)
  expect(await running.ended).toBe(0)
  const { counts, outcomes } = await here
    .run('batch', 'report', id, '--json')
    .then(({ lines }) => lines() as { status: string; initialTxHash?: string }[])
    .then((rows) => ({
      counts: rows.filter(({ status }) => status === 'transferred').length,
      outcomes: new Set(rows.map(({ initialTxHash }) => initialTxHash)).size,
    }))
  console.log(`kills: ${kills}`)
  expect([counts, outcomes]).toEqual([1000, 1000])
  await assertNoGap()
  expect(await balance(to)).toBe(1000n)
  const moved = await transfersOf(2001, 1000)
  expect([moved.length, new Set(moved).size]).toEqual([1000, 1000])
})

test('Ctrl-C lets the rows on their way end, exits with 130, and goes on afterwards', async () => {
  const to = getAddress(`0x${'8'.repeat(40)}`)
  sheet(3001, () => to)
  const running = spawnCli(args, here.env, here.home)
  await running.until((stdout) => stdout.includes('"transferred"'))
  running.child.kill('SIGINT')
  expect(await running.ended).toBe(130)
  const id = idIn(running.stderr())
  expect(running.stderr()).toContain(`tapchip batch resume ${id}`)
  const shown = running.stdout().trim().split('\n').length
  expect(shown).toBeLessThan(1000)
  await settle()
  expect(await balance(to)).toBe(BigInt(shown))
  const resumed = spawnCli(['batch', 'resume', id, '--json'], here.env, here.home)
  expect(await resumed.ended).toBe(0)
  expect(resumed.stdout().trim().split('\n')).toHaveLength(1000 - shown)
  await assertNoGap()
  expect(await balance(to)).toBe(1000n)
})

test('a chain that dies in the middle is waited for: each token moves exactly once', async () => {
  const to = getAddress(`0x${'9'.repeat(40)}`)
  sheet(4001, () => to)
  const running = spawnCli(args, here.env, here.home)
  await running.until((stdout) => stdout.includes('"transferred"'))
  process.kill(daemon.ctx.chains.embedded?.pid ?? 0, 'SIGKILL')
  expect([await running.ended, running.stderr()]).toEqual([0, expect.stringContaining('1,000 transferred')])
  await assertNoGap()
  expect(await balance(to)).toBe(1000n)
  const moved = await transfersOf(4001, 1000)
  expect([moved.length, new Set(moved).size]).toEqual([1000, 1000])
})

test('kill -9 of the daemon in the middle ends the command, and the batch goes on with the next one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-batch-'))
  const seedFile = join(here.home, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const start = (...more: string[]) =>
    spawnDaemon(['--data-dir', dataDir, '--port', '0', '--log-level', 'error', ...more], {
      TAPCHIP_RATE_LIMIT: 'off',
    })
  const first = await start('--seed', seedFile)
  here.env.TAPCHIP_URL = first.ready.url
  const to = getAddress(`0x${'6'.repeat(40)}`)
  // On the embedded chain the contract has one address in every installation.
  sheet(1, () => to)
  here.env.TAPCHIP_PATIENCE_SECONDS = '0'
  const running = spawnCli(args, here.env, here.home)
  await running.until((stdout) => stdout.includes('"transferred"'))
  await first.kill()
  const code = await running.ended
  const id = idIn(running.stderr())
  expect([code, running.stderr()]).toEqual([5, expect.stringContaining(`tapchip batch follow ${id}`)])

  const second = await start()
  here.env.TAPCHIP_URL = second.ready.url
  const followed = spawnCli(['batch', 'follow', id, '--json'], here.env, here.home)
  expect([await followed.ended, followed.stderr()]).toEqual([0, expect.stringContaining('1,000 transferred')])
  const client = createPublicClient({ transport: http(second.ready.chains['31337']) })
  const held = () => client.readContract({ address: contract, abi, functionName: 'balanceOf', args: [to] })
  await expect.poll(held).toBe(1000n)
  expect(await second.stop()).toBe(0)
  const database = new Database(join(dataDir, 'tapchip.db'), { readonly: true })
  const count = database.prepare("select count(*) as n from transactions where kind = 'phygital-transfer'")
  expect(count.get()).toEqual({ n: 1000 })
  database.close()
  rmSync(dataDir, { recursive: true, force: true })
})
