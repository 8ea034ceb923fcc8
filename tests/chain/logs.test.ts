import { RpcRequestError, UnknownRpcError } from 'viem'
import { describe, expect, test } from 'vitest'
import { LogsUnreadable, logsNewestFirst } from '../../src/daemon/chain/logs.ts'
import { OutboundFailed } from '../../src/daemon/outbound/errors.ts'

const limit = (message: string) =>
  new RpcRequestError({ body: {}, error: { code: -32005, message }, url: 'http://node' })
/** A node that has one log in every tenth block, and searches as many blocks at once as this. */
const nodeWith = (blocks: bigint) => {
  const asked: [bigint, bigint][] = []
  const read = async (from: bigint, to: bigint) => {
    asked.push([from, to])
    if (to - from + 1n > blocks) throw limit(`query exceeds max block range ${blocks}`)
    const found: bigint[] = []
    for (let block = from; block <= to; block++) if (block % 10n === 0n) found.push(block)
    return found
  }
  return { asked, read, client: { request: (async () => null) as never } }
}

const all = async (logs: AsyncIterable<bigint>) => {
  const found: bigint[] = []
  for await (const log of logs) found.push(log)
  return found
}

describe('logs', () => {
  test.each([1n, 3n, 5n, 10n, 500n, 10_000n])(
    'are read from a node that searches %d blocks at once',
    async (blocks) => {
      const { client, read, asked } = nodeWith(blocks)
      const found = await all(logsNewestFirst(client, { from: 95n, to: 130n }, read))
      expect(found).toEqual([130n, 120n, 110n, 100n])
      // What the node allows is known from then on.
      const before = asked.length
      await all(logsNewestFirst(client, { from: 130n, to: 134n }, read))
      expect(asked.slice(before).every(([from, to]) => to - from + 1n <= blocks)).toBe(true)
    },
  )

  test('are asked for no longer than they are wanted', async () => {
    const { client, read, asked } = nodeWith(5n)
    for await (const block of logsNewestFirst(client, { from: 0n, to: 1000n }, read)) {
      expect(block).toBe(1000n)
      break
    }
    expect(asked.at(-1)?.[1]).toBe(1000n)
  })

  test('of an answer that is too large or malformed are asked for in smaller pieces', async () => {
    const { client, read } = nodeWith(5n)
    const large = (from: bigint, to: bigint) =>
      read(from, to).catch(() =>
        Promise.reject(new UnknownRpcError(new OutboundFailed('too_large', 'large', true))),
      )
    expect(await all(logsNewestFirst(client, { from: 95n, to: 110n }, large))).toEqual([110n, 100n])
  })

  test('that a node never gives are unreadable, in its words; a lost connection is no limit', async () => {
    const refuse = async () => Promise.reject(limit('eth_getLogs is disabled'))
    const { client } = nodeWith(0n)
    await expect(all(logsNewestFirst(client, { from: 0n, to: 64n }, refuse))).rejects.toEqual(
      new LogsUnreadable('eth_getLogs is disabled'),
    )
    let asked = 0
    const lost = async () => {
      asked += 1
      throw new Error('socket hang up')
    }
    const other = nodeWith(0n).client
    await expect(all(logsNewestFirst(other, { from: 0n, to: 64n }, lost))).rejects.toThrow('hang up')
    expect(asked).toBe(1)
  })
})
