import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Address,
  concat,
  createTestClient,
  createWalletClient,
  encodeDeployData,
  getAddress,
  type Hex,
  http,
  keccak256,
  parseEther,
  publicActions,
  stringToBytes,
  walletActions,
  zeroHash,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { getTransactionReceipt } from 'viem/actions'
import { foundry } from 'viem/chains'
import { afterEach, describe, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { phygitalAbi, phygitalBytecode, phygitalCodeHash } from '../../src/daemon/chain/artifacts/phygital.ts'
import { deploymentProxy } from '../../src/daemon/chain/deterministic-deployment.ts'
import { deployByCreate3, guessableSalt } from '../../src/daemon/domain/contracts/contract-address.ts'
import { verifyContracts } from '../../src/daemon/domain/contracts/inspect-contract.ts'
import { reconcileChains } from '../../src/daemon/process/start.ts'
import { updateContract } from '../../src/daemon/store/contracts/contracts.ts'
import { openAdminApp } from '../support/admin.ts'
import { startAnvil } from '../support/anvil.ts'
import { guestbookSeed, handsOf, metadata, seeded } from '../support/guestbook.ts'
import { ownerEdit } from '../support/owner-edit.ts'
import { bob, chips, openPhygitals, phygitalSeed } from '../support/phygitals.ts'
import { rpcTransport } from '../support/rpc-transport.ts'
import { acmeKey } from '../support/seeds.ts'

// Somebody who watches the chain and the daemon's public answers, has money, and wants to own a contract that is still
// to be deployed.

const mallory = privateKeyToAccount(`0x${'66'.repeat(32)}`)
const keys = {
  relayer: `0x${'31'.repeat(32)}`,
  other: `0x${'33'.repeat(32)}`,
  verifier: `0x${'32'.repeat(32)}`,
} as const
const relayer = privateKeyToAccount(keys.relayer)
const signVerifier = privateKeyToAccount(keys.verifier)
const chainId = 7

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A chain that others run, whose blocks come when they are told to. */
async function openChain(args: string[] = [], id = chainId) {
  const anvil = await startAnvil(['--chain-id', String(id), '--order', 'fees', ...args])
  closing.push(() => anvil.kill())
  const chain = { ...foundry, id }
  const client = createTestClient({ chain, mode: 'anvil', transport: http(anvil.url), pollingInterval: 5 })
    .extend(publicActions)
    .extend(walletActions)
  for (const address of [relayer.address, privateKeyToAccount(keys.other).address, mallory.address])
    await client.setBalance({ address, value: parseEther('10') })
  const env = {
    [`TAPCHIP_RPC_${id}`]: anvil.url,
    [`TAPCHIP_CONFIRMATIONS_${id}`]: '1',
    [`TAPCHIP_RELAYER_KEY_${id}`]: keys.relayer,
    [`TAPCHIP_SIGN_VERIFIER_KEY_${id}`]: keys.verifier,
    TAPCHIP_DEV_CHAIN: 'off',
  }
  const ownerOf = (address: string) =>
    client.readContract({ abi: phygitalAbi, address: getAddress(address), functionName: 'owner' })
  /** Mallory sends something, and it is mined. */
  const attack = async (call: { to?: Address; data: Hex; gas?: bigint }) => {
    const hash = await client.sendTransaction({ gas: 6_000_000n, ...call, account: mallory })
    await client.mine({ blocks: 1 })
    return (await client.getTransactionReceipt({ hash })).status
  }
  return { client, env, ownerOf, attack }
}

/** A token contract like ours in everything but who owns it. */
const theirs = (owner: Address = mallory.address, verifier: Address = signVerifier.address): Hex =>
  encodeDeployData({
    abi: phygitalAbi,
    bytecode: phygitalBytecode,
    args: ['Jackets', 'JKT', 'https://evil.example', owner, verifier, [mallory.address], mallory.address, 0n],
  })

/** Creation code of a contract that answers everything with an address: PUSH20 … PUSH0 MSTORE, and returns 32 bytes. */
const echo = (address: Address): Hex =>
  concat(['0x7a', '0x73', address, '0x5f5260205ff3', '0x5f52', '0x601b', '0x6005', '0xf3'])

/** What an owner sends to change where the chips of JKT's first token lead. */
async function ownEdit(owner: typeof mallory, contractAddress: Address) {
  const requestExpiryTime = Math.floor(Date.now() / 1000) + 300
  const redirectUrl = 'https://evil.example'
  const ownerSignature = await owner.signTypedData(
    ownerEdit(contractAddress, 1, redirectUrl, requestExpiryTime),
  )
  const token = { contractAddress, chainId: 31337, tokenId: '1' }
  const body = { ...token, updates: { redirectUrl }, requestExpiryTime, ownerSignature }
  return ['/chips/self-service', body, { method: 'PATCH' }] as const
}

/** How addresses were made before they bound anything. */
const formerSalt = (instance: string, id = chainId) =>
  keccak256(stringToBytes(JSON.stringify(['tapchip', instance, id, 'Acme', 'JKT'])))

const seedOn = (id: number, seed: object = phygitalSeed) =>
  JSON.parse(JSON.stringify(seed).replaceAll('"chainId":31337', `"chainId":${id}`), (name, value) =>
    name === 'owner' ? undefined : value,
  )

const fields = { symbol: 'JKT', name: 'Jackets', chainId }
const dataDirectory = () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-squatters-'))
  closing.push(() => rmSync(dataDir, { recursive: true, force: true }))
  return dataDir
}
type Remote = Awaited<ReturnType<typeof openChain>>
async function openDaemon(
  { env }: Remote,
  {
    baseUrl = 'https://tap.example.com',
    ...options
  }: { dataDir?: string; env?: Record<string, string>; baseUrl?: string } = {},
) {
  const c = await openAdminApp({
    seed: { version: 1, teams: [{ name: 'Acme', apiKeys: [{ name: 'ops', key: acmeKey }] }] },
    ...options,
    env: { ...env, ...options.env },
  })
  // As a setting it would take administration off this listener.
  c.ctx.baseUrl = baseUrl
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= c.close()
    return closed
  }
  closing.push(close)
  return {
    ...c,
    close,
    deploy: async (more: object = {}) =>
      (await c.call('POST /admin/contracts/deploy', { ...fields, ...more })).body,
    listed: async () => (await c.call('GET /admin/contracts')).body,
    show: async (id: number) => (await c.call(`GET /admin/contracts/${id}`)).body,
    settled: (id: number) => c.ctx.chains.relayer.settled(id),
  }
}

