import {
  type Address,
  type Hex,
  hexToBigInt,
  hexToNumber,
  isAddressEqual,
  numberToHex,
  type Transport,
} from 'viem'
import { type ChainClient, createChainClient } from '../chain-client.ts'
import { messageOf, revertOf } from '../node-answer.ts'
import { answerOf, type SendAnswer } from './send-outcome.ts'

export interface Head {
  number: number
  hash: Hex
  /** In wei per gas; undefined on a chain without EIP-1559. */
  baseFee: bigint | undefined
  /** Of the block. */
  gasLimit: number
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
      baseFee: block.baseFeePerGas ? hexToBigInt(block.baseFeePerGas) : undefined,
      gasLimit: hexToNumber(block.gasLimit),
    }
  }

  /** undefined if there is no such block, or no longer. */
  async blockHash(number: number): Promise<Hex | undefined> {
    const block = await this.client.request({
      method: 'eth_getBlockByNumber',
      params: [numberToHex(number), false],
    })
    return block?.hash ?? undefined
  }

  /** At this block, because another node behind the load balancer may lag behind the head. */
  async nonce(address: Address, block: number): Promise<number> {
    const params = [address, numberToHex(block)] as const
    return hexToNumber(await this.client.request({ method: 'eth_getTransactionCount', params: [...params] }))
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

  async send(raw: Hex): Promise<SendAnswer> {
    try {
      await this.client.request({ method: 'eth_sendRawTransaction', params: [raw] })
      return { outcome: 'taken', words: null }
    } catch (error) {
      return answerOf(error)
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
      if (block !== 'latest' && stateIsGone.test(messageOf(error))) return this.rerun(call, 'latest')
      throw error
    }
  }
}
