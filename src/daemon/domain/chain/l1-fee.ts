import { concatHex, encodeFunctionData, type Hex, keccak256, parseAbi, serializeTransaction } from 'viem'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chain } from '../../chain/chains.ts'
import { hasCode } from '../../chain/contract-state.ts'
import { ttlCached } from './read-chain.ts'

// Chains of the OP stack charge an L1 fee besides gas, and their nodes require the relayer to have enough for
// both. https://docs.optimism.io/stack/transactions/fees
const oracle = '0x420000000000000000000000000000000000000F'
const oracleAbi = parseAbi(['function getL1Fee(bytes) view returns (uint256)'])
const oracleMs = 60_000
const priceMs = 1000

/**
 * A sample transfer as the relayer sends it; the fee depends on its compressed size, and signatures do not compress.
 */
export function claimSample(): Hex {
  const [one, other, person] = [keccak256('0x01'), keccak256('0x02'), keccak256('0x03')]
  return encodeFunctionData({
    abi: phygitalAbi,
    functionName: 'claimNFT',
    args: [concatHex([one, other, '0x1b']), 0x1000000n, `0x${person.slice(-40)}`, 1000n],
  })
}

/**
 * Returns the L1 fee of one transaction, in wei.
 * @param data its call data @returns 0 on chains without such a fee; undefined if it cannot be read now
 */
export async function l1FeeOf(chain: Chain, data: Hex): Promise<bigint | undefined> {
  try {
    const exists = await ttlCached(chain, 'L1 fee oracle', oracleMs, () => hasCode(chain.client, oracle))
    if (!exists) return 0n
    return await ttlCached(chain, `L1 fee ${data.length}`, priceMs, () =>
      chain.client.readContract({
        abi: oracleAbi,
        address: oracle,
        functionName: 'getL1Fee',
        args: [serialized(chain, data)],
      }),
    )
  } catch {
    return undefined
  }
}

/** Unsigned: the oracle adds the signature itself. Each number has as many bytes as in real transactions. */
const serialized = (chain: Chain, data: Hex): Hex =>
  serializeTransaction({
    type: 'eip1559',
    chainId: chain.id,
    nonce: 10_000,
    maxFeePerGas: 5_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    gas: 200_000n,
    to: `0x${keccak256('0x04').slice(-40)}`,
    data,
  })
