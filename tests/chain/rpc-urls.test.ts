import { createPublicClient } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { messageOf } from '../../src/daemon/chain/node-answer.ts'
import { RpcEndpoints } from '../../src/daemon/chain/rpc-transport.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { type LimitedNode, openLimitedNode } from '../support/limited-node.ts'

let one: LimitedNode
let two: LimitedNode
let clock: TestClock
let endpoints: RpcEndpoints
/** Ends what waits for a second opinion. */
let patience: Set<() => void>
beforeEach(async () => {
  one = await openLimitedNode()
  two = await openLimitedNode()
  clock = testClock()
  patience = new Set()
  const schedule = (job: () => void) => {
    patience.add(job)
    return () => patience.delete(job)
  }
  endpoints = new RpcEndpoints([one.url, two.url], { clock, schedule, chainId: 1, timeoutMs: 60_000 })
})
afterEach(async () => {
  await one.close()
  await two.close()
})

const ask = (method: string, ...params: unknown[]): Promise<unknown> =>
  createPublicClient({ transport: endpoints.transport }).request({ method, params } as never)
const words = (asked: Promise<unknown>): Promise<string> =>
  asked.then((value) => expect.fail(`it has an answer: ${JSON.stringify(value)}`), messageOf)
const read = () => ask('eth_getBalance', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'latest')
const send = () => ask('eth_sendRawTransaction', '0x02')
const reads = () => [one.count('eth_getBalance'), two.count('eth_getBalance')]
const health = () => endpoints.health()
/** What the checks of five seconds each notice. */
const check = async (seconds = 0) => {
  clock.advance(`${seconds}s`)
  await endpoints.checkHeads()
}

describe('what is read', () => {
  test('is asked of the first URL, by the next where it fails, and of the first again after a minute', async () => {
    await read()
    expect(reads()).toEqual([1, 0])
    one.isDown = true
    expect(await read()).toBe('0x1')
    expect(await read()).toBe('0x1')
    expect(reads()[1]).toBe(2)
    expect(health()).toMatchObject([
      { url: one.name, isWell: false, lastError: expect.stringContaining('could not be reached') },
      { url: two.name, isWell: true },
    ])
    expect(JSON.stringify(health())).not.toContain('secret-key')
    one.isDown = false
    await check(5)
    expect(health()[0]).toMatchObject({ isWell: true, lastError: undefined })
    await read()
    expect(reads()[1]).toBe(3)
    await check(60)
    await read()
    expect(reads()[1]).toBe(3)
  })

  test.each([
    ['limits requests', () => Object.assign(one, { tooMany: '20' })],
    ['lacks a method', () => Object.assign(one, { own: lacking(-32601, 'the method does not exist') })],
    ['has a method switched off', () => Object.assign(one, { own: lacking(-32000, 'Method not supported') })],
    ['answers in another form', () => Object.assign(one, { own: () => ({ result: { no: 'balance' } }) })],
  ])('is asked of the next where one %s', async (_what, misbehave) => {
    await endpoints.checkHeads()
    misbehave()
    expect(await read()).toBe('0x1')
    await read()
    expect(reads()[1]).toBe(2)
  })
  const lacking = (code: number, message: string) => (call: { method: string }) =>
    call.method === 'eth_getBalance' ? { error: { code, message } } : undefined

  test('and refused properly is asked of nobody else', async () => {
    one.own = lacking(3, 'execution reverted')
    expect(await words(read())).toBe('execution reverted')
    one.own = lacking(-32000, 'nonce too low')
    expect(await words(read())).toBe('nonce too low')
    one.own = lacking(3, 'execution reverted: method not available')
    expect(await words(read())).toBe('execution reverted: method not available')
    expect(reads()).toEqual([3, 0])
  })

  test.each([
    [3, 'execution reverted: rate limit exceeded', '0x08c379a0'],
    [-32000, 'execution reverted: quota, or too many requests', undefined],
    [-32015, 'VM execution error.', 'Reverted 0x08c379a0'],
    [-32000, 'execution reverted: unsupported method, unknown block', undefined],
  ])('and refused by a contract tells nothing about the node: %i %s', async (code, message, data) => {
    await endpoints.checkHeads()
    one.own = ({ method }) => (method === 'eth_getBalance' ? { error: { code, message, data } } : undefined)
    for (let round = 0; round < 3; round++)
      expect(await Promise.all([words(read()), words(read())])).toEqual([message, message])
    expect(health()[0]).toMatchObject({ isWell: true, limitedUntil: undefined, batch: undefined })
    expect(reads()[1]).toBe(0)
  })

  test('of a block that a node should have is asked of another', async () => {
    await endpoints.checkHeads()
    const at = (block: number) => ask('eth_getTransactionCount', '0x', `0x${block.toString(16)}`)
    one.own = ({ method }) =>
      method === 'eth_getTransactionCount'
        ? { error: { code: -32000, message: 'header not found' } }
        : undefined
    expect(await at(100)).toBe('0x1')
    expect(await words(at(101))).toBe('header not found')
    one.own = ({ method }) => (method === 'eth_getBlockByNumber' ? { result: null } : undefined)
    two.own = one.own
    expect(await ask('eth_getBlockByNumber', '0x64', false)).toBeNull()
    expect([one, two].map((node) => node.count('eth_getBlockByNumber'))).toEqual([1, 1])
  })

  test('is refused in the words of the first if all fail', async () => {
    await one.close()
    await two.close()
    expect(await words(read())).toContain(`http://${one.name} could not be reached`)
    Object.assign(one, await openLimitedNode())
  })
})

