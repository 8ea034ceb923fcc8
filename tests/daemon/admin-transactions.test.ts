import { keccak256, parseEther, stringToBytes, toHex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { bob, phygitalSeed } from '../support/phygitals.ts'
import { askNode } from '../support/relayer.ts'
import { acmeKey } from '../support/seeds.ts'

const key = (name: string) => keccak256(stringToBytes(`test: ${name}`))
const seed = { version: 1, teams: [{ name: 'Acme' }] }
const deployment = { team: 'Acme', symbol: 'JKT', name: 'Jackets', chainId: 777 }
const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)

/** The settings of a chain that somebody else runs. */
const remote = (url: string) => ({
  TAPCHIP_RPC_777: url,
  TAPCHIP_CONFIRMATIONS_777: '1',
  TAPCHIP_RELAYER_KEY_777: key('relayer'),
  TAPCHIP_SIGN_VERIFIER_KEY_777: key('sign verifier'),
})

describe('on the embedded chain', () => {
  let t: AdminApp
  beforeAll(async () => {
    t = await openAdminApp({ chain: true, seed: phygitalSeed })
  })
  afterAll(() => t.close())

  test('transactions are listed newest first, by what they are, and a page at a time', async () => {
    const all = (await t.call('GET /admin/transactions')).body
    expect(all).toHaveLength(25)
    expect(all.map(({ id }: { id: number }) => id)).toEqual(all.map((_: unknown, i: number) => 25 - i))
    expect(all[24]).toMatchObject({
      team: 'Acme',
      chainId: 31337,
      kind: 'phygital-deploy',
      subject: { symbol: 'JKT' },
      state: 'confirmed',
      waiting: null,
      initialTxHash: hash,
    })
    const count = async (query: string) => (await t.call(`GET /admin/transactions?${query}`)).body.length
    expect(await count('kind=phygital-deploy')).toBe(2)
    expect(await count('limit=10&before=5')).toBe(4)
    expect(await count('state=queued')).toBe(0)
    expect(await count('waiting=true')).toBe(0)
    expect(await count('chainId=1')).toBe(0)
    expect(await count('team=Other')).toBe(0)
    expect(await count(`hash=${all[3].minedHash.toUpperCase().replace('0X', '0x')}`)).toBe(1)
    expect((await t.call('GET /admin/transactions?hash=0x12')).status).toBe(400)
    expect((await t.call('GET /admin/transactions?state=lost')).body.message).toContain('state')
  })

  test('one is shown with its attempts, and never with the signed bytes', async () => {
    const { body: contracts } = await t.call('GET /admin/contracts?team=Acme')
    const answer = await t.app.inject({
      method: 'POST',
      url: '/phygitals/transfer',
      headers: { 'x-svc-api-key': acmeKey },
      payload: { contractAddress: contracts[0].address, chainId: 31337, tokenId: '1', recipient: bob },
    })
    const { initialTxHash } = answer.json()
    const [found] = (await t.call(`GET /admin/transactions?hash=${initialTxHash}`)).body
    await t.ctx.chains.relayer.settled(found.id)
    const shown = await t.call(`GET /admin/transactions/${found.id}`)
    expect(shown.body).toMatchObject({
      state: 'confirmed',
      kind: 'phygital-transfer',
      minedHash: initialTxHash,
      attempts: [{ hash: initialTxHash, purpose: 'effect', error: null }],
    })
    expect(shown.text).not.toMatch(/"raw"|0x02f[0-9a-f]{100}/)
    expect((await t.call('GET /admin/transactions/9999')).status).toBe(404)
  })

  test('what is done cannot be cancelled, and the refusal says what it is', async () => {
    const refused = await t.call('POST /admin/transactions/1/cancel', { reason: 'a mistake' })
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(refused.body.message).toContain('confirmed')
    expect((await t.call('POST /admin/transactions/1/cancel', {})).body.message).toContain('reason')
    expect((await t.call('POST /admin/transactions/9999/cancel', { reason: 'x' })).status).toBe(404)
    expect(await t.audit('action=transactions')).toEqual([])
  })

  test('the chain says how it is, in /admin/chains, in /readyz and in the metrics', async () => {
    const { body } = await t.call('GET /admin/chains')
    expect(body).toEqual([
      {
        chainId: 31337,
        isEmbedded: true,
        rpcUrl: expect.stringMatching(/^http:\/\/127\./),
        isReachable: true,
        contracts: [],
        latestBlock: expect.any(Number),
        baseFee: expect.stringMatching(/^\d+$/),
        maxFeePerGas: null,
        relayer: expect.stringMatching(/^0x/),
        balance: expect.stringMatching(/^\d{20,}$/),
        relayers: [expect.objectContaining({ name: 'relayer', unsettled: 0, jam: null })],
        missing: [],
        signVerifier: expect.stringMatching(/^0x/),
        unsettled: expect.any(Number),
        inFlight: expect.any(Number),
        waiting: {},
        trouble: null,
        endpoints: [],
        signer: null,
      },
    ])
    const ready = await t.app.inject({ url: '/readyz' })
    expect(ready.json()).toMatchObject({ status: 'ready', chains: { 31337: 'ok' } })
    const metrics = await t.app.inject({ url: '/metrics' })
    for (const name of ['transactions_unsettled', 'transactions_in_flight', 'chain_trouble'])
      expect(metrics.body).toMatch(new RegExp(`^tapchip_${name}\\{chain="31337"\\} \\d+$`, 'm'))
  })
})