describe('a token contract on a chain that others run', () => {
  test('is not where a guess leads, so whoever is there first owns nothing of ours', async () => {
    const chain = await openChain()
    const c = await openDaemon(chain)
    const { call, address: guessed } = deployByCreate3(formerSalt(c.ctx.instance), theirs())
    if (!('data' in call)) throw new Error('it is fixed')
    expect(await chain.attack({ data: call.data })).toBe('success')
    expect(await chain.ownerOf(guessed)).toBe(mallory.address)

    const made = await c.deploy()
    c.ctx.start()
    expect(await c.settled(made.transactionId)).toMatchObject({ name: 'confirmed' })
    expect(made.address).not.toBe(guessed)
    expect(await c.listed()).toMatchObject([{ status: 'confirmed', address: made.address, problem: null }])
    expect(await chain.ownerOf(made.address)).toBe(relayer.address)
    expect(await c.show(made.id)).toMatchObject({
      code: 'ours',
      owner: relayer.address,
      signVerifier: signVerifier.address,
      trustsSignVerifier: true,
      warnings: [],
    })
    const uri = await chain.client.readContract({
      abi: phygitalAbi,
      address: made.address,
      functionName: 'baseURI',
    })
    expect(uri).toBe(`https://tap.example.com/metadata/${chainId}/${made.address}/`)
  })

  test('is ours whoever sends our own bytes first, and another one where they are changed', async () => {
    const chain = await openChain(['--no-mining'])
    const c = await openDaemon(chain)
    const made = await c.deploy()
    await c.ctx.chains.relayer.tick()
    const [pending] = await c.ctx.db.read.selectFrom('transactions').selectAll().execute()
    const data = pending?.data as Hex
    expect(pending?.state).toBe('broadcast')
    const words = (address: Address) => address.slice(2).toLowerCase()
    const changed = (from: Address) => data.replaceAll(words(from), words(mallory.address)) as Hex
    // All of them are mined before ours: they pay more.
    const fees = { maxFeePerGas: 50_000_000_000n, maxPriorityFeePerGas: 50_000_000_000n, gas: 4_000_000n }
    const send = (more: object) => chain.client.sendTransaction({ ...fees, data, account: mallory, ...more })
    const creation = `0x${data.slice(data.indexOf(phygitalBytecode.slice(2)))}` as const
    const hashes = [
      await send({ data: changed(relayer.address) }),
      await send({ data: changed(signVerifier.address) }),
      // Not enough gas for the constructor, in the proxy's hands.
      await send({ to: deploymentProxy, data: concat([zeroHash, creation]), gas: 900_000n }),
      await send({ data, gas: 1_500_000n }),
      await send({}),
    ]
    await chain.client.mine({ blocks: 1 })
    const receipts = await Promise.all(hashes.map((hash) => getTransactionReceipt(chain.client, { hash })))
    expect(receipts.map(({ status }) => status)).toEqual([
      'success',
      'success',
      'reverted',
      'reverted',
      'success',
    ])
    await c.ctx.chains.relayer.tick()
    expect(await c.settled(made.transactionId)).toMatchObject({ name: 'confirmed' })
    expect(await c.show(made.id)).toMatchObject({
      status: 'confirmed',
      code: 'ours',
      owner: relayer.address,
      signVerifier: signVerifier.address,
      warnings: [],
    })
  })

  test('shows where it will really be, also once the key or the base URL is another before it leaves', async () => {
    const chain = await openChain()
    const dataDir = dataDirectory()
    const first = await openDaemon(chain, { dataDir })
    const { address } = await first.deploy()
    await first.close()
    // The address was given out, so a base URL alone does not move it.
    const moved = await openDaemon(chain, { dataDir, baseUrl: 'https://new.example.com' })
    await reconcileChains(moved.ctx)
    expect((await moved.listed())[0].address).toBe(address)
    await moved.close()
    const other = privateKeyToAccount(keys.other).address
    const c = await openDaemon(chain, { dataDir, env: { [`TAPCHIP_RELAYER_KEY_${chainId}`]: keys.other } })
    await reconcileChains(c.ctx)
    const [shown] = await c.listed()
    expect(shown).toMatchObject({ status: 'pending', problem: null })
    expect(shown.address).not.toBe(address)
    c.ctx.start()
    expect(await c.settled(shown.transactionId)).toMatchObject({ name: 'confirmed' })
    expect(await c.show(shown.id)).toMatchObject({
      status: 'confirmed',
      address: shown.address,
      owner: other,
    })
    expect(await chain.client.getCode({ address: address })).toBeUndefined()
  })

  test('has no address as long as nobody gave the daemon the keys of its chain', async () => {
    const chain = await openChain()
    const dataDir = dataDirectory()
    const seed = seedOn(chainId)
    const before = await openAdminApp({ dataDir, seed })
    const [pending] = (await before.call('GET /admin/contracts?team=Acme')).body
    expect(pending).toMatchObject({ status: 'pending', address: null })
    await before.close()
    const c = await openAdminApp({ dataDir, env: chain.env })
    closing.push(() => c.close())
    await reconcileChains(c.ctx)
    const [shown] = (await c.call('GET /admin/contracts?team=Acme')).body
    c.ctx.start()
    await c.ctx.chains.relayer.settled(shown.transactionId)
    expect(await chain.ownerOf(shown.address)).toBe(relayer.address)
  })

  test('is bound on a chain that others run with the embedded one’s id, too', async () => {
    const chain = await openChain([], 31337)
    const c = await openDaemon(chain)
    const made = await c.deploy({ chainId: 31337 })
    const place = { chainId: 31337, team: 'Acme', symbol: 'JKT' }
    expect(made.address).not.toBe(deployByCreate3(guessableSalt(place), '0x').address)
    c.ctx.start()
    expect(await c.settled(made.transactionId)).toMatchObject({ name: 'confirmed' })
  })
})

