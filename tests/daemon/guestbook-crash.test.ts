import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, createPublicClient, getAddress, http } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { guestbookSeed, metadata } from '../support/guestbook.ts'
import { bob } from '../support/phygitals.ts'
import { spawnDaemon } from '../support/process.ts'
import { minedReceipt } from '../support/receipt.ts'
import { acmeKey } from '../support/seeds.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-guestbook-crash-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

// What a test reads of an answer is what it asserts.
// biome-ignore lint/suspicious/noExplicitAny: the answers of several endpoints
const ask = async (url: string, path: string, body?: object, idempotencyKey?: string): Promise<any> => {
  const answer = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      'x-svc-api-key': acmeKey,
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  return answer.json()
}

const guests = 12
const mintAll = (url: string, eventId: number) =>
  Promise.allSettled(
    Array.from({ length: guests }, (_, n) =>
      ask(url, '/events/mint', { eventId, recipient: bob }, `guest-${n}`),
    ),
  )

test('a daemon killed between recording a deployment and its block deploys it once it is back, and mints each guest once', async () => {
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(guestbookSeed))
  const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error', '--seed', seedFile]
  const first = await spawnDaemon(args)
  const { url } = first.ready
  const { contractId } = await ask(url, '/events/contracts', { name: 'New', symbol: 'NEW', chainId: 31337 })
  const event = { name: 'First', tokenId: '1', contractId, metadata: metadata('First') }
  const { id: eventId } = await ask(url, '/events', event)
  // On their way when it dies: what became of them, nobody has heard.
  const minting = mintAll(url, eventId)
  await first.kill()
  await minting

  const second = await spawnDaemon(args)
  try {
    const answers = await mintAll(second.ready.url, eventId)
    const hashes = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.txnHash] : []))
    expect(new Set(hashes).size).toBe(guests)
    const client = createPublicClient({ transport: http(second.ready.chains[31337]), pollingInterval: 20 })
    for (const hash of hashes) await minedReceipt(client, hash)
    const confirmed = async (): Promise<{ address: Address; status: string }> =>
      (await ask(second.ready.url, '/events/contracts')).at(-1)
    await expect.poll(async () => (await confirmed()).status).toBe('confirmed')
    const address = getAddress((await confirmed()).address)
    const held = { abi: guestbookAbi, address, functionName: 'balanceOf' } as const
    expect(await client.readContract({ ...held, args: [bob, 1n] })).toBe(BigInt(guests))
  } finally {
    await second.stop()
  }
})
