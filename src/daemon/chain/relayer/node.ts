import {
  type Address,
  BaseError,
  FeeCapTooLowError,
  type Hex,
  hexToBigInt,
  hexToNumber,
  InsufficientFundsError,
  IntrinsicGasTooHighError,
  IntrinsicGasTooLowError,
  isAddressEqual,
  NonceTooLowError,
  numberToHex,
  RpcRequestError,
  TipAboveFeeCapError,
  TransactionTypeNotSupportedError,
  type Transport,
} from 'viem'
import { getNodeError } from 'viem/utils'
import { plainText } from '../../outbound/foreign-text.ts'
import { type ChainClient, createChainClient } from '../chain-client.ts'
import { revertOf } from '../revert.ts'

export interface Head {
  number: number
  hash: Hex
  baseFee: bigint
}

export interface Inclusion {
  hash: Hex
  blockHash: Hex
  blockNumber: number
  succeeded: boolean
}

// First anvil's wording, then that of geth and its forks.
const stateIsGone = /BlockOutOfRange|missing trie node|historical state|state .*not available|pruned/i

export type Rerun = { passes: true } | { passes: false; reason: string; data: Hex | undefined }

/** The relayer's calls to a node. Their answers are read raw; builders use the typed client. */
export class Node {
  readonly client: ChainClient
  constructor(transport: Transport) {
    this.client = createChainClient({ transport, cacheTime: 0, ccipRead: false })
  }

  async chainId(): Promise<number> {
    return hexToNumber(await this.client.request({ method: 'eth_chainId' }))
  }

  async head(): Promise<Head> {
    const block = await this.client.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
    if (!block?.number || !block.hash) throw new Error('The node returned no latest block')
    return {
      number: hexToNumber(block.number),
      hash: block.hash,
      baseFee: hexToBigInt(block.baseFeePerGas ?? '0x0'),
    }
  }

  /** undefined if there is no such block (any more). */
  async blockHash(number: number): Promise<Hex | undefined> {
    const block = await this.client.request({
      method: 'eth_getBlockByNumber',
      params: [numberToHex(number), false],
    })
    return block?.hash ?? undefined
  }

  async nonce(address: Address, block: 'latest' | number): Promise<number> {
    const at = block === 'latest' ? block : numberToHex(block)
    return hexToNumber(
      await this.client.request({ method: 'eth_getTransactionCount', params: [address, at] }),
    )
  }

  async balance(address: Address): Promise<bigint> {
    return hexToBigInt(await this.client.request({ method: 'eth_getBalance', params: [address, 'latest'] }))
  }

  async inclusion(hash: Hex): Promise<Inclusion | undefined> {
    const receipt = await this.client.request({ method: 'eth_getTransactionReceipt', params: [hash] })
    if (!receipt?.blockHash) return undefined
    return {
      hash,
      blockHash: receipt.blockHash,
      blockNumber: hexToNumber(receipt.blockNumber),
      succeeded: receipt.status === '0x1',
    }
  }

  async transactionWith(block: number, from: Address, nonce: number): Promise<Hex | undefined> {
    const params = [numberToHex(block), true] as const
    const found = await this.client.request({ method: 'eth_getBlockByNumber', params: [...params] })
    for (const transaction of found?.transactions ?? []) {
      if (typeof transaction === 'string' || !isAddressEqual(transaction.from, from)) continue
      if (hexToNumber(transaction.nonce) === nonce) return transaction.hash
    }
    return undefined
  }

  async tip(): Promise<bigint> {
    return hexToBigInt(await this.client.request({ method: 'eth_maxPriorityFeePerGas' }))
  }

  async send(raw: Hex): Promise<{ outcome: SendOutcome; words: string | null }> {
    try {
      await this.client.request({ method: 'eth_sendRawTransaction', params: [raw] })
      return { outcome: 'taken', words: null }
    } catch (error) {
      return { outcome: outcomeOf(error), words: wordsOf(error) }
    }
  }

  /** The gas that a call uses. @returns a reason if the call reverts */
  async estimate(call: {
    from: Address
    to: Address | null
    data: Hex
  }): Promise<bigint | { reason: string }> {
    const { from, to, data } = call
    try {
      const params = { from, data, ...(to === null ? {} : { to }) }
      return hexToBigInt(await this.client.request({ method: 'eth_estimateGas', params: [params] }))
    } catch (error) {
      const revert = revertOf(error)
      if (revert) return { reason: revert.reason }
      throw error
    }
  }

  /** Runs a mined call again on top of its block, or of the latest one if the node no longer has that state. */
  async rerun(
    call: { from: Address; to: Address | null; data: Hex; gas: number },
    block: number | 'latest',
  ): Promise<Rerun> {
    const { from, to, data, gas } = call
    const params = { from, data, gas: numberToHex(gas), ...(to === null ? {} : { to }) }
    const at = block === 'latest' ? block : numberToHex(block)
    try {
      await this.client.request({ method: 'eth_call', params: [params, at] })
      return { passes: true }
    } catch (error) {
      const revert = revertOf(error)
      if (revert) return { passes: false, ...revert }
      if (block !== 'latest' && stateIsGone.test(wordsOf(error))) return this.rerun(call, 'latest')
      throw error
    }
  }
}

/** The meaning of a node's answer to eth_sendRawTransaction. */
export type SendOutcome =
  /** The node has it, now or already. */
  | 'taken'
  /** Used by one of our attempts or by something else. */
  | 'nonce-used'
  /** The node has another transaction with this nonce, or requires a higher fee. */
  | 'underpriced'
  | 'below-base-fee'
  | 'no-funds'
  | 'impossible'
  /** No information: a timeout, a full pool, a rate limit. The node may have it. */
  | 'unknown'

// JSON-RPC has no codes for these: geth answers -32000 to all, anvil -32003, so the message must decide. viem
// knows most, but mistakes the first two for a nonce that is too low, which is the opposite.
const alreadyThere = /already known|transaction already imported|known transaction/i
const underpriced =
  /replacement transaction underpriced|transaction underpriced|tip too low|gas price too low/i
// geth: core/txpool/errors.go, core/error.go
const neverTaken =
  /exceeds block gas limit|oversized data|max initcode size exceeded|invalid chain id for signer|invalid sender|gas limit too high|exceeds the configured cap/i

/** The node's own message, without viem's. */
export function wordsOf(error: unknown): string {
  if (error instanceof BaseError) return plainText(error.details || error.shortMessage)
  return plainText(error instanceof Error ? error.message : String(error))
}

export function outcomeOf(error: unknown): SendOutcome {
  // Only a JSON-RPC error is the node's answer; anything else happened on the way.
  const answer = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null
  if (!(error instanceof BaseError) || !(answer instanceof RpcRequestError)) return 'unknown'
  const words = answer.details
  if (alreadyThere.test(words)) return 'taken'
  if (underpriced.test(words)) return 'underpriced'
  if (neverTaken.test(words)) return 'impossible'
  const known = getNodeError(answer, {})
  if (known instanceof NonceTooLowError) return 'nonce-used'
  if (known instanceof FeeCapTooLowError) return 'below-base-fee'
  if (known instanceof InsufficientFundsError) return 'no-funds'
  const never = [
    IntrinsicGasTooHighError,
    IntrinsicGasTooLowError,
    TransactionTypeNotSupportedError,
    TipAboveFeeCapError,
  ]
  return never.some((kind) => known instanceof kind) ? 'impossible' : 'unknown'
}
