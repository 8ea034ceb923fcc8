import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createPublicClient } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { messageOf } from '../../src/daemon/chain/node-answer.ts'
import { defaultTiming } from '../../src/daemon/chain/relayer/relayer.ts'
import { nodeTimeoutMs } from '../../src/daemon/chain/rpc-transport.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { type Fault, openStrictNode, type StrictNode } from '../support/relayer/strict-node.ts'
import { tally, wall } from '../support/relayer.ts'
import { rpcTransport } from '../support/rpc-transport.ts'

// A node that others run can answer in any way at all. A real one stands behind one that does.

const account = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
let anvil: Anvil
let node: StrictNode
beforeAll(async () => {
  anvil = await startAnvil()
  node = await openStrictNode(() => anvil.url)
  for (const { address, code } of [tally, wall])
    await createPublicClient({ transport: rpcTransport(anvil.url) }).request({
      method: 'anvil_setCode' as never,
      params: [address, code] as never,
    })
})
afterAll(async () => {
  await node.close()
  await anvil.kill()
})
afterEach(() => {
  node.fault = undefined
})

const clientWithin = (timeoutMs: number) =>
  createPublicClient({ transport: rpcTransport(node.url, timeoutMs) })
const failure = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    (value) => expect.fail(`it resolved to ${JSON.stringify(value)}`),
    (error: unknown) => messageOf(error),
  )

