import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { restoreBackup } from '../../src/daemon/domain/backup/restore.ts'
import { recordTransfer } from '../../src/daemon/domain/phygitals/transfer.ts'
import { systemClock } from '../../src/daemon/domain/time/time.ts'
import { reconcileChains } from '../../src/daemon/process/start.ts'
import { findTokenAt } from '../../src/daemon/store/phygitals/tokens.ts'
import { bob, carol, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { openRemoteChain } from '../support/remote-chain.ts'
import { acmeKey, alice } from '../support/seeds.ts'

const open = async (...[options]: Parameters<typeof openPhygitals>): Promise<Phygitals> => {
  const p = await openPhygitals(options)
  let isOpen = true
  const close = async () => {
    if (isOpen) await p.close()
    isOpen = false
  }
  onTestFinished(close)
  return { ...p, close }
}

const started = async (p: Phygitals): Promise<Phygitals> => {
  p.ctx.start()
  await reconcileChains(p.ctx)
  return p
}

const backupOf = async (p: Phygitals): Promise<string> => {
  const headers = { ...p.admin, 'content-type': 'application/json' }
  const made = await p.app.inject({ method: 'POST', url: '/admin/backup', headers, payload: '{}' })
  return made.json().path
}

const restored = (from: string, dataDir: string) =>
  restoreBackup(systemClock, { from, dataDir, passphrase: undefined, dataKey: undefined })

test('no transfer is sent again that was sent between the backup and the loss', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-restore-chain-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const chain = await openRemoteChain()
  onTestFinished(() => chain.close())
  const { env, seed } = chain

  const before = await open({ env, seed, dataDir })
  await before.settled()
  const { client } = before.ctx.chains.get(7)
  const jackets = before.addressOf('JKT')
  const send = (p: Phygitals, token: number, recipient: string) =>
    p.ask('/phygitals/transfer', { ...p.token('JKT', token), chainId: 7, recipient }, { key: acmeKey })
  const transfersOf = async (token: number) => {
    const about = { abi: phygitalAbi, address: jackets, eventName: 'Transfer', fromBlock: 0n } as const
    const logs = await client.getContractEvents({ ...about, args: { tokenId: BigInt(token) } })
    return logs.map(({ args }) => args.to)
  }
  const tokens = [1, 2, 3, 4, 5]
  for (const token of tokens) expect((await send(before, token, alice)).status).toBe(200)
  await before.settled()
  await before.close()

  // Recorded at the backup, and not signed.
  const p = await open({ env, seed, dataDir, chain: false })
  const ids: number[] = []
  for (const tokenId of tokens.slice(0, 4)) {
    const located = await findTokenAt(p.ctx.db.read, {
      contractAddress: jackets,
      chainId: 7,
      tokenId: String(tokenId),
    })
    if (!located) throw new Error('no token')
    const wanted = { token: located, recipient: bob, call: 'claimNFT', counted: 'owed' } as const
    ids.push(await p.ctx.db.write((trx) => recordTransfer(trx, p.ctx, wanted)))
  }
  const path = await backupOf(p)
  // 1 is sent, and then moved on; 2 is sent; 3 is given up, and goes to somebody else; 4 is given up.
  for (const index of [2, 3])
    expect(await p.ctx.chains.relayer.cancel(ids[index] ?? 0, 'given up')).toBe(true)
  await started(p)
  await p.settled()
  expect((await send(p, 1, carol)).status).toBe(200)
  expect((await send(p, 3, carol)).status).toBe(200)
  await p.settled()
  await p.close()

  await restored(path, dataDir)
  const after = await open({ env, seed, dataDir })
  await after.settled()
  const all = [alice, bob, carol].map((address) => getAddress(address))
  const [toAlice, toBob, toCarol] = all
  expect(await transfersOf(1)).toEqual([toAlice, toBob, toCarol])
  expect(await transfersOf(2)).toEqual([toAlice, toBob])
  expect(await transfersOf(3)).toEqual([toAlice, toCarol])
  expect(await transfersOf(4)).toEqual([toAlice, toBob])
  const rows = (await after.transactions()).filter(({ id }) => ids.includes(id))
  const sent = { state: 'confirmed', reason: 'it was sent between the backup and the restore', signings: 0 }
  expect(rows).toMatchObject([
    sent,
    sent,
    { state: 'cancelled', reason: expect.stringMatching(/moved since the backup, by 0x/) },
    { state: 'confirmed', reason: null, signings: 1 },
  ])
  expect(rows[0]?.firstHash).toMatch(/^0x[0-9a-f]{64}$/)
  // What comes after the restore is as ever, with the next nonce of the chain.
  expect((await send(after, 5, bob)).status).toBe(200)
  await after.settled()
  expect(await transfersOf(5)).toEqual([toAlice, toBob])
})

test('a transfer that was on its way at the backup is followed to its end, and sent once', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-restore-chain-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const chain = await openRemoteChain()
  onTestFinished(() => chain.close())
  const { env, seed } = chain
  const p = await open({ env, seed, dataDir })
  await p.settled()
  const { client } = p.ctx.chains.get(7)
  await p.ask('/phygitals/transfer', { ...p.token('JKT', 1), chainId: 7, recipient: alice }, { key: acmeKey })
  await p.settled()
  chain.mining(false)
  const sent = await p.ask(
    '/phygitals/transfer',
    { ...p.token('JKT', 1), chainId: 7, recipient: bob },
    { key: acmeKey },
  )
  const path = await backupOf(p)
  chain.mining(true)
  await p.settled()
  await p.close()
  await restored(path, dataDir)
  const after = await open({ env, seed, dataDir })
  await after.settled()
  const last = (await after.transactions()).at(-1)
  expect(last).toMatchObject({ state: 'confirmed', minedHash: sent.body.initialTxHash })
  const about = { abi: phygitalAbi, address: p.addressOf('JKT'), eventName: 'Transfer' } as const
  expect(await client.getContractEvents({ ...about, fromBlock: 0n })).toHaveLength(2)
})

test('the embedded chain comes back as it was at the backup', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-restore-chain-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const dataDir = join(dir, 'data')
  mkdirSync(dataDir)
  const p = await open({ dataDir })
  const send = (at: Phygitals, token: number, recipient: string) =>
    at.ask('/phygitals/transfer', { ...at.token('JKT', token), recipient }, { key: acmeKey })
  await send(p, 1, bob)
  expect(await p.owner('JKT', 1)).toBe(getAddress(bob))
  const path = await backupOf(p)
  await send(p, 1, carol)
  await send(p, 2, carol)
  await p.settled()
  await p.close()
  await restored(path, dataDir)
  const after = await open({ dataDir })
  expect(await after.owner('JKT', 1)).toBe(getAddress(bob))
  expect(await after.owner('JKT', 2)).toBe(getAddress(alice))
  await send(after, 2, carol)
  expect(await after.owner('JKT', 2)).toBe(getAddress(carol))
})
