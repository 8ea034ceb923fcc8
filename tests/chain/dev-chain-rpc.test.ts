import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { createPublicClient, createTestClient, http } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevChain } from '../../src/daemon/chain/dev-chain/dev-chain.ts'
import { testClock } from '../support/daemon.ts'
import {
  clientOf,
  devChains,
  paid,
  payee,
  relayer,
  transfer,
  transfers,
  until,
} from '../support/dev-chain.ts'
import { minedReceipt } from '../support/receipt.ts'

const chains = devChains()
const clock = testClock()
let chain: DevChain
let port: string

beforeAll(async () => {
  chain = await chains.start({ clock })
  port = new URL(chain.rpcUrl).port
})
afterAll(() => chains.clean())

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** A request byte for byte as told: `fetch` would not let a test lie about Host and Origin. */
function ask(body: unknown, headers: Record<string, string> = {}, method = 'POST'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = httpRequest(
      chain.rpcUrl,
      { method, headers: { 'content-type': 'application/json', ...headers } },
      (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString()
        })
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
        )
      },
    )
    call.on('upgrade', (answer, socket) => {
      socket.destroy()
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: '' })
    })
    call.on('error', reject)
    call.end(
      method === 'GET' || method === 'HEAD'
        ? undefined
        : typeof body === 'string'
          ? body
          : JSON.stringify(body),
    )
  })
}

const call = (method: string, params: unknown[] = [], id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
const blockNumber = async () => clientOf(chain).getBlockNumber()

describe('a web page', () => {
  test.each([
    ['a form or no-cors fetch', { 'content-type': 'text/plain', origin: 'http://evil.example' }, 403],
    ['plain text without an origin', { 'content-type': 'text/plain' }, 415],
    ['form fields', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['JSON in disguise', { 'content-type': 'text/plain; application/json' }, 415],
    ['JSON from another origin', { origin: 'http://evil.example' }, 403],
    ['JSON from a sandboxed frame', { origin: 'null' }, 403],
    ['JSON from another port here', { origin: 'http://127.0.0.1:3000' }, 403],
    ['JSON over https from here', { origin: 'https://localhost:8545' }, 403],
    ['a request that the browser marks', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a request from the same site', { 'sec-fetch-site': 'same-site' }, 403],
    ['a name that DNS points here', { host: 'rebound.example' }, 403],
    ['a name that DNS points here, with the port', { host: 'localhost.evil.example:1' }, 403],
  ])('that sends %s is refused, and nothing happens', async (_, headers, status) => {
    const before = await blockNumber()
    const raw = await transfer(900)
    const answer = await ask(call('eth_sendRawTransaction', [raw]), headers)
    expect(answer.status).toBe(status)
    expect(answer.body).not.toContain('result')
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(await blockNumber()).toBe(before)
  })

  test('gets no preflight granted, no WebSocket, and nothing by GET', async () => {
    const preflight = {
      origin: 'http://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
      'access-control-request-private-network': 'true',
    }
    const granted = await ask('', preflight, 'OPTIONS')
    expect(granted.status).toBe(403)
    const socket = await ask(
      '',
      {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      },
      'GET',
    )
    expect(socket.status).toBe(405)
    for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS']) {
      const answer = await ask('', {}, method)
      expect(answer.status, method).toBe(405)
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })
})

describe('anyone on this machine', () => {
  test('reads and sends what is signed, by either name of the host', async () => {
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      const answer = await ask(call('eth_chainId'), { host, origin: `http://${host}` })
      expect([answer.status, JSON.parse(answer.body)]).toEqual([
        200,
        { jsonrpc: '2.0', id: 1, result: '0x7a69' },
      ])
      expect(answer.headers['cache-control']).toBe('no-store')
    }
    const client = createPublicClient({ chain: chain.chain, transport: http(), pollingInterval: 5 })
    const hash = await client.sendRawTransaction({ serializedTransaction: await transfer(0) })
    const receipt = await minedReceipt(client, hash)
    expect(receipt.status).toBe('success')
    expect(await client.getBalance({ address: payee(0) })).toBe(1n)
    const refused = client.sendRawTransaction({ serializedTransaction: await transfer(0) })
    await expect(refused).rejects.toThrow(/nonce/i)
  })

  test.each([
    'eth_sendTransaction',
    'eth_sign',
    'eth_accounts',
    'evm_mine',
    'anvil_setBalance',
    'anvil_impersonateAccount',
    'anvil_dumpState',
    'hardhat_reset',
    'debug_traceTransaction',
    'txpool_content',
    'personal_sign',
    'ETH_CALL',
  ])('is told that %s is not open', async (method) => {
    const { status, body } = await ask(call(method))
    const { error } = JSON.parse(body)
    expect([status, error.code]).toEqual([200, -32601])
    expect(error.message).toContain('TAPCHIP_DEV_RPC=full')
  })

  test('sends batches: each call is judged alone, and answers keep the order', async () => {
    const [raw] = await transfers(1, 1)
    const batch = [
      call('eth_chainId', [], 'a'),
      call('evm_mine', [], 2),
      { method: 'eth_chainId' },
      call('eth_sendRawTransaction', [raw], 4),
      call('eth_getBalance', [relayer.address, 'latest'], 5),
      'nonsense',
    ]
    const answers = JSON.parse((await ask(batch)).body)
    expect(answers.map(({ id }: { id: unknown }) => id)).toEqual(['a', 2, null, 4, 5, null])
    expect(answers.map((answer: { error?: { code: number } }) => answer.error?.code)).toEqual([
      undefined,
      -32601,
      -32600,
      undefined,
      undefined,
      -32600,
    ])
    await until(async () => (await paid(chain, 2))[1] === 1n)
  })

  test('is refused what is no call, or too much', async () => {
    const code = async (body: unknown) => {
      const answer = await ask(body)
      return [answer.status, JSON.parse(answer.body).error.code]
    }
    expect(await code('{"jsonrpc":')).toEqual([400, -32700])
    expect(await code('')).toEqual([400, -32700])
    expect(await code([])).toEqual([400, -32600])
    expect(await code(Array.from({ length: 101 }, () => call('eth_chainId')))).toEqual([400, -32600])
    expect(await code(call('eth_chainId', ['0x'.padEnd(1_100_000, '0')]))).toEqual([413, -32600])
    expect(await code({ ...call('eth_chainId'), params: { a: 1 } })).toEqual([200, -32600])
    expect(await code('null')).toEqual([200, -32600])
    // The second of two like-named members is the one that counts, for the chain as well.
    const twice = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[],"method":"evm_mine"}'
    expect(await code(twice)).toEqual([200, -32601])
  })

  test('sees the blocks that idle time would have brought', async () => {
    await chain.mine()
    const before = await blockNumber()
    clock.advance('30m')
    const { body } = await ask(call('eth_blockNumber'))
    expect(BigInt(JSON.parse(body).result)).toBe(before + 150n)
  })
})

describe('with everything open', () => {
  test('anvil does all it can, and a web page still nothing', async () => {
    const full = await chains.start({ rpcMode: 'full' })
    const client = createTestClient({ chain: full.chain, mode: 'anvil', transport: http() })
    await client.setBalance({ address: payee(7), value: 7n })
    expect(await clientOf(full).getBalance({ address: payee(7) })).toBe(7n)
    await client.setAutomine(false)
    await clientOf(full).sendRawTransaction({ serializedTransaction: await transfer(0) })
    await until(async () => (await client.getTxpoolStatus()).pending === 1)
    expect(await paid(full, 1)).toEqual([0n])
    await client.mine({ blocks: 1 })
    expect(await paid(full, 1)).toEqual([1n])
    await client.setAutomine(true)
    await clientOf(full).sendRawTransaction({ serializedTransaction: await transfer(1) })
    await until(async () => (await paid(full, 2))[1] === 1n)
    const page = await fetch(full.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'http://evil.example' },
      body: JSON.stringify(call('evm_mine')),
    })
    expect(page.status).toBe(403)
  })
})