describe('a chain that is out of reach', () => {
  let t: AdminApp
  beforeEach(async () => {
    t = await openAdminApp({ seed, env: remote('http://user:secret@127.0.0.1:1/v2/secret') })
  })
  afterEach(() => t.close())

  test('makes nothing unready, says that it is in trouble, and shows no key of its URL', async () => {
    await t.ctx.chains.relayer.tick()
    const ready = await t.app.inject({ url: '/readyz' })
    expect([ready.statusCode, ready.json()]).toMatchObject([
      200,
      { status: 'ready', chains: { 777: 'trouble' } },
    ])
    const { body, text } = await t.call('GET /admin/chains')
    expect(body).toMatchObject([
      { chainId: 777, isReachable: false, balance: null, rpcUrl: null, trouble: { code: 'node' } },
    ])
    expect(body[0].maxFeePerGas).toBe('200000000000')
    expect(text).not.toContain('secret')
  })

  test('has what is recorded wait, and a cancel of it is done at once, with a line in the audit', async () => {
    const { body } = await t.call('POST /admin/contracts/deploy', deployment)
    expect(body).toMatchObject({ status: 'pending' })
    const id: number = body.transactionId
    expect((await t.call(`GET /admin/transactions/${id}`)).body).toMatchObject({
      state: 'queued',
      attempts: [],
    })
    const cancel = () => t.call(`POST /admin/transactions/${id}/cancel`, { reason: 'wrong name' })
    const settled = t.ctx.chains.relayer.settled(id)
    expect(await tenTimes(cancel)).toEqual({ 200: 1, 409: 9 })
    expect((await t.call(`GET /admin/transactions/${id}`)).body).toMatchObject({
      state: 'cancelled',
      reason: 'wrong name',
      cancelling: null,
    })
    expect(await settled).toMatchObject({ name: 'cancelled' })
    expect((await cancel()).status).toBe(409)
    expect(await t.audit('action=transactions.cancel')).toMatchObject([
      {
        actor: 'admin:root',
        target: String(id),
        team: 'Acme',
        detail: { state: 'queued', reason: 'wrong name' },
      },
    ])
    // The contract is free for another try.
    expect((await t.call('GET /admin/contracts?team=Acme')).body[0].transactionId).toBeNull()
  })
})

describe('a chain that others run', () => {
  let anvil: Anvil
  let t: AdminApp
  beforeEach(async () => {
    anvil = await startAnvil(['--chain-id', '777', '--no-mining'])
    t = await openAdminApp({ seed, env: remote(anvil.url) })
  })
  afterEach(async () => {
    await t.close()
    await anvil.kill()
  })

  test('a transaction that is under way is cancelled by an empty one at its nonce', async () => {
    const { relayer } = t.ctx.chains
    const [chain] = (await t.call('GET /admin/chains')).body
    expect(chain).toMatchObject({ chainId: 777, isReachable: true, balance: '0' })
    const { body } = await t.call('POST /admin/contracts/deploy', deployment)
    expect(body).toMatchObject({ status: 'pending' })
    const id: number = body.transactionId
    await relayer.tick()
    const waiting = (await t.call('GET /admin/transactions?waiting=true')).body
    expect(waiting).toMatchObject([
      { id, state: 'signed', waiting: expect.stringMatching(/^funds: .*funds/i) },
    ])
    expect((await t.call('GET /admin/chains')).body[0]).toMatchObject({ waiting: { funds: 1 }, unsettled: 1 })

    await askNode(anvil.url, 'anvil_setBalance', [chain.relayer, toHex(parseEther('1'))])
    t.ctx.chains.relayer.wake()
    await relayer.tick()
    const cancelled = await t.call(`POST /admin/transactions/${id}/cancel`, { reason: 'wrong name' })
    expect(cancelled.body).toMatchObject({ settledAt: null, cancelling: 'wrong name' })
    const again = await t.call(`POST /admin/transactions/${id}/cancel`, { reason: 'wrong name' })
    expect(again.body.message).toContain('already being cancelled')
    await relayer.tick()
    await askNode(anvil.url, 'evm_mine')
    await relayer.tick()
    const { body: shown } = await t.call(`GET /admin/transactions/${id}`)
    expect(shown).toMatchObject({ state: 'cancelled', reason: 'wrong name' })
    expect(shown.attempts.at(-1)).toMatchObject({ purpose: 'filler', hash: shown.minedHash })
  })

  test('needs the scope transfer to cancel, and read to look', async () => {
    const token = async (scope: string) =>
      (await t.call('POST /admin/admin-tokens', { name: scope, scopes: [scope] })).body.token
    const headers = { authorization: `Bearer ${await token('edit')}` }
    expect((await t.call('GET /admin/transactions', undefined, headers)).status).toBe(200)
    const refused = await t.call('POST /admin/transactions/1/cancel', { reason: 'x' }, headers)
    expect(refused).toMatchObject({ status: 403, body: { code: 'scope_missing' } })
  })
})