describe('a node that stalls', () => {
  test.each(['silent', 'half', 'dripping'] as const)(
    '(%s) costs its deadline and one connection, which is closed, and the next call goes through',
    async (fault) => {
      const client = clientWithin(150)
      node.fault = () => fault
      expect(await failure(client.getBlockNumber())).toMatch(/did not answer in full within 150 ms/)
      await expect.poll(() => node.unanswered).toBe(0)
      node.fault = undefined
      expect(await client.getChainId()).toBe(31337)
    },
  )

  test.each([
    ['objects by the million', `[${'{},'.repeat(1_000_000)}{}]`],
    ['numbers by the million', `[${'1,'.repeat(1_000_000)}1]`],
    ['members by the hundred thousand', `{"id":1,${'"a":1,'.repeat(150_000)}"result":"0x1"}`],
    [
      'more answers than were asked for',
      '[{"id":1,"result":"0x1"},{"id":2,"result":"0x1"},{"id":3,"result":"0x1"}]',
    ],
  ])('with %s is not looked at for long, and said nothing', async (_what, text) => {
    const server = createServer((_request, answer) => answer.end(text))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const client = createPublicClient({ transport: rpcTransport(`http://127.0.0.1:${port}`, 20_000) })
      await expect(client.getBlockNumber()).rejects.toThrow(/must not contain|not JSON-RPC/)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test('with an answer that has no end is read up to a limit', async () => {
    const client = clientWithin(60_000)
    node.fault = () => 'endless'
    expect(await failure(client.getBlockNumber())).toMatch(/more than 8388608 bytes/)
    await expect.poll(() => node.unanswered).toBe(0)
  })

  test('is tried again within ten seconds of being well: its deadline and the longest pause', () => {
    expect(nodeTimeoutMs + defaultTiming.maxBackoffMs).toBeLessThan(10_000)
  })
})

test('a node that is well is asked over one connection that stays open', async () => {
  const client = clientWithin(60_000)
  const before = node.connections
  for (let round = 0; round < 12; round++) expect(await client.getChainId()).toBe(31337)
  expect(node.connections - before).toBe(1)
})

describe('an answer that is none', () => {
  const hash = `0x${'11'.repeat(32)}` as const
  const block = { number: '0x1', hash, timestamp: '0x1', transactions: [] }
  type Client = ReturnType<typeof clientWithin>
  const asks: Record<string, (client: Client) => Promise<unknown>> = {
    eth_chainId: (client) => client.getChainId(),
    eth_blockNumber: (client) => client.getBlockNumber(),
    eth_getBalance: (client) => client.getBalance({ address: account }),
    eth_getTransactionCount: (client) => client.getTransactionCount({ address: account }),
    eth_getCode: (client) => client.getCode({ address: account }),
    eth_call: (client) => client.call({ to: tally.address }),
    eth_getBlockByNumber: (client) => client.getBlock({ blockNumber: 1n }),
    eth_getTransactionReceipt: (client) => client.getTransactionReceipt({ hash }),
    eth_getTransactionByHash: (client) => client.getTransaction({ hash }),
    eth_getLogs: (client) => client.getLogs(),
    eth_estimateGas: (client) => client.estimateGas({ to: tally.address, account }),
    eth_maxPriorityFeePerGas: (client) => client.request({ method: 'eth_maxPriorityFeePerGas' }),
    eth_sendRawTransaction: (client) => client.sendRawTransaction({ serializedTransaction: '0x02' }),
  }
  const wrong: [string, unknown][] = [
    ...Object.keys(asks).flatMap((method): [string, unknown][] =>
      [5, true, {}, 'hello', '0xzz', ''].map((result) => [method, result]),
    ),
    ...Object.keys(asks)
      .filter((method) => !/Receipt|ByHash|ByNumber/.test(method))
      .map((method): [string, unknown] => [method, null]),
    ['eth_chainId', '0xffffffffffffffff'],
    ['eth_blockNumber', `0x${'f'.repeat(64)}`],
    ['eth_getBalance', `0x1${'0'.repeat(64)}`],
    ['eth_getTransactionCount', '0x1fffffffffffff'],
    ['eth_estimateGas', '0x1fffffffffffff'],
    ['eth_call', '0x123'],
    ['eth_getLogs', [{}]],
    ['eth_getBlockByNumber', { ...block, number: '0x2' }],
    ['eth_getBlockByNumber', { ...block, hash: '0x' }],
    ['eth_getBlockByNumber', { ...block, timestamp: null }],
    ['eth_getBlockByNumber', { ...block, transactions: [{ nonce: '0x0' }] }],
    ['eth_getBlockByNumber', { ...block, baseFeePerGas: -1 }],
    ['eth_getTransactionReceipt', { transactionHash: hash, blockHash: hash, blockNumber: '0x1' }],
    [
      'eth_getTransactionReceipt',
      { transactionHash: `0x${'22'.repeat(32)}`, blockHash: hash, blockNumber: '0x1', status: '0x1' },
    ],
    ['eth_getTransactionByHash', { hash: `0x${'22'.repeat(32)}`, input: '0x' }],
  ]

  test.each(wrong)('to %s: %j', async (method, result) => {
    node.fault = (asked) => (asked === method ? { result } : undefined)
    expect(await failure(asks[method]?.(clientWithin(60_000)) ?? Promise.resolve())).toMatch(
      /^the node's answer to eth_\w+ is malformed$/,
    )
  })

  test.each<[string, Fault, RegExp]>([
    ['a page', 'html', /not JSON/],
    ['the answer to another call', 'wrong-id', /answered another request/],
  ])('%s', async (_title, fault, why) => {
    node.fault = () => fault
    expect(await failure(clientWithin(60_000).getBlockNumber())).toMatch(why)
  })

  test('is never taken for a token that nobody owns, and a revert of the contract is', async () => {
    const client = clientWithin(60_000)
    // One that was told of a limit would not ask at once.
    const owner = () => ownerOf(clientWithin(60_000), tally.address, 1n)
    const faults: Fault[] = [
      'null',
      'html',
      'wrong-id',
      { result: '0x' },
      { result: '0x01' },
      { result: `0x${'ff'.repeat(32)}` },
      { error: { code: -32603, message: 'Internal error' } },
      { error: { code: -32000, message: 'header not found' } },
      { error: { code: -32005, message: 'limit exceeded' } },
      { error: { code: 3, message: 'try again later' } },
    ]
    for (const fault of faults) {
      node.fault = (method) => (method === 'eth_call' ? fault : undefined)
      await expect(owner(), JSON.stringify(fault)).rejects.toThrow()
    }
    for (const error of [
      { code: 3, message: 'execution reverted', data: '0x7e273289' },
      { code: -32000, message: 'execution reverted' },
    ]) {
      node.fault = (method) => (method === 'eth_call' ? { error } : undefined)
      expect(await owner()).toBeUndefined()
    }
    node.fault = undefined
    expect(await ownerOf(client, wall.address, 1n)).toBeUndefined()
    // No contract is there, which is known of this one alone.
    expect(await ownerOf(client, account, 1n)).toBeUndefined()
    await expect(ownerOf(client, account, 1n, { isDeployed: true })).rejects.toThrow(/is not an address/)
  })
})

test.each([401, 429, 200, 500])('a node that quotes its URL shows no key of it: HTTP %i', async (status) => {
  const secrets = ['s3cret-key', 'p4ssw0rd', 'other-key-1']
  const message = `not for /v2/s3cret-key?key=other-key-1 of p4ssw0rd`
  const server = createServer((_request, response) =>
    response.writeHead(status).end(JSON.stringify({ id: 1, error: { code: -32000, message } })),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://user:p4ssw0rd@127.0.0.1:${port}/v2/s3cret-key?key=other-key-1`
  const client = createPublicClient({ transport: rpcTransport(url) })
  for (const asked of [client.getChainId(), Promise.all([client.getBlockNumber(), client.getChainId()])]) {
    const error: Error = await asked.then(
      () => expect.fail('it has an answer'),
      (thrown: Error) => thrown,
    )
    for (const secret of secrets) expect(`${error.stack}${JSON.stringify(error)}`).not.toContain(secret)
    expect(messageOf(error)).toContain('not for /v2/…')
  }
  server.close()
})

test("a node's words are kept as a line", async () => {
  node.fault = () => ({
    error: { code: -32000, message: `no\n${'x'.repeat(900_000)}`, data: '0'.repeat(900_000) },
  })
  const client = clientWithin(60_000)
  const error = await client.getBlockNumber().then(
    () => expect.fail('it has an answer'),
    (error: Error) => error,
  )
  expect(messageOf(error)).toMatch(/^no x{297}…$/)
  expect(JSON.stringify([error.message, error.stack, error]).length).toBeLessThan(8000)
})
