import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, createPublicClient, getAddress, http, padHex, parseAbi, toHex } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { pidOfAnvil } from '../support/crash-transfers.ts'
import { killNow, until } from '../support/dev-chain.ts'
import { openTestStore } from '../support/engines.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { acmeKey, alice, tokenSeed } from '../support/seeds.ts'

const abi = parseAbi(['function ownerOf(uint256) view returns (address)'])
const recipient = (n: number): Address => getAddress(padHex(toHex(0xdd0000 + n), { size: 20 }))

test('contracts and transfers that were confirmed just before daemon and anvil were killed are on the chain again', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-chain-crash-'))
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(
    seedFile,
    JSON.stringify(tokenSeed(3, (n) => ({ uid: `04C2${String(n).padStart(8, '0')}80`, owner: alice }))),
  )
  // With the port of each start in it, the contract's URL would be set anew by each.
  const baseUrl = ['--base-url', 'https://tap.example.com']
  const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error', ...baseUrl]
  let daemon: DaemonProcess = await spawnDaemon([...args, '--seed', seedFile])
  const db = await openTestStore(dataDir)
  onTestFinished(async () => {
    await db.close()
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const { address } = await db.read.selectFrom('contracts').select('address').executeTakeFirstOrThrow()
  const transactions = () =>
    db.read.selectFrom('transactions').select(['id', 'nonce', 'firstHash', 'state']).orderBy('id').execute()
  const settled = async () => {
    const all = await transactions()
    return all.length > 0 && all.every(({ state }) => state === 'confirmed')
  }
  const newestState = () =>
    readdirSync(join(dataDir, 'dev-chain'))
      .filter((name) => /^state-\d+\.gz$/.test(name))
      .sort()
      .at(-1) ?? ''
  const ownerOf = (token: number) =>
    createPublicClient({ transport: http(daemon.ready.chains['31337']) }).readContract({
      ...{ abi, address: getAddress(address ?? ''), functionName: 'ownerOf', args: [BigInt(token)] },
    })
  const killBoth = async () => {
    await until(settled)
    const before = await transactions()
    await Promise.all([daemon.kill(), killNow(pidOfAnvil(dataDir))])
    return before
  }

  // The contract and its tokens.
  const deployed = await killBoth()
  daemon = await spawnDaemon(args)
  expect(await ownerOf(1)).toBe(getAddress(alice))
  expect(await transactions()).toEqual(deployed)

  // A transfer, and a last state that is torn.
  await until(() => newestState() !== '')
  for (const [round, token] of [1, 2].entries()) {
    const before = newestState()
    const answer = await fetch(`${daemon.ready.url}/phygitals/transfer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-api-key': acmeKey },
      body: JSON.stringify({
        contractAddress: address,
        chainId: 31337,
        tokenId: String(token),
        recipient: recipient(token),
      }),
    })
    expect(answer.status).toBe(200)
    // The second is killed before any state has it.
    if (round === 0) {
      await until(() => newestState() !== before)
    }
    const sent = await killBoth()
    if (round === 0) truncateSync(join(dataDir, 'dev-chain', newestState()), 1000)
    daemon = await spawnDaemon(args)
    expect(await ownerOf(token)).toBe(recipient(token))
    expect(await transactions()).toEqual(sent)
  }
  expect(await ownerOf(3)).toBe(getAddress(alice))
})