describe('a token contract that an earlier version deployed', () => {
  /** As its rows and its contract were, with whoever owns it. */
  async function openFormer(owner: Address) {
    const chain = await openChain()
    const t = await openPhygitals({ env: chain.env, seed: seedOn(chainId) })
    closing.push(() => t.close())
    const { call, address } = deployByCreate3(formerSalt(t.ctx.instance), theirs(owner))
    if (!('data' in call)) throw new Error('it is fixed')
    await chain.attack({ data: call.data })
    const jackets = await t.ctx.db.read
      .selectFrom('contracts')
      .selectAll()
      .where('symbol', '=', 'JKT')
      .executeTakeFirstOrThrow()
    await t.ctx.db.write((trx) =>
      updateContract(trx, jackets.id, { address, status: 'confirmed', transactionId: 1, isBound: 0 }),
    )
    t.ctx.start()
    // Its first deployment is still under way, and would say that all is well when it is done.
    await t.settled()
    const show = async () =>
      (await t.app.inject({ url: `/admin/contracts/${jackets.id}`, headers: t.admin })).json()
    return { ...t, chain, address, show }
  }

  test('goes on working where it is ours', async () => {
    const t = await openFormer(relayer.address)
    const code = await t.code(chips.jacket(1))
    expect((await t.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })).status).toBe(200)
    await t.settled()
    const owner = await t.chain.client.readContract({
      abi: phygitalAbi,
      address: t.address,
      functionName: 'ownerOf',
      args: [1n],
    })
    expect(owner).toBe(getAddress(bob))
    await verifyContracts(t.ctx)
    expect(await t.show()).toMatchObject({ problem: null, warnings: [], code: 'ours' })
  })

  test('moves nothing where it is a stranger’s, and codes stay good', async () => {
    const t = await openFormer(mallory.address)
    const code = await t.code(chips.jacket(1))
    const token = { contractAddress: t.address, chainId, tokenId: '1' }
    const refused = {
      status: 409,
      body: {
        code: 'conflict',
        message: expect.stringMatching(new RegExp(`belongs to ${mallory.address}, not to`)),
      },
    }
    expect(await t.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })).toMatchObject(refused)
    expect(
      await t.ask(`/phygitals/transfer-signature/pullable?recipient=${bob}`, undefined, { code }),
    ).toMatchObject(refused)
    expect(await t.ask('/phygitals/transfer', { ...token, recipient: bob }, { key: acmeKey })).toMatchObject(
      refused,
    )
    expect((await t.ask(`/otps/${code}`)).body.isExpired).toBe(false)
    // Once it was looked at, it says so by itself, and no registration uses up a code.
    await verifyContracts(t.ctx)
    expect(await t.show()).toMatchObject({
      problem: expect.stringMatching(/belongs to/),
      owner: mallory.address,
      warnings: [expect.stringMatching(/belongs to/)],
    })
    expect(await t.ask('/phygitals/claim-registration/pullable', { recipient: bob }, { code })).toMatchObject(
      refused,
    )
    expect((await t.ask(`/otps/${code}`)).body.isExpired).toBe(false)
    const chains = (await t.app.inject({ url: '/admin/chains', headers: t.admin })).json()
    expect(chains[0].contracts).toMatchObject([{ symbol: 'JKT', team: 'Acme', address: t.address }])
  })
})

