import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, getAddress, http } from 'viem'
import { expect } from 'vitest'
import { endAnvilOf } from './anvil-of.ts'
import { untilItRests } from './batch-crashes.ts'
import { adminToken } from './daemon.ts'
import { uploadBatch } from './daemon-batch-kinds.ts'
import { callOn } from './fleet.ts'
import { guestRows, guestSeed, mintedByGuestbook } from './guest-sheets.ts'
import { mintedAt, mintRows, mintSeed, recipientOf } from './mint-sheets.ts'
import { spawnDaemon } from './process.ts'

const preload = join(import.meta.dirname, 'kill-at-commit.mjs')
const env = { TAPCHIP_ADMIN_TOKEN: adminToken, TAPCHIP_RATE_LIMIT: 'off' }

/** The writes of a sheet of mints, by their SQL. */
export const mintWrites = {
  'a group that is recorded': '^update "transactions" set "groupId" = \\?, "signer"',
  'a group that is signed':
    '^update "transactions" set "state" = \\?, "firstHash" = coalesce.* where "groupId"',
  'a group that was sent': '^update "transactions" set "state" = \\?, "waiting" = \\?, .* where "groupId"',
  'a group that is settled': '^update "transactions" set "state" = \\?, "sender" = .* where "groupId"',
  results: '^update "batchPieces" set "results"',
} as const

export interface MintKill {
  writes: keyof typeof mintWrites
  at: number
  when: 'before' | 'after'
}

/** What a sheet mints: tokens of chips, or of guests. */
export const sheets = {
  chips: { command: 'phygitals transfer', seed: mintSeed, rows: mintRows, minted: mintedAt },
  guests: {
    command: 'guestbook mint',
    seed: () => guestSeed,
    rows: guestRows,
    // Of guests, each token is one of many.
    minted: async (...of: Parameters<typeof mintedByGuestbook>) => {
      const minted = await mintedByGuestbook(...of)
      return { ...minted, tokens: minted.events }
    },
  },
} as const

/** Mints a sheet with a daemon that is killed at a write. @returns how many transactions it took */
export async function mintSheetKilledAt(
  { writes, at, when }: MintKill,
  rows: number,
  of: keyof typeof sheets = 'chips',
): Promise<number> {
  const sheet = sheets[of]
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-mints-'))
  try {
    const seed = join(dataDir, 'seed.json')
    writeFileSync(seed, JSON.stringify(sheet.seed(rows)))
    const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error']
    const torn = await spawnDaemon([...args, '--seed', seed], {
      ...env,
      NODE_OPTIONS: `--import ${preload}`,
      KILL_SQL: mintWrites[writes],
      KILL_AT: String(at),
      KILL_WHEN: when,
    })
    const contractOf = async (url: string) => (await callOn(url)('GET /admin/contracts')).body[0]
    await expect.poll(async () => (await contractOf(torn.ready.url)).status).toBe('confirmed')
    // The events of a guestbook, too.
    const unsettledAt = async (url: string) =>
      (await callOn(url)('GET /admin/transactions?limit=1000')).body.filter(
        ({ settledAt }: { settledAt: string | null }) => settledAt === null,
      ).length
    await expect.poll(() => unsettledAt(torn.ready.url)).toBe(0)
    const lines = sheet.rows(rows).map(({ row: _, ...line }) => line)
    // It may be killed before it answers.
    const started = uploadBatch(torn.ready.url, sheet.command, lines).catch(() => undefined)
    expect(await torn.exited).toBeNull()
    await started
    const next = await spawnDaemon(args, env)
    try {
      const call = callOn(next.ready.url)
      const [{ id }] = (await call('GET /admin/batches')).body
      expect(await untilItRests(call, id)).toMatchObject({ state: 'done', done: rows, changed: rows })
      await expect.poll(() => unsettledAt(next.ready.url), { timeout: 30_000 }).toBe(0)
      const client = createPublicClient({ transport: http(next.ready.chains['31337']) })
      const { address } = await contractOf(next.ready.url)
      const { holders, transactions, ...counts } = await sheet.minted(client, getAddress(address))
      expect(counts).toEqual({ events: rows, tokens: rows })
      const expected = sheet.rows(rows).map(({ row }) => [recipientOf(row), 1] as const)
      expect(new Map(holders)).toEqual(new Map(expected))
      return transactions
    } finally {
      await next.stop()
    }
  } finally {
    endAnvilOf(dataDir)
    rmSync(dataDir, { recursive: true, force: true })
  }
}
