import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, padHex, toHex } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/daemon/store/database/open.ts'
import { MB, memory } from '../support/badge-memory.ts'
import { pidOfAnvil } from '../support/crash-transfers.ts'
import { spawnDaemon } from '../support/process.ts'
import { acmeKey, tokenSeed } from '../support/seeds.ts'

const tokens = 2000
const recipient = (n: number): Address => padHex(toHex(0xcc0000 + n), { size: 20 })
const seed = tokenSeed(tokens, (n) => ({ uid: `04C1${n.toString(16).padStart(8, '0').toUpperCase()}80` }))
const size = (bytes: number) => `${(bytes / MB).toFixed(0)} MB`

test('6,000 transfers leave the daemon and its chain small', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-memory-'))
  writeFileSync(join(dataDir, 'seed.json'), JSON.stringify(seed))
  const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'info']
  const daemon = await spawnDaemon([...args, '--seed', join(dataDir, 'seed.json')], {
    TAPCHIP_RATE_LIMIT: 'off',
  })
  onTestFinished(async () => {
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const db = openDatabase(join(dataDir, 'tapchip.db'))
  onTestFinished(() => db.close())
  const { address } = await db.read.selectFrom('contracts').select('address').executeTakeFirstOrThrow()
  const chain = () => memory(pidOfAnvil(dataDir) ?? 0)
  const before = chain().now
  const started = performance.now()
  const statuses = new Map<number, number>()
  const count = 6000
  let next = 0
  const sender = async () => {
    while (next < count) {
      const n = next++
      const answer = await fetch(`${daemon.ready.url}/phygitals/transfer`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-svc-api-key': acmeKey },
        body: JSON.stringify({
          contractAddress: address,
          chainId: 31337,
          tokenId: String(1 + (n % tokens)),
          recipient: recipient(n),
        }),
      })
      await answer.arrayBuffer()
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 40 }, sender))
  const states = await db.read.selectFrom('transactions').select(['state', 'kind']).execute()
  expect(Object.fromEntries(statuses)).toEqual({ 200: count })
  const [anvil, own] = [chain(), memory(daemon.ready.pid)]
  console.log(
    `${states.length} transactions in ${((performance.now() - started) / 1000).toFixed(0)} s: the chain ${size(before)} → ${size(anvil.now)} (peak ${size(anvil.peak)}), the daemon ${size(own.now)} (peak ${size(own.peak)})`,
  )
  expect(anvil.peak).toBeLessThan(300 * MB)
  expect(anvil.peak + own.peak).toBeLessThan(600 * MB)
}, 90_000)