describe('a guestbook', () => {
  async function openGuestbooks() {
    const chain = await openChain(['--no-mining'])
    const t = await openAdminApp({ env: chain.env, seed: { ...guestbookSeed } })
    closing.push(() => t.close())
    const hands = handsOf(t)
    const { contractId } = (await hands.ask('/events/contracts', { name: 'Guests', symbol: 'FAIR', chainId }))
      .body
    const tick = async () => {
      await t.ctx.chains.relayer.tick()
      await chain.client.mine({ blocks: 1 })
      await t.ctx.chains.relayer.tick()
    }
    const shown = async () => (await t.call(`GET /admin/contracts/${contractId}`)).body
    return { ...hands, chain, contractId, tick, shown, call: t.call }
  }

  test('is ours whoever sends our own bytes first, and another one where they are changed', async () => {
    const g = await openGuestbooks()
    await g.ctx.chains.relayer.tick()
    const sent = await g.transactions()
    expect(sent.map(({ kind }) => kind)).toEqual(['guestbook-factory', 'guestbook-deploy'])
    const fees = { maxFeePerGas: 50_000_000_000n, maxPriorityFeePerGas: 50_000_000_000n, gas: 6_000_000n }
    const copies = sent.map(({ to, data }) => ({
      ...(to === null ? {} : { to: getAddress(to) }),
      data: data as Hex,
    }))
    const admin = relayer.address.slice(2).toLowerCase()
    const evil = copies.map(({ data, ...more }) => ({
      ...more,
      data: data.replaceAll(admin, mallory.address.slice(2).toLowerCase()) as Hex,
    }))
    for (const call of [...evil, ...copies])
      await g.chain.client.sendTransaction({ ...fees, ...call, account: mallory })
    await g.tick()
    expect((await g.transactions()).map(({ state }) => state)).toEqual(['confirmed', 'confirmed'])
    const { address, status } = await g.shown()
    expect(status).toBe('confirmed')
    const guestbook = { abi: guestbookAbi, address: getAddress(address) } as const
    expect(await g.chain.client.readContract({ ...guestbook, functionName: 'owner' })).toBe(relayer.address)
    const isMinter = (account: Address) =>
      g.chain.client.readContract({ ...guestbook, functionName: 'isMinter', args: [account] })
    expect([await isMinter(relayer.address), await isMinter(mallory.address)]).toEqual([true, false])
  })

  test('counts as deployed only once it is the one that was meant', async () => {
    const g = await openGuestbooks()
    const row = await g.contract('FAIR')
    // What no attacker can do, and a chain that lies or forgets can: other code where it belongs.
    await g.chain.client.setCode({ address: getAddress(row.address), bytecode: '0x60006000f3' })
    await g.tick()
    expect((await g.transactions()).map(({ state }) => state)).toEqual(['confirmed', 'reverted'])
    expect(await g.shown()).toMatchObject({
      status: 'pending',
      address: null,
      problem: expect.stringMatching(
        /not deployed \(transaction 2\): The contract at 0x.*was not deployed by this daemon/,
      ),
    })
    expect((await g.ask('/events/contracts')).body.at(-1)).toMatchObject({ status: 'pending', address: null })
    // The way is free again, and the next request for it begins anew.
    await g.chain.client.setCode({ address: getAddress(row.address), bytecode: '0x' })
    const event = { name: 'First', tokenId: '1', contractId: g.contractId, metadata: metadata('First') }
    expect((await g.ask('/events', event)).status).toBe(200)
    await g.tick()
    expect(await g.shown()).toMatchObject({ status: 'confirmed', problem: null })
  })

  test('that is not there any more takes no mints, and codes stay good', async () => {
    const g = await openGuestbooks()
    const event = { name: 'First', tokenId: '1', contractId: g.contractId, metadata: metadata('First') }
    const { id: guestbookEventId } = (await g.ask('/events', event)).body
    await g.ask('/events/assign/legacy', { tagUIDs: [seeded.blank(1)], guestbookEventId })
    await g.tick()
    expect(await g.shown()).toMatchObject({ status: 'confirmed' })
    const code = await g.code(seeded.blank(1))
    await g.chain.client.setCode({ address: getAddress((await g.shown()).address), bytecode: '0x' })
    const refused = {
      status: 409,
      body: { code: 'conflict', message: expect.stringMatching(/There is no contract at/) },
    }
    expect(await g.ask('/events/mint/self', { recipient: bob }, { code })).toMatchObject(refused)
    expect(
      await g.ask('/events/toggle-pause-state', { contractId: g.contractId, pauseState: true }),
    ).toMatchObject(refused)
    expect((await g.ask(`/otps/${code}`)).body.isExpired).toBe(false)
  })
})

