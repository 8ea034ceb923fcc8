import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  concat,
  createTestClient,
  encodeAbiParameters,
  getAddress,
  type Hex,
  http,
  keccak256,
  parseAbiParameters,
  parseEther,
  parseEventLogs,
  publicActions,
  walletActions,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { afterEach, describe, expect, test } from 'vitest'
import {
  earlierPhygitals,
  phygitalAbi,
  phygitalBytecode,
  phygitalCodeHash,
} from '../../src/daemon/chain/artifacts/phygital.ts'
import { boundSalt, deployByCreate2 } from '../../src/daemon/domain/contracts/contract-address.ts'
import { recordMissing } from '../../src/daemon/domain/deployments/deployments.ts'
import { reconcileChains } from '../../src/daemon/process/start.ts'
import { openAdminApp } from '../support/admin.ts'
import { startAnvil } from '../support/anvil.ts'
import { acmeKey } from '../support/seeds.ts'

// Contracts as versions before this one deployed them, or were about to.

const keys = { relayer: `0x${'31'.repeat(32)}`, verifier: `0x${'32'.repeat(32)}` } as const
const relayer = privateKeyToAccount(keys.relayer)
const chainId = 7
const baseUrl = 'https://tap.example.com'
const [earlier] = earlierPhygitals

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function openChain() {
  const anvil = await startAnvil(['--chain-id', String(chainId)])
  closing.push(() => anvil.kill())
  const client = createTestClient({
    chain: { ...foundry, id: chainId },
    mode: 'anvil',
    transport: http(anvil.url),
  })
    .extend(publicActions)
    .extend(walletActions)
  await client.setBalance({ address: relayer.address, value: parseEther('10') })
  const env = {
    [`TAPCHIP_RPC_${chainId}`]: anvil.url,
    [`TAPCHIP_CONFIRMATIONS_${chainId}`]: '1',
    [`TAPCHIP_RELAYER_KEY_${chainId}`]: keys.relayer,
    [`TAPCHIP_SIGN_VERIFIER_KEY_${chainId}`]: keys.verifier,
    TAPCHIP_DEV_CHAIN: 'off',
  }
  return { client, env }
}

async function openDaemon({ env }: Awaited<ReturnType<typeof openChain>>, dataDir: string) {
  const seed = { version: 1, teams: [{ name: 'Acme', apiKeys: [{ name: 'ops', key: acmeKey }] }] }
  const c = await openAdminApp({ seed, dataDir, env })
  c.ctx.baseUrl = baseUrl
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= c.close()
    return closed
  }
  closing.push(close)
  const shown = async () => (await c.call('GET /admin/contracts/1')).body
  return { ...c, close, shown }
}

/** The same contract as the version before would deploy it. */
function earlierDeployment(instance: string) {
  const args = parseAbiParameters('string, string, string, address, address, address')
  const verifier = privateKeyToAccount(keys.verifier).address
  const creation = concat([
    earlier.bytecode,
    encodeAbiParameters(args, ['Jackets', 'JKT', baseUrl, relayer.address, verifier, relayer.address]),
  ])
  const identity = { chainId, team: 'Acme', symbol: 'JKT' }
  return deployByCreate2(boundSalt(identity, { instance, sender: relayer.address }), creation)
}

/** A contract that is pending, with the address that the version before gave out, as it left its rows. */
async function openPending({ isRecorded }: { isRecorded: boolean }) {
  const chain = await openChain()
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-earlier-'))
  closing.push(() => rmSync(dataDir, { recursive: true, force: true }))
  const before = await openDaemon(chain, dataDir)
  const body = { symbol: 'JKT', name: 'Jackets', chainId }
  const { transactionId } = (await before.call('POST /admin/contracts/deploy', body)).body
  const { call, address } = earlierDeployment(before.ctx.instance)
  if (!('data' in call)) throw new Error('it is fixed')
  await before.ctx.db.write(async (trx) => {
    const change = isRecorded ? { address } : { address, transactionId: null }
    await trx.updateTable('contracts').set(change).execute()
    const subject = JSON.stringify({ contractId: 1, symbol: 'JKT', address })
    if (isRecorded) await trx.updateTable('transactions').set({ data: call.data, subject }).execute()
    else await trx.deleteFrom('transactions').where('id', '=', transactionId).execute()
  })
  await before.close()
  const c = await openDaemon(chain, dataDir)
  const codeHash = async () => {
    const code = await chain.client.getCode({ address })
    return code && keccak256(code)
  }
  return { ...c, chain, address, transactionId, codeHash }
}

test('the code that is kept is what the contracts of its version are known by', async () => {
  const { client } = await openChain()
  const [account] = await client.getAddresses()
  const { call, address } = earlierDeployment('somewhere')
  if (!account || !('data' in call)) throw new Error('it is fixed')
  await client.waitForTransactionReceipt({ hash: await client.sendTransaction({ account, data: call.data }) })
  const code = await client.getCode({ address })
  expect(keccak256(code ?? '0x')).toBe(earlier.codeHash)
  expect(earlier.codeHash).not.toBe(phygitalCodeHash)
})