describe('for origins that are named', () => {
  const origins = ['http://localhost:*', 'chrome-extension://*', 'https://app.example']

  test('a page reads and sends what is signed, and no more even where everything is open', async () => {
    const open = await chains.start({ rpcMode: 'full', rpcOrigins: origins })
    const from = (origin: string, method: string, body?: unknown) =>
      fetch(open.rpcUrl, {
        method,
        headers: { origin, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
    const own = ['http://localhost', 'http://localhost:5173', 'chrome-extension://abc', 'https://app.example']
    for (const origin of own) {
      const granted = await from(origin, 'OPTIONS')
      expect([granted.status, granted.headers.get('access-control-allow-headers')]).toEqual([
        204,
        'content-type',
      ])
      const answer = await from(origin, 'POST', call('eth_chainId'))
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
      expect(await answer.json()).toMatchObject({ result: '0x7a69' })
    }
    const refused = await from('http://localhost:5173', 'POST', call('evm_mine'))
    expect(await refused.json()).toMatchObject({ error: { code: -32601 } })
    const others = [
      'http://localhost.evil.example',
      'http://localhost:5173.evil.example',
      'https://localhost',
    ]
    for (const origin of [...others, 'https://app.example:8443', 'null']) {
      const answer = await from(origin, 'POST', call('eth_chainId'))
      expect([origin, answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([
        origin,
        403,
        null,
      ])
    }
    const { port } = new URL(open.rpcUrl)
    const taken = await chains.start({ rpcPort: Number(port) })
    expect(new URL(taken.rpcUrl).port).not.toBe(port)
    await open.stop()
    const again = await chains.start({ rpcPort: Number(port) })
    expect(new URL(again.rpcUrl).port).toBe(port)
  })
})

test('a chain that is down answers 503 to each call under its id, and answers again when it is back', async () => {
  const own = await chains.start()
  const post = (body: unknown = call('eth_chainId')) =>
    fetch(own.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  if (own.pid !== undefined) process.kill(own.pid, 'SIGKILL')
  await until(() => own.pid === undefined)
  const [one, batch] = await Promise.all([
    post(call('eth_chainId', [], 'a')),
    post([call('eth_chainId', [], 1), call('evm_mine', [], 2), 'nonsense']),
  ])
  for (const { status, headers } of [one, batch])
    expect([status, headers.get('retry-after')]).toEqual([503, '1'])
  expect(await one.json()).toMatchObject({ jsonrpc: '2.0', id: 'a', error: { code: -32603 } })
  expect(await batch.json()).toMatchObject([
    { id: 1, error: { code: -32603 } },
    { id: 2, error: { code: -32601 } },
    { id: null, error: { code: -32600 } },
  ])
  await until(async () => (await post()).status === 200)
})
