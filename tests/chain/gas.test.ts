import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { Gas, withinLimit } from '../../src/daemon/chain/relayer/gas.ts'

const from = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const contract = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const claim = { builder: 'phygital-claim' }
const chain = { chainId: 7, maxGas: 2_000_000 }
/** Two calls of one function, to different recipients. */
const [greedy, usual]: Hex[] = ['0x12345678aa', '0x12345678bb']

function gasWith(estimates: Record<string, number>) {
  const asked: string[] = []
  const estimate = async ({ data }: { data: Hex }) => {
    asked.push(data)
    return BigInt(estimates[data] ?? 21_000)
  }
  const gas = new Gas({ estimate }, from, () => 0)
  return {
    asked,
    limitOf: (data: Hex | undefined) =>
      gas.limitOf({ to: contract, data: data ?? '0x' }, 200_000, chain.maxGas),
  }
}

describe('the gas limit of a claim', () => {
  test('is not what the contract of another recipient takes', async () => {
    const { limitOf } = gasWith({ [String(greedy)]: 1_900_000, [String(usual)]: 90_000 })
    expect(await limitOf(greedy)).toBe(2_280_000)
    expect(await limitOf(usual)).toBe(200_000)
  })

  test('is asked for once for each function where the usual limit is enough', async () => {
    const { limitOf, asked } = gasWith({ [String(greedy)]: 80_000, [String(usual)]: 90_000 })
    expect([await limitOf(usual), await limitOf(greedy), await limitOf(usual)]).toEqual([
      200_000, 200_000, 200_000,
    ])
    expect(asked.filter((data) => data !== '0x')).toEqual([usual])
  })

  test('goes without its margin up to the limit that is set', () => {
    expect(withinLimit({ chain }, claim, 1_900_000)).toBe(1_900_000)
    expect(withinLimit({ chain }, claim, 2_280_000)).toBe(2_000_000)
    expect(withinLimit({ chain }, claim, 2_520_000)).toEqual({
      tooMuch: 'it needs 2,100,000 gas, and TAPCHIP_MAX_GAS_7 allows 2,000,000',
    })
    expect(withinLimit({ chain }, { builder: null }, 2_520_000)).toBe(2_520_000)
  })
})
