/** In wei per gas (EIP-1559). */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

export interface Market {
  /** undefined: the chain has no EIP-1559. Then `tip` is the whole price. */
  baseFee: bigint | undefined
  /** The block producer's share. */
  tip: bigint
  maxTip: bigint
  cap: bigint
}

export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
export const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * Twice the base fee keeps a transaction minable for six full blocks, each of which may raise it by an eighth.
 * @returns undefined while the chain's fees exceed the caps
 */
export function firstFees({ baseFee = 0n, tip, maxTip, cap }: Market): Fees | undefined {
  if (baseFee + tip > cap || tip > maxTip) return undefined
  return { maxFeePerGas: smaller(2n * baseFee + tip, cap), maxPriorityFeePerGas: tip }
}

// geth requires +10 % on BOTH fees for a replacement (core/txpool/legacypool, PriceBump), other nodes 12.5 %
// (Erigon; Nethermind's default is 10). Always at least 1 wei more, even if an eighth rounds to nothing.
const raise = (fee: bigint): bigint => larger((fee * 1125n + 999n) / 1000n, fee + 1n)

/**
 * Fees for replacing an attempt.
 * @returns undefined if they would exceed the cap, or could not be mined anyway: each replacement raises the
 * tip for good, so it has to be worth it
 */
export function replacementFees(previous: Fees, market: Market): Fees | undefined {
  const min = { fee: raise(previous.maxFeePerGas), tip: raise(previous.maxPriorityFeePerGas) }
  const now = firstFees(market)
  if (!now || min.fee > market.cap || min.tip > market.maxTip) return undefined
  const tip = larger(min.tip, now.maxPriorityFeePerGas)
  const fee = larger(min.fee, now.maxFeePerGas)
  return { maxFeePerGas: larger(fee, tip), maxPriorityFeePerGas: tip }
}
