import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, getAddress, http } from 'viem'
import { afterEach, expect, test } from 'vitest'
import { openPostgres } from '../../src/daemon/store/database/open.ts'
import { untilItRests } from '../support/batch-crashes.ts'
import { adminToken } from '../support/daemon.ts'
import { uploadBatch } from '../support/daemon-batch-kinds.ts'
import { callOn } from '../support/fleet.ts'
import { until } from '../support/fleet-senders.ts'
import { mintedAt, mintRows, mintSeed, recipientOf } from '../support/mint-sheets.ts'
import { databaseOf, dropDatabaseOf } from '../support/postgres.ts'
import { spawnDaemon } from '../support/process.ts'
import { openRemoteChain } from '../support/remote-chain.ts'

const rows = 60
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

test.each(['queued', 'broadcast'])(
  'a daemon killed while its group of mints is %s leaves the sheet to the other one: each row once',
  { timeout: 120_000 },
  async (state) => {
    const chain = await openRemoteChain({ chainId: 7 })
    const directory = mkdtempSync(join(tmpdir(), 'tapchip-fleet-mints-'))
    const env: Record<string, string> = {
      ...{ ...chain.env, ...(await databaseOf(directory)) },
      ...{ TAPCHIP_ADMIN_TOKEN: adminToken, TAPCHIP_RATE_LIMIT: 'off' },
    }
    const db = await openPostgres(env.TAPCHIP_DATABASE_URL ?? '')
    closing.push(
      () => chain.close(),
      () => rmSync(directory, { recursive: true, force: true }),
      () => dropDatabaseOf(directory),
      () => db.close(),
    )
    const start = async (name: string, ...more: string[]) => {
      const args = ['--data-dir', join(directory, name), '--port', '0', '--log-level', 'error', ...more]
      const daemon = await spawnDaemon(args, env)
      closing.push(() => daemon.kill())
      return daemon
    }
    const seed = JSON.stringify(mintSeed(rows)).replaceAll('"chainId":31337', '"chainId":7')
    writeFileSync(join(directory, 'seed.json'), seed)
    const first = await start('first', '--seed', join(directory, 'seed.json'))
    const contract = async () =>
      (await db.read.selectFrom('contracts').selectAll().execute()).find((one) => one.status === 'confirmed')
    const { address } = await until('the contract is there', contract)
    const second = await start('second')

    // What was sent stays unmined.
    if (state === 'broadcast') chain.mining(false)
    const lines = mintRows(rows).map(({ row: _, ...line }) => line)
    const id = await uploadBatch(second.ready.url, 'phygitals transfer', lines)
    await until(`a group is ${state}`, async () => {
      const group = db.read.selectFrom('transactions').select('state').where('kind', '=', 'phygital-mints')
      const found = await group.executeTakeFirst()
      return found !== undefined && (state === 'queued' || found.state === state)
    })
    await first.kill()
    chain.mining(true)
    const call = callOn(second.ready.url)
    expect(await untilItRests(call, id)).toMatchObject({ state: 'done', changed: rows })
    const open = db.read.selectFrom('transactions').select('id').where('settledAt', 'is', null)
    await until('all is settled', async () => (await open.execute()).length === 0)
    const client = createPublicClient({ transport: http(chain.anvil.url) })
    const { holders, transactions, ...counts } = await mintedAt(client, getAddress(address))
    expect(counts).toEqual({ events: rows, tokens: rows })
    expect(holders).toEqual(new Map(mintRows(rows).map(({ row }) => [recipientOf(row), 1])))
    expect(transactions).toBeLessThanOrEqual(3)
  },
)
