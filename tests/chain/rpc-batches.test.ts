import { createPublicClient } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { messageOf } from '../../src/daemon/chain/node-answer.ts'
import { RpcEndpoints } from '../../src/daemon/chain/rpc-transport.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { openHostileNode } from '../support/hostile-node.ts'
import { batchRefusals, type LimitedNode, openLimitedNode } from '../support/limited-node.ts'

let node: LimitedNode
let clock: TestClock
let endpoints: RpcEndpoints
/** What waits for a short rest to end. */
let waits: (() => void)[]
beforeEach(async () => {
  node = await openLimitedNode()
  clock = testClock()
  waits = []
  const schedule = (job: () => void) => {
    waits.push(job)
    return () => undefined
  }
  endpoints = new RpcEndpoints([node.url], { clock, schedule, timeoutMs: 60_000 })
})
afterEach(() => node.close())

const address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const ask = (count: number, method = 'eth_getBalance') => {
  const client = createPublicClient({ transport: endpoints.transport })
  return Promise.allSettled(
    Array.from({ length: count }, () => client.request({ method, params: [address, 'latest'] } as never)),
  )
}
/** Lets a second pass for what waits for it. */
const endRest = async () => {
  await expect.poll(() => waits.length).toBe(1)
  clock.advance('1s')
  for (const end of waits.splice(0)) end()
}
const largest = () => Math.max(...node.requests.map((methods) => methods.length))
const expectAll = (answers: PromiseSettledResult<unknown>[]) =>
  expect(
    answers.map((answer) => (answer.status === 'rejected' ? messageOf(answer.reason) : answer.value)),
  ).toEqual(answers.map(() => '0x1'))

describe.each(Object.entries(batchRefusals))('a node that refuses large batches with %s', (_name, refuse) => {
  test.each([
    [10, 10],
    [3, 3],
    [0, 1],
  ])('of more than %i gets smaller ones, and each call has its own answer', async (maxBatch, learnt) => {
    Object.assign(node, { maxBatch, refuse })
    expectAll(await ask(64))
    expectAll(await ask(64))
    node.requests.length = 0
    node.refused = 0
    expectAll(await ask(64))
    expect([endpoints.health()[0]?.batch, largest(), node.refused]).toEqual([learnt, learnt, 0])
    // Ten minutes later, the node may be another one.
    clock.advance('11m')
    node.maxBatch = 1000
    for (let round = 0; round < 9; round++) {
      expectAll(await ask(100))
      clock.advance('11m')
    }
    expect(endpoints.health()[0]?.batch).toBeUndefined()
  })
})

test('a node that never answers a batch gets single calls, once it has answered one', async () => {
  Object.assign(node, { maxBatch: 0, refuse: () => undefined })
  endpoints = new RpcEndpoints([node.url], { clock, timeoutMs: 500 })
  await expect
    .poll(async () => (await ask(5)).map(({ status }) => status), { timeout: 20_000 })
    .toEqual(Array.from({ length: 5 }, () => 'fulfilled'))
  expect(endpoints.health()[0]?.batch).toBe(1)
})

test('a gateway that fails now and then is asked again at once', async () => {
  const gateway = await openHostileNode(node.url)
  endpoints = new RpcEndpoints([gateway.url], { clock, timeoutMs: 60_000 })
  let requests = 0
  gateway.misbehave = () =>
    requests++ % 2 === 0 ? { text: '<html>Bad Gateway</html>', status: 502 } : undefined
  for (let call = 0; call < 3; call++) expectAll(await ask(1))
  expect(requests).toBe(6)
  gateway.misbehave = () => ({ text: '', status: 502 })
  expect(await ask(1)).toMatchObject([{ status: 'rejected' }])
  await gateway.close()
})

