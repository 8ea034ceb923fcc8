import { RpcRequestError, toHex, UnknownRpcError } from 'viem'
import { describe, expect, test } from 'vitest'
import { FeeMarket, firstFees } from '../../src/daemon/chain/relayer/fees.ts'
import { MalformedAnswer } from '../../src/daemon/chain/rpc-connection.ts'

const gwei = 1_000_000_000n
const cap = 1_000n * gwei
const missing = (method: string) =>
  new RpcRequestError({
    body: { method },
    error: { code: -32601, message: `the method ${method} does not exist/is not available` },
    url: 'http://node',
  })

/** A node that answers what it is given here, and lacks all other methods. */
function marketOf(
  answers: Record<string, unknown>,
  settings: ConstructorParameters<typeof FeeMarket>[1] = {},
) {
  const asked: string[] = []
  let now = 0
  const request = async ({ method }: { method: string }) => {
    asked.push(method)
    if (!(method in answers)) throw missing(method)
    return answers[method]
  }
  const market = new FeeMarket({ request: request as never }, settings, () => now)
  let heads = 0
  const at = async (baseFee: bigint | undefined, hash = `block ${++heads}`) =>
    market.at({ hash, baseFee }, cap)
  return { market, asked, at, advance: (ms: number) => (now += ms) }
}

const history = (...tips: (bigint | undefined)[]) => ({
  gasUsedRatio: tips.map((tip) => (tip === undefined ? 0 : 0.5)),
  reward: tips.map((tip) => [toHex(tip ?? 0n)]),
})

describe('the tip', () => {
  test('is what the node suggests, asked once for each block', async () => {
    const { at, asked } = marketOf({ eth_maxPriorityFeePerGas: toHex(gwei) })
    expect((await at(30n * gwei, 'one')).tip).toBe(gwei)
    expect((await at(30n * gwei, 'one')).tip).toBe(gwei)
    expect(asked).toEqual(['eth_maxPriorityFeePerGas'])
    await at(30n * gwei, 'two')
    expect(asked.length).toBe(2)
  })

  test('that is silly is bounded by what others pay', async () => {
    const silly = { eth_maxPriorityFeePerGas: toHex(150n * gwei) }
    const paid = marketOf({ ...silly, eth_feeHistory: history(gwei, undefined, 3n * gwei, 2n * gwei) })
    expect((await paid.at(7n)).tip).toBe(3n * gwei)
    // Nobody has paid anything, and the node may not even say so.
    expect((await marketOf({ ...silly, eth_feeHistory: history(undefined) }).at(7n)).tip).toBe(gwei)
    expect((await marketOf(silly).at(7n)).tip).toBe(gwei)
    // At such a base fee it is no longer silly.
    expect((await marketOf(silly).at(200n * gwei)).tip).toBe(150n * gwei)
  })

  test('without a method for it comes from the history, and then from the gas price', async () => {
    const { at, asked } = marketOf({ eth_feeHistory: history(2n * gwei, 4n * gwei, 9n * gwei) })
    expect((await at(gwei)).tip).toBe(4n * gwei)
    await at(gwei)
    // It is not asked again for what it lacks.
    expect(asked.filter((method) => method === 'eth_maxPriorityFeePerGas').length).toBe(1)
    expect((await marketOf({ eth_gasPrice: toHex(12n * gwei) }).at(10n * gwei)).tip).toBe(2n * gwei)
    expect((await marketOf({ eth_gasPrice: toHex(gwei) }).at(10n * gwei)).tip).toBe(0n)
    await expect(marketOf({}).at(gwei)).rejects.toThrow(/no tip, no fee history, and no gas price/)
  })

  test('has bounds that can be set, and the lower one counts where both cannot', async () => {
    const said = { eth_maxPriorityFeePerGas: toHex(2n * gwei) }
    expect((await marketOf(said, { minTip: 30n * gwei }).at(gwei)).tip).toBe(30n * gwei)
    expect((await marketOf(said, { maxTip: gwei }).at(gwei)).tip).toBe(gwei)
  })

  test('that a node names is remembered for an hour, and waits where it is above the bound', async () => {
    const { market, at, advance } = marketOf(
      { eth_maxPriorityFeePerGas: toHex(gwei) },
      { maxTip: 40n * gwei },
    )
    market.onRefused(gwei, 25n * gwei)
    market.onRefused(gwei, 20n * gwei)
    expect((await at(gwei)).tip).toBe(25n * gwei)
    market.onRefused(gwei, 50n * gwei)
    expect(firstFees(await at(gwei))).toBeUndefined()
    advance(3_600_000)
    expect(firstFees(await at(gwei))).toMatchObject({ maxPriorityFeePerGas: gwei })
  })

  test('that a node does not name is found in steps, which end where a full pool would make them dear', async () => {
    const { market, at, advance } = marketOf({ eth_maxPriorityFeePerGas: toHex(gwei) })
    const refuse = async () => market.onRefused((await at(gwei)).tip, undefined)
    await refuse()
    expect((await at(gwei)).tip).toBe((gwei * 3n) / 2n + 1n)
    for (let more = 0; more < 20; more++) await refuse()
    expect((await at(gwei)).tip).toBe(50n * gwei)
    advance(600_000)
    expect((await at(gwei)).tip).toBe(gwei)
    // A chain whose coin is worth little asks for more at once.
    const cheap = marketOf({ eth_gasPrice: toHex(5_000n * gwei) })
    const price = async () =>
      (await cheap.market.at({ hash: 'one', baseFee: undefined }, 100_000n * gwei)).tip
    for (let more = 0; more < 20; more++) cheap.market.onRefused(await price(), undefined)
    expect(await price()).toBe(10_000n * gwei)
  })

  test('is asked for again soon where no method told it, and an answer that is no tip is none', async () => {
    const answers: Record<string, unknown> = {}
    const { at } = marketOf(answers)
    await expect(at(gwei)).rejects.toThrow('eth_gasPrice does not exist')
    answers.eth_maxPriorityFeePerGas = toHex(2n * gwei)
    expect((await at(gwei)).tip).toBe(2n * gwei)
    const malformed = async ({ method }: { method: string }) => {
      if (method === 'eth_gasPrice') return toHex(4n * gwei)
      throw new UnknownRpcError(new MalformedAnswer(`the node's answer to ${method} is malformed`))
    }
    const market = new FeeMarket({ request: malformed as never }, {})
    expect((await market.at({ hash: 'one', baseFee: gwei }, cap)).tip).toBe(3n * gwei)
  })
})

test('a chain without EIP-1559 has one price', async () => {
  const { at } = marketOf({ eth_gasPrice: toHex(5n * gwei) }, { maxTip: gwei })
  const fees = { maxFeePerGas: 5n * gwei, maxPriorityFeePerGas: 5n * gwei }
  expect(firstFees(await at(undefined))).toEqual(fees)
})