describe('a contract that the version before was about to deploy', () => {
  test.each([
    ['and has recorded', true],
    ['and has not recorded', false],
  ])('%s comes to the address that was given out', async (_, isRecorded) => {
    const t = await openPending({ isRecorded })
    await reconcileChains(t.ctx)
    const { transactionId, ...pending } = await t.shown()
    expect(pending).toMatchObject({ status: 'pending', address: t.address, problem: null })
    if (isRecorded) expect(transactionId).toBe(t.transactionId)
    t.ctx.start()
    expect(await t.ctx.chains.relayer.settled(transactionId)).toMatchObject({ name: 'confirmed' })
    expect(await t.shown()).toMatchObject({
      status: 'confirmed',
      address: t.address,
      code: 'ours',
      codeHash: earlier.codeHash,
      warnings: [],
    })
    expect(await t.codeHash()).toBe(earlier.codeHash)
  })

  test('has no royalty, which the list says, and all else that marketplaces show', async () => {
    const t = await openPending({ isRecorded: true })
    t.ctx.start()
    await t.ctx.chains.relayer.settled(t.transactionId)
    const features = async () => (await t.call('GET /admin/contracts')).body[0].features
    const bytecode = (await t.chain.client.getCode({ address: t.address })) ?? '0x'
    // As a node that does not have it yet.
    await t.chain.client.setCode({ address: t.address, bytecode: '0x' })
    expect(await features()).toBeNull()
    await t.chain.client.setCode({ address: t.address, bytecode })
    expect(await features()).toEqual([])
    const royalty = { royaltyPercent: 2, royaltyTo: relayer.address }
    const refused = await t.call('PATCH /admin/contracts/1', royalty)
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(refused.body.message).toMatch(
      new RegExp(`deployed by an earlier version.*${relayer.address}.*${t.address} in the Royalty Registry`),
    )
    const edited = await t.call('PATCH /admin/contracts/1', { description: 'Old' })
    expect(edited.body).toMatchObject({
      description: 'Old',
      royalty: null,
      warnings: [expect.stringContaining('tapchip contracts set-url JKT --force')],
    })
    const told = await t.call('POST /admin/contracts/1/service-url', { force: true })
    await t.ctx.chains.relayer.settled(told.body.sentTransactionId)
    const logs = await t.chain.client.getLogs({ address: t.address, fromBlock: 'latest' })
    const events = parseEventLogs({ abi: phygitalAbi, logs }).map(({ eventName }) => eventName)
    expect(events).toEqual(['BatchMetadataUpdate', 'ContractURIUpdated'])
  })

  test('is ours when it is there, also where it is registered by its address', async () => {
    const t = await openPending({ isRecorded: true })
    t.ctx.start()
    await t.ctx.chains.relayer.settled(t.transactionId)
    await t.ctx.db.write((trx) => trx.deleteFrom('contracts').execute())
    const registered = await t.call('POST /admin/contracts', {
      symbol: 'OLD',
      name: 'Old',
      chainId,
      address: t.address,
    })
    expect(registered.body).toMatchObject({ code: 'ours', trustsSignVerifier: true, warnings: [] })
    const edited = await t.call(`PATCH /admin/contracts/${registered.body.id}`, { description: 'Old' })
    expect(edited.body.warnings).toEqual([expect.stringMatching(/OLD is not announced from here/)])
  })
})

test('a contract that is about to be deployed to the embedded chain keeps its address, and gets the code of now', async () => {
  const contracts = [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }]
  const env = { TAPCHIP_DEV_CHAIN: 'on' }
  const t = await openAdminApp({ env, seed: { version: 1, teams: [{ name: 'Acme', contracts }] } })
  closing.push(() => t.close())
  const [{ address }] = (await t.call('GET /admin/contracts')).body
  const [first] = await recordMissing(t.ctx)
  const stale: Hex = `0x${'00'.repeat(64)}`
  await t.ctx.db.write((trx) => trx.updateTable('transactions').set({ data: stale }).execute())
  const [again = 0] = await recordMissing(t.ctx)
  expect(again).not.toBe(first)
  t.ctx.start()
  expect(await t.ctx.chains.relayer.settled(again)).toMatchObject({ name: 'confirmed' })
  const [shown] = (await t.call('GET /admin/contracts')).body
  expect(shown).toMatchObject({ address, transactionId: again, status: 'confirmed', problem: null })
  const code = await t.ctx.chains.get(31337).client.getCode({ address: getAddress(address) })
  expect(keccak256(code ?? '0x')).toBe(phygitalCodeHash)
})

test('a contract that belongs to somebody else gets its royalty from them', async () => {
  const chain = await openChain()
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-earlier-'))
  closing.push(() => rmSync(dataDir, { recursive: true, force: true }))
  const [owner] = await chain.client.getAddresses()
  if (!owner) throw new Error('it has some')
  const verifier = privateKeyToAccount(keys.verifier).address
  const hash = await chain.client.deployContract({
    abi: phygitalAbi,
    bytecode: phygitalBytecode,
    args: ['Jackets', 'JKT', baseUrl, owner, verifier, [], owner, 0n],
    account: owner,
  })
  const { contractAddress: address } = await chain.client.waitForTransactionReceipt({ hash })
  const c = await openDaemon(chain, dataDir)
  const { body } = await c.call('POST /admin/contracts', { symbol: 'JKT', name: 'Jackets', chainId, address })
  expect(body.features).toEqual(['royalty', 'group-mints'])
  const refused = await c.call(`PATCH /admin/contracts/${body.id}`, { royaltyPercent: 2, royaltyTo: owner })
  expect(refused).toMatchObject({ status: 409 })
  expect(refused.body.message).toContain(`belongs to ${owner}, who has to call setRoyalty`)
})
