/** Wei per gas, by EIP-1559. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

export interface Market {
  /** Of the latest block. */
  baseFee: bigint
  /** What makes a block's producer take it. */
  tip: bigint
  /** No attempt ever offers more. */
  cap: bigint
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * Twice the base fee keeps a transaction minable for six full blocks, each of which may raise it by an eighth.
 * @returns undefined while the chain asks for more than the cap
 */
export function firstFees({ baseFee, tip, cap }: Market): Fees | undefined {
  if (baseFee + tip > cap) return undefined
  return { maxFeePerGas: smaller(2n * baseFee + tip, cap), maxPriorityFeePerGas: tip }
}

// geth takes a replacement from +10 % on BOTH fees (core/txpool/legacypool, PriceBump), other nodes from 12.5 %
// (Erigon, Nethermind's default is 10). Strictly more also where an eighth rounds to nothing.
const raise = (fee: bigint): bigint => larger((fee * 1125n + 999n) / 1000n, fee + 1n)

/**
 * Fees that replace an attempt with these. @returns undefined where that would be over the cap, or could not be mined
 * under it anyway: each replacement makes the tip dearer for good, so it has to be worth it
 */
export function replacementFees(previous: Fees, market: Market): Fees | undefined {
  const least = { fee: raise(previous.maxFeePerGas), tip: raise(previous.maxPriorityFeePerGas) }
  const now = firstFees(market)
  if (!now || least.fee > market.cap || least.tip > market.cap) return undefined
  const tip = larger(least.tip, now.maxPriorityFeePerGas)
  const fee = larger(least.fee, now.maxFeePerGas)
  return { maxFeePerGas: larger(fee, tip), maxPriorityFeePerGas: tip }
}