describe('a token contract on the embedded chain, whose address anybody can guess', () => {
  /** @param creation what Mallory puts there before the daemon does */
  async function openSquatted(creation: (verifier: Address, relayer: Address) => Hex) {
    const t = await openPhygitals({ chain: false, env: { TAPCHIP_DEV_CHAIN: 'on' }, seed: seedOn(31337) })
    closing.push(() => t.close())
    const { embedded } = t.ctx.chains
    if (!embedded) throw new Error('it has one')
    const chain = t.ctx.chains.get(31337)
    const wallet = createWalletClient({
      chain: embedded.chain,
      transport: rpcTransport(embedded.rpcUrl),
      // A key that everybody has.
      account: privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'),
    })
    const { call } = deployByCreate3(
      guessableSalt({ chainId: 31337, team: 'Acme', symbol: 'JKT' }),
      creation(chain.signVerifier.address, chain.relayer),
    )
    if (!('data' in call)) throw new Error('it is fixed')
    const hash = await wallet.sendTransaction({ data: call.data, gas: 6_000_000n })
    // viem's own waiting looks at new blocks alone, and misses the one that comes while it looks: here no other comes.
    const mined = () => getTransactionReceipt(chain.client, { hash }).catch(() => undefined)
    await expect.poll(mined, { interval: 5 }).toBeDefined()
    t.ctx.start()
    await reconcileChains(t.ctx)
    const show = async () => (await t.app.inject({ url: '/admin/contracts/1', headers: t.admin })).json()
    return { ...t, show }
  }

  const cases: [string, (verifier: Address, relayer: Address) => Hex, RegExp][] = [
    ['with another owner', (verifier) => theirs(mallory.address, verifier), /belongs to 0x/],
    ['with another sign verifier', (_, owner) => theirs(owner, mallory.address), /trusts the sign verifier/],
    ['with other code', () => echo(mallory.address), /was not deployed by this daemon/],
  ]
  test.each(cases)('%s does not count as deployed, says why, and moves nothing', async (_, creation, why) => {
    const t = await openSquatted(creation)
    expect(await t.show()).toMatchObject({
      status: 'pending',
      problem: expect.stringMatching(why),
      warnings: [expect.stringMatching(/deploy it with another symbol/)],
    })
    const [deployment] = await t.transactions()
    expect(deployment).toMatchObject({
      kind: 'phygital-deploy',
      state: 'reverted',
      reason: expect.stringMatching(why),
    })
    // Whoever it says owns the token does not say where our chips lead.
    expect(await t.ask(...(await ownEdit(mallory, t.addressOf('JKT'))))).toMatchObject({
      status: 401,
      body: { message: expect.stringMatching(/This token has no owner yet/) },
    })
    const code = await t.code(chips.jacket(1))
    const refused = { status: 409, body: { code: 'conflict', message: expect.stringMatching(why) } }
    expect(await t.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })).toMatchObject(refused)
    expect(
      await t.ask(`/phygitals/transfer-signature/pullable?recipient=${bob}`, undefined, { code }),
    ).toMatchObject(refused)
    expect(await t.ask('/phygitals/claim-registration/pullable', { recipient: bob }, { code })).toMatchObject(
      refused,
    )
    expect((await t.ask(`/otps/${code}`)).body.isExpired).toBe(false)
    // Its neighbour is deployed as ever.
    const { status, problem } = (await t.app.inject({ url: '/admin/contracts/2', headers: t.admin })).json()
    expect({ status, problem }).toEqual({ status: 'confirmed', problem: null })
  })

  test('that somebody can take over at any moment is not ours either', async () => {
    // Our code behind a constructor that writes what it likes: owner and verifier ours, the next owner Mallory.
    const forged = (verifier: Address, owner: Address): Hex => {
      const runtime: Hex = `0x${phygitalBytecode.slice(phygitalBytecode.lastIndexOf('6080604052'))}`
      expect(keccak256(runtime)).toBe(phygitalCodeHash)
      const store = (slot: number, value: Address) =>
        concat(['0x73', value, '0x60', `0x${slot.toString(16).padStart(2, '0')}`, '0x55'])
      const set = concat([store(6, owner), store(7, mallory.address), store(13, verifier)])
      const size = (runtime.length - 2) / 2
      const word = (n: number): Hex => `0x${n.toString(16).padStart(4, '0')}`
      const head = (set.length - 2) / 2 + 13
      return concat([
        set,
        concat(['0x61', word(size), '0x80', '0x61', word(head), '0x60', '0x00', '0x39']),
        concat(['0x60', '0x00', '0xf3']),
        runtime,
      ])
    }
    const t = await openSquatted(forged)
    expect(await t.show()).toMatchObject({
      status: 'pending',
      problem: expect.stringMatching(
        new RegExp(`will belong to ${mallory.address} as soon as they accept it`),
      ),
    })
  })
})
