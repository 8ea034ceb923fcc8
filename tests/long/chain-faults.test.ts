import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeErrorResult, getAddress, parseAbi } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { bob, carol, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { run } from '../support/process.ts'
import type { Fault } from '../support/relayer/strict-node.ts'
import { openRemoteChain, type RemoteChain, remoteRelayer } from '../support/remote-chain.ts'
import { acmeKey } from '../support/seeds.ts'

// What becomes of requests while a chain that others run misbehaves. tests/chain has the relayer's side of it.

let chain: RemoteChain
let p: Phygitals
beforeEach(async () => {
  chain = await openRemoteChain()
  p = await chain.open()
  await p.settled()
})
afterEach(async () => {
  await p.close()
  await chain.close()
})

const token = (n: number) => ({ ...p.token('JKT', n), chainId: 7 })
const pull = (code: string, key: string, recipient = bob) =>
  p.ask('/phygitals/transfer/pullable', { recipient }, { code, headers: { 'idempotency-key': key } })
const isUsed = async (code: string): Promise<boolean> => (await p.ask(`/otps/${code}`)).body.isExpired
const owner = async (n: number) => {
  await p.settled()
  return ownerOf(p.ctx.chains.get(7).client, p.addressOf('JKT'), BigInt(n))
}

describe('a chain that others run', () => {
  test('gets its contracts by transactions of its own keys, and tokens are minted when they first move', async () => {
    const { status } = await p.ask('/phygitals/transfer', { ...token(1), recipient: bob }, { key: acmeKey })
    expect(status).toBe(200)
    expect(await owner(1)).toBe(getAddress(bob))
    const sender = await p.ctx.db.read.selectFrom('senders').selectAll().executeTakeFirstOrThrow()
    expect(sender).toMatchObject({ chainId: 7, address: remoteRelayer.address })
  })

  test('that is down is a 503 that says when to come back, and the code stays good', async () => {
    const code = await p.code(chips.jacket(1))
    chain.node.fault = () => 'lost'
    const refused = await pull(code, 'a')
    expect(refused).toMatchObject({ status: 503, body: { code: 'chain_unavailable' } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.body.message).toMatch(/Nothing was used up/)
    expect(await isUsed(code)).toBe(false)
    // A look at the owner fails as well, and leaves the ref as good as it was.
    const ref = await p.refOf(chips.jacket(2))
    expect((await p.ask(`/refs/${ref}?includeOwner=true`)).status).toBe(503)
    chain.node.fault = undefined
    expect((await p.ask(`/refs/${ref}?includeOwner=true`)).body.isValidRef).toBe(true)
    expect((await pull(code, 'a')).status).toBe(200)
    expect(await owner(1)).toBe(getAddress(bob))
  })

  test('that is down is what all transactions wait for, and readiness and lists say so', async () => {
    chain.mining(false)
    await p.ask('/phygitals/transfer', { ...token(1), recipient: bob }, { key: acmeKey })
    chain.node.fault = () => 'lost'
    const waiting = async () => {
      const { body } = await p.ask('/admin/transactions?waiting=true', undefined, { headers: p.admin })
      return body.map(({ waiting }: { waiting: string }) => waiting)
    }
    await expect.poll(waiting).toEqual([expect.stringMatching(/^node: ./)])
    expect((await p.ask('/readyz')).body.chains).toEqual({ 7: 'trouble' })
    chain.node.fault = undefined
    await expect.poll(waiting).toEqual([])
    chain.mining(true)
  })

  test('whose relayer has nothing to pay with does not look healthy', async () => {
    const word = async () => (await p.ask('/readyz')).body.chains[7]
    const gauge = async () => {
      const { body } = await p.app.inject({ url: '/metrics', headers: p.admin })
      return /tapchip_chain_waiting_for_funds\{chain="7"\} (\d)/.exec(body)?.[1]
    }
    await expect.poll(word).toBe('ok')
    expect(await gauge()).toBe('0')
    await chain.rpc('anvil_setBalance', [remoteRelayer.address, '0x0'])
    // A deployment is not refused before: it is recorded, and waits.
    const wanted = { team: 'Acme', symbol: 'NEW', name: 'New', chainId: 7 }
    await p.ask('/admin/contracts/deploy', wanted, { headers: p.admin })
    await expect.poll(word).toBe('waiting-for-funds')
    expect(await gauge()).toBe('1')
    await chain.rpc('anvil_setBalance', [remoteRelayer.address, '0xde0b6b3a7640000'])
    await expect.poll(word).toBe('ok')
    await p.settled()
  })

  test('that loses its answer after it took a transaction mines it once, and the request is answered', async () => {
    const code = await p.code(chips.jacket(1))
    chain.node.fault = (method) => (method === 'eth_sendRawTransaction' ? 'answer-lost' : undefined)
    const answer = await pull(code, 'b')
    expect(answer.status).toBe(200)
    chain.node.fault = undefined
    expect(await owner(1)).toBe(getAddress(bob))
    const rows = (await p.transactions()).filter(({ kind }) => kind === 'phygital-mint')
    expect(rows).toMatchObject([{ state: 'confirmed', minedHash: answer.body.initialTxHash }])
  })

  test('whose base fee is past the cap, or whose relayer is poor, is a 503, and the code stays good', async () => {
    const code = await p.code(chips.jacket(1))
    chain.node.baseFee = 500_000_000_000n
    const dear = await pull(code, 'c')
    expect(dear).toMatchObject({ status: 503, body: { code: 'chain_unavailable' } })
    expect(dear.body.message).toMatch(/higher gas fees.*Nothing was used up/)
    expect(await isUsed(code)).toBe(false)
    chain.node.baseFee = undefined
    await chain.rpc('anvil_setBalance', [remoteRelayer.address, '0x1'])
    await expect
      .poll(async () => (await pull(code, 'c')).body.message)
      .toMatch(/cannot pay.*Nothing was used up/)
    expect(await isUsed(code)).toBe(false)
    await chain.rpc('anvil_setBalance', [remoteRelayer.address, '0xde0b6b3a7640000'])
    await expect.poll(async () => (await pull(code, 'c')).status).toBe(200)
    expect((await pull(code, 'c', carol)).status).toBe(409)
    expect(await owner(1)).toBe(getAddress(bob))
  })
})

describe('a node whose answers are none', () => {
  const word = (hex: string) => `0x${hex.padStart(64, '0')}`
  const odd: Fault[] = [
    'null',
    'html',
    'wrong-id',
    { result: '0x' },
    { result: '0x01' },
    { result: word('f'.repeat(64)) },
    { result: { owner: bob } },
    { error: { code: -32603, message: 'Internal error' } },
    { error: { code: -32000, message: 'header not found' } },
    { error: { code: -32005, message: 'daily request count exceeded' } },
  ]

  test('is a 503 for whoever wants a token moved, and no token is thought unminted', async () => {
    await p.ask('/phygitals/transfer', { ...token(1), recipient: bob }, { key: acmeKey })
    await p.settled()
    const before = (await p.transactions()).length
    const code = await p.code(chips.jacket(1))
    const refs = await p.refOf(chips.jacket(2))
    for (const fault of odd) {
      chain.node.fault = (method) => (method === 'eth_call' ? fault : undefined)
      const why = JSON.stringify(fault)
      for (const answer of [
        await p.ask('/phygitals/transfer', { ...token(1), recipient: carol }, { key: acmeKey }),
        await pull(code, 'odd', carol),
        await p.ask(`/refs/${refs}?includeOwner=true`),
      ])
        expect(answer, why).toMatchObject({ status: 503, body: { code: 'chain_unavailable' } })
      const checked = await p.app.inject({
        method: 'POST',
        url: '/phygitals/transfer/check',
        headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' },
        payload: JSON.stringify({ ...token(1), recipient: carol }),
      })
      expect(checked.body, why).toMatch(/chain_unavailable|does not answer/)
    }
    chain.node.fault = undefined
    expect((await p.transactions()).length).toBe(before)
    expect(await isUsed(code)).toBe(false)
    // The last one was a limit, after which a node is left alone for a second.
    await expect.poll(async () => (await pull(code, 'odd', carol)).status, { timeout: 5000 }).toBe(200)
    expect(await owner(1)).toBe(getAddress(carol))
  })

  test('or that has no contract where ours stands, as one that is behind, moves nothing', async () => {
    await p.ask('/phygitals/transfer', { ...token(1), recipient: bob }, { key: acmeKey })
    await p.settled()
    const before = (await p.transactions()).length
    chain.node.fault = (method) =>
      method === 'eth_call' || method === 'eth_getCode' ? { result: '0x' } : undefined
    const answer = await p.ask('/phygitals/transfer', { ...token(1), recipient: carol }, { key: acmeKey })
    expect([409, 503]).toContain(answer.status)
    expect(answer.body.message).toMatch(/Nothing was used up/)
    chain.node.fault = undefined
    expect((await p.transactions()).length).toBe(before)
  })

  test('takes no deployment for somebody else’s, and it is confirmed once the node is well', async () => {
    const wanted = { team: 'Acme', symbol: 'NEW', name: 'New', chainId: 7 }
    chain.node.fault = (method) => (method === 'eth_call' ? { result: '0x' } : undefined)
    const asked = () => chain.node.calls.get('eth_call') ?? 0
    const before = asked()
    expect((await p.ask('/admin/contracts/deploy', wanted, { headers: p.admin })).status).toBe(200)
    // It is mined, and looked at more than once.
    await expect.poll(asked).toBeGreaterThan(before + 4)
    const found = () =>
      p.ctx.db.read.selectFrom('contracts').selectAll().where('symbol', '=', 'NEW').executeTakeFirst()
    expect(await found()).toMatchObject({ status: 'pending', problem: null })
    chain.node.fault = undefined
    await p.settled()
    await expect.poll(found).toMatchObject({ status: 'confirmed', problem: null })
  })

  test('and that says 900 kB is quoted with a line of it: in answers, in records and in the log', async () => {
    const lines: string[] = []
    await p.close()
    p = await openPhygitals({ env: chain.env, seed: chain.seed, log: (line) => lines.push(line) })
    await p.settled()
    const words = 'no '.repeat(300_000)
    const answers: string[] = []
    const ask = async (...asked: Parameters<typeof p.ask>) => {
      const { status, body } = await p.ask(...asked)
      answers.push(JSON.stringify(body))
      return status
    }
    const to = { ...token(3), recipient: bob }
    for (const [code, data] of [
      [-32000, words],
      [3, words],
      [3, '0x08c379a0'.padEnd(900_000, '0')],
      [-32603, { data: words }],
    ] as const) {
      chain.node.fault = () => ({ error: { code, message: `execution ${words}`, data } })
      expect(await ask('/phygitals/transfer', to, { key: acmeKey })).toBe(503)
      await ask('/admin/chains', undefined, { headers: p.admin })
      await ask('/readyz')
    }
    // What a contract itself says, where the node is well.
    const fault = { error: { code: 3, message: `execution reverted: ${words}` } }
    chain.node.fault = (method) => (method === 'eth_call' ? fault : undefined)
    await ask('/phygitals/transfer', { ...to, recipient: p.addressOf('ART') }, { key: acmeKey })
    chain.node.fault = (method) => (method === 'eth_sendRawTransaction' ? fault : undefined)
    await ask('/phygitals/transfer', to, { key: acmeKey })
    await ask('/admin/transactions', undefined, { headers: p.admin })
    for (const answer of answers)
      for (const [text] of answer.matchAll(/"(?:[^"\\]|\\.)*"/g)) expect(text.length).toBeLessThan(502)
    const attempts = await p.ctx.db.read.selectFrom('transactionAttempts').selectAll().execute()
    const errors = attempts.flatMap(({ error }) => error ?? [])
    expect(errors.length).toBeGreaterThan(0)
    for (const error of errors) expect(error.length).toBeLessThan(500)
    expect(lines.some((line) => line.includes('request failed'))).toBe(true)
    for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8192)
    chain.node.fault = undefined
  })

  test('can make the daemon call no URL: what is kept off the chain is asked for names alone', async () => {
    let calls = 0
    const server = createServer((_request, response) => {
      calls += 1
      response.end('{"data":"0x"}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    try {
      const to = p.addressOf('JKT')
      const data = encodeErrorResult({
        abi: parseAbi([
          'error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)',
        ]),
        args: [to, [`http://127.0.0.1:${port}/{data}`], '0x', '0x00000000', '0x'],
      })
      const error = { code: 3, message: 'execution reverted', data }
      chain.node.fault = (method) => (method === 'eth_call' ? { error } : undefined)
      const { client } = p.ctx.chains.get(7)
      await expect(client.call({ to, data: '0x' })).rejects.toThrow(/reverted/)
      await ownerOf(client, to, 1n)
      expect(calls).toBe(0)
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })
})

test('a chain that forgets two blocks gets the transfer again, and it counts once it lies deep enough', async () => {
  const deep = await openRemoteChain({ confirmations: 4 })
  const q = await deep.open()
  try {
    await q.settled()
    deep.mining(false)
    const code = await q.code(chips.jacket(1))
    const answer = await q.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect(answer.status).toBe(200)
    const state = async () => (await q.transactions()).find(({ kind }) => kind === 'phygital-mint')?.state
    await deep.rpc('anvil_mine', ['0x2'])
    await expect.poll(state).toBe('mined')
    await deep.rpc('anvil_reorg', [2, []])
    await expect.poll(state).toBe('broadcast')
    deep.mining(true)
    await q.settled()
    expect(await state()).toBe('confirmed')
    const { client } = q.ctx.chains.get(7)
    expect(await ownerOf(client, q.addressOf('JKT'), 1n)).toBe(getAddress(bob))
  } finally {
    await q.close()
    await deep.close()
  }
})

test('a URL that answers for another chain is refused at the start, and so is a key that everybody has', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-wrong-chain-'))
  writeFileSync(join(dataDir, 'seed.json'), '{"version":1}')
  try {
    const args = ['--data-dir', dataDir, '--port', '0']
    const { TAPCHIP_RPC_7: url = '', ...env } = chain.env
    const wrong = await run('tapchipd', args, {
      ...env,
      TAPCHIP_RPC_8: url,
      TAPCHIP_RELAYER_KEY_8: env.TAPCHIP_RELAYER_KEY_7 ?? '',
      TAPCHIP_SIGN_VERIFIER_KEY_8: env.TAPCHIP_SIGN_VERIFIER_KEY_7 ?? '',
      TAPCHIP_CONFIRMATIONS_7: '',
      TAPCHIP_MAX_FEE_GWEI_7: '',
    })
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toMatch(/RPC URL of chain 8 answers for chain 7/)
    const dev = await run('tapchipd', args, {
      ...chain.env,
      TAPCHIP_RELAYER_KEY_7: 'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
    })
    expect(dev.code).toBe(1)
    expect(dev.stderr).toMatch(/which are public/)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('a chain without the deployment proxy costs no gas for nothing, at a start or on request', async () => {
  const bare = await openRemoteChain()
  await bare.rpc('anvil_setCode', ['0x4e59b44847b379578588920cA78FbF26c0B4956C', '0x'])
  const q = await bare.open()
  try {
    expect(await q.transactions()).toEqual([])
    const answer = await q.app.inject({
      method: 'POST',
      url: '/admin/contracts/deploy',
      headers: { ...q.admin, 'content-type': 'application/json' },
      payload: JSON.stringify({ team: 'Acme', symbol: 'NEW', name: 'New', chainId: 7 }),
    })
    expect(answer.json()).toMatchObject({
      statusCode: 409,
      message: expect.stringMatching(/no deterministic deployment proxy/),
    })
    expect(await q.transactions()).toEqual([])
  } finally {
    await q.close()
    await bare.close()
  }
})