describe('a URL whose latest block is behind', () => {
  test('is read from no more after ten seconds, is named, and comes back', async () => {
    two.head = 104
    await check()
    expect(health()).toMatchObject([
      { isWell: true, behind: 4, head: 100 },
      { isWell: true, behind: 0 },
    ])
    await check(5)
    await read()
    expect(reads()).toEqual([1, 0])
    await check(5)
    expect(health()).toMatchObject([{ isWell: false, behind: 4 }, { isWell: true }])
    await read()
    expect(reads()).toEqual([1, 1])
    // If the other one fails, it is better than nothing.
    two.isDown = true
    expect(await read()).toBe('0x1')
    two.isDown = false
    one.head = 104
    await check(5)
    expect(health()).toMatchObject([{ isWell: true, behind: 0 }, { isWell: true }])
  })

  test('is noticed, too, if nobody answered at first', async () => {
    one.isDown = two.isDown = true
    await check()
    one.isDown = two.isDown = false
    two.head = 110
    for (let round = 0; round < 3; round++) await check(5)
    expect(health()).toMatchObject([{ isWell: false, behind: 10 }, { isWell: true }])
  })

  test('by a second of a fast chain, or three blocks, is well', async () => {
    for (let round = 0; round < 5; round++) {
      one.head += 20
      two.head = one.head + 4
      await check(5)
    }
    expect(health()).toMatchObject([{ isWell: true, behind: 4 }, { isWell: true }])
    for (let round = 0; round < 5; round++) {
      one.head = two.head - 3
      await check(5)
    }
    expect(health()).toMatchObject([{ isWell: true, behind: 3 }, { isWell: true }])
  })
})

describe('a transaction', () => {
  const hash = `0x${'11'.repeat(32)}`
  const refusing = (message: string) => (call: { method: string }) =>
    call.method === 'eth_sendRawTransaction' ? { error: { code: -32000, message } } : undefined
  const sends = () => [one, two].map((node) => node.count('eth_sendRawTransaction'))

  test('is sent to all, and taken if any takes it', async () => {
    expect(await send()).toBe(hash)
    expect(sends()).toEqual([1, 1])
    one.own = refusing('replacement transaction underpriced')
    expect(await send()).toBe(hash)
    two.own = refusing('already known')
    expect(await words(send())).toBe('already known')
  })

  test('that one has taken does not wait for another one', async () => {
    await endpoints.checkHeads()
    one.isSilent = true
    expect(await send()).toBe(hash)
    expect(patience.size).toBe(0)
  })

  test('that one refused waits for another one for a second, no longer', async () => {
    await endpoints.checkHeads()
    two.isSilent = true
    one.own = refusing('insufficient funds for gas')
    const sent = words(send())
    await expect.poll(() => patience.size).toBe(1)
    for (const job of patience) job()
    expect(await sent).toBe('insufficient funds for gas')
    expect(health()[1]?.isWell).toBe(true)
  })

  test.each([
    ['the pool is overflowing', 'nonce too low'],
    ['nonce too high', 'insufficient funds for gas'],
    ['insufficient funds for gas', 'nonce too low'],
  ])('(refused: %s) is refused in the words that tell most: %s', async (vague, telling) => {
    one.own = refusing(vague)
    two.own = refusing(telling)
    expect(await words(send())).toBe(telling)
  })
})

describe('a URL that leads to another chain', () => {
  const chainId = () => ask('eth_chainId')

  test('is asked for nothing, and named', async () => {
    one.chainId = 5
    expect(await chainId()).toBe('0x1')
    await read()
    await send()
    expect(one.requests.flat().filter((method) => method !== 'eth_chainId')).toEqual([])
    expect(health()).toMatchObject([
      { isWell: false, lastError: `${one.name} answers for chain 5` },
      { isWell: true },
    ])
    one.chainId = 1
    await check(5)
    expect(health()).toMatchObject([{ isWell: true, lastError: undefined }, { isWell: true }])
  })

  test('since a while, is noticed when it is asked for it', async () => {
    await read()
    one.chainId = 5
    expect(await chainId()).toBe('0x1')
    expect(health()[0]).toMatchObject({ isWell: false, lastError: `${one.name} answers for chain 5` })
    await read()
    expect(reads()).toEqual([1, 1])
  })

  test.each([{ result: 'base' }, { error: { code: -32601, message: 'no such method' } }])(
    'or does not say to which (%j), is asked for nothing else',
    async (answer) => {
      one.own = two.own = ({ method }) => (method === 'eth_chainId' ? answer : undefined)
      expect(await words(read())).toMatch(/^127\.0\.0\.1:\d+ was asked for its chain \(eth_chainId\): /)
      expect(reads()).toEqual([0, 0])
    },
  )

  test('is the answer only if none may be right', async () => {
    Object.assign(one, { chainId: 5 })
    two.isDown = true
    expect(await words(chainId())).toContain('could not be reached')
    Object.assign(two, { isDown: false, chainId: 7 })
    await check(5)
    expect(await chainId()).toBe('0x5')
    expect(await words(read())).toBe(`${one.name} answers for chain 5`)
  })
})

test('two URLs at one host have two names', async () => {
  const urls = [`${one.url}`, `http://user:pw@${one.name}/other`, 'https://rpc.example/key']
  const names = new RpcEndpoints(urls).health().map(({ url }) => url)
  expect(names).toEqual([one.name, `${one.name}#2`, 'rpc.example:443'])
})
