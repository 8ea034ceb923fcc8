import { type Client, type ClientConfig, createClient, type PublicActions, type PublicClient } from 'viem'
import {
  call,
  estimateContractGas,
  getBalance,
  getBlock,
  getBlockNumber,
  getChainId,
  getCode,
  getContractEvents,
  getEnsAddress,
  getTransaction,
  getTransactionCount,
  readContract,
  sendRawTransaction,
  simulateContract,
} from 'viem/actions'

const actions = {
  call,
  estimateContractGas,
  getBalance,
  getBlock,
  getBlockNumber,
  getChainId,
  getCode,
  getContractEvents,
  getEnsAddress,
  getTransaction,
  getTransactionCount,
  readContract,
  sendRawTransaction,
  simulateContract,
} satisfies Partial<Record<keyof PublicActions, unknown>>

/** viem's client, reduced to the actions that the daemon uses. */
export type ChainClient = Pick<PublicClient, keyof Client | keyof typeof actions>

type Action = (client: Client, ...args: unknown[]) => unknown

/** All of viem's actions would add a twentieth to the bundle, which each start has to load. */
export function createChainClient(config: ClientConfig): ChainClient {
  const client = createClient(config)
  const bound = Object.entries(actions as unknown as Record<string, Action>).map(([name, action]) => [
    name,
    (...args: unknown[]) => action(client, ...args),
  ])
  return client.extend(() => Object.fromEntries(bound)) as unknown as ChainClient
}
