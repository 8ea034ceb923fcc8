import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, createPublicClient, getAddress, getContract, http, padHex, toHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { teamTokenAbi } from '../contracts/artifacts/team-token.ts'
import { endAnvilOf } from '../support/anvil-of.ts'
import { adminToken } from '../support/daemon.ts'
import { callOn } from '../support/fleet.ts'
import { chips, openPhygitals } from '../support/phygitals.ts'
import { spawnDaemon } from '../support/process.ts'
import { acmeKey } from '../support/seeds.ts'
import { teamTokenOf } from '../support/team-token.ts'

const env = {
  TAPCHIP_DATA_KEY: '0123456789abcdef'.repeat(4),
  TAPCHIP_ADMIN_TOKEN: adminToken,
  // Otherwise a daemon tells its contracts of its new address first, and may be killed at that.
  TAPCHIP_BASE_URL: 'http://localhost:3000',
}
const preload = join(import.meta.dirname, '../support/kill-at-commit.mjs')
const directories: string[] = []
const directory = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'tapchip-own-'))
  directories.push(made)
  return made
}

const tokens = [1, 2, 3, 41, 42, 43]
const recipientOf = (id: number): Address => getAddress(padHex(toHex(0xcc0000 + id), { size: 20 }))
let prepared: string
let address: Address

/** Nothing in its functions prevents a second effect of a transfer. Tokens from 41 on do not exist. */
beforeAll(async () => {
  prepared = directory()
  const p = await openPhygitals({ dataDir: prepared, env })
  const t = await teamTokenOf(p)
  address = t.address
  await t.mint(1, 2, 3)
  await t.grant('COURIER_ROLE')
  await t.grant('MINTER_ROLE')
  await t.register({ transfer: 'deliver(recipient,tokenId)' })
  for (const [index, id] of tokens.entries()) await t.link(chips.jacket(index + 1), id)
  await p.settled()
  await p.close()
})
afterAll(() => {
  for (const one of directories) {
    endAnvilOf(one)
    rmSync(one, { recursive: true, force: true })
  }
})

const writes = {
  recorded: '^insert into "transactions"',
  signed: '^insert into "transactionAttempts"',
  sent: '^update "transactions" set "state" = \\?, "waiting" = \\?, "updatedAt" = \\? where "id" in',
  settled: '^update "transactions" set "state" = \\?, "minedHash" = .*"settledAt"',
} as const
const kills = (Object.keys(writes) as (keyof typeof writes)[]).flatMap((name) =>
  (['before', 'after'] as const).map((when) => ({ name, when })),
)

test.each(kills)(
  'a daemon that is killed $when a transfer and a mint are $name by a contract of a team: each once',
  async ({ name, when }) => {
    const dataDir = directory()
    cpSync(prepared, dataDir, { recursive: true, filter: (file) => !file.endsWith('.sock') })
    const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error']
    const kill = { NODE_OPTIONS: `--import ${preload}`, KILL_SQL: writes[name], KILL_WHEN: when }
    const torn = await spawnDaemon(args, { ...env, ...kill, KILL_AT: '2' })
    const send = (url: string, id: number) =>
      fetch(`${url}/phygitals/transfer`, {
        method: 'POST',
        headers: {
          ...{ 'content-type': 'application/json', 'x-svc-api-key': acmeKey },
          'idempotency-key': `token-${id}`,
        },
        body: JSON.stringify({
          ...{ contractAddress: address, chainId: 31337, tokenId: String(id) },
          recipient: recipientOf(id),
        }),
      })
    for (const id of tokens) if ((await send(torn.ready.url, id).catch(() => undefined)) === undefined) break
    expect(await torn.exited).toBeNull()

    const next = await spawnDaemon(args, env)
    try {
      for (const id of tokens) expect((await send(next.ready.url, id)).status).toBe(200)
      const unsettled = async () =>
        (await callOn(next.ready.url)('GET /admin/transactions?limit=1000')).body.filter(
          ({ settledAt }: { settledAt: string | null }) => settledAt === null,
        ).length
      await expect.poll(unsettled, { timeout: 30_000 }).toBe(0)
      const client = createPublicClient({ transport: http(next.ready.chains['31337']) })
      const token = getContract({ abi: teamTokenAbi, address, client })
      for (const id of tokens) {
        const to = { to: recipientOf(id), tokenId: BigInt(id) }
        expect(await token.getEvents.Transfer(to, { fromBlock: 0n })).toHaveLength(1)
        expect(await token.read.ownerOf([BigInt(id)])).toBe(recipientOf(id))
      }
    } finally {
      await next.stop()
    }
  },
)