describe('a batch keeps its size', () => {
  test('where each call is refused for a reason of its own, which happens to be the same', async () => {
    node.own = () => ({ error: { code: -32000, message: 'nonce too low' } })
    for (const answer of await ask(30))
      expect(answer).toMatchObject({ status: 'rejected', reason: { details: 'nonce too low' } })
    node.own = () => ({ error: { code: 3, message: 'execution reverted' } })
    node.requests.length = 0
    await ask(30)
    expect(node.requests.map(({ length }) => length)).toEqual([30])
    expect(endpoints.health()[0]?.batch).toBeUndefined()
  })

  test('where the node is at fault, which is asked for one call more', async () => {
    node.refuse = (response) => response.writeHead(502).end('<html></html>')
    Object.assign(node, { maxBatch: 0, own: () => ({ result: {} }) })
    node.own = undefined
    await node.close()
    const answers = await ask(30)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(endpoints.health()).toMatchObject([
      { isWell: false, batch: undefined, lastError: expect.stringContaining('ECONNREFUSED') },
    ])
  })
})

describe('a node that limits requests', () => {
  test.each([
    ['30', 30],
    [new Date(Date.parse('2026-06-01T12:00:20Z')).toUTCString(), 20],
    ['86400', 60],
  ])('(Retry-After: %s) is left alone for as long, within a minute, and named', async (header, seconds) => {
    node.tooMany = header
    await ask(30)
    expect(node.requests.length).toBe(1)
    const words = `${node.name} limits requests (HTTP 429); again in ${seconds} s`
    for (const answer of await ask(3)) expect(messageOf(Object(answer).reason)).toBe(words)
    expect(node.requests.length).toBe(1)
    const until = clock.now() + seconds * 1000
    expect(endpoints.health()).toMatchObject([{ isWell: false, limitedUntil: until, lastError: words }])
    node.tooMany = undefined
    clock.advance(`${seconds}s`)
    node.requests.length = 0
    expectAll(await ask(30))
    // The first one alone: it may be too early.
    expect(node.requests.map(({ length }) => length)).toEqual([1, 29])
    expect(endpoints.health()).toMatchObject([
      { isWell: true, limitedUntil: undefined, lastError: undefined },
    ])
  })

  test('without saying for how long is left alone for longer each time, up to eight seconds', async () => {
    node.own = () => ({ error: { code: -32005, message: 'daily request count exceeded' } })
    const first = ask(1)
    await endRest()
    for (const seconds of [2, 4, 8, 8]) {
      const [answer] = seconds === 2 ? await first : await ask(1)
      expect(messageOf(Object(answer).reason)).toBe(
        `${node.name} limits requests (daily request count exceeded); again in ${seconds} s`,
      )
      clock.advance('60s')
    }
    node.own = undefined
    expectAll(await ask(1))
    node.own = () => ({ error: { code: -32005, message: 'query returned more than 10000 results' } })
    await ask(1, 'eth_getLogs')
    expect(endpoints.health()).toMatchObject([{ isWell: true }])
  })

  test('for a second is waited for', async () => {
    node.tooMany = '1'
    const asked = ask(30)
    await expect.poll(() => waits.length).toBe(1)
    const later = ask(30)
    node.tooMany = undefined
    await endRest()
    expectAll([...(await asked), ...(await later)])
    // One refused, one alone, and the rest together.
    expect(node.requests.map(({ length }) => length)).toEqual([30, 1, 59])
  })

  test('by the calls of a second gets as many as it takes, and no answer is lost', async () => {
    let left = 20
    node.refuse = (response) => response.writeHead(429, { 'retry-after': '1' }).end()
    node.admit = (count) => {
      left -= count
      return left >= 0
    }
    const asked = ask(100)
    let isDone = false
    void asked.then(() => {
      isDone = true
    })
    const seconds = async () => {
      for (const end of waits.splice(0)) {
        clock.advance('1s')
        left = 20
        end()
      }
      return isDone
    }
    await expect.poll(seconds).toBe(true)
    const done = (await asked).filter(({ status }) => status === 'fulfilled').length
    expect(done).toBeGreaterThan(20)
    expect(endpoints.health()[0]?.batch).toBeLessThanOrEqual(20)
  })

  test('where a batch counts as many requests gets smaller ones after its rest', async () => {
    node.maxBatch = 5
    node.refuse = (response) => response.writeHead(429, { 'retry-after': '2' }).end()
    await ask(30)
    expect(node.requests.length).toBe(1)
    clock.advance('2s')
    expectAll(await ask(30))
    expect(endpoints.health()[0]?.batch).toBeLessThanOrEqual(5)
  })
})
