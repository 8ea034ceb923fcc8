import {
  type Address,
  concat,
  custom,
  defineChain,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  zeroHash,
} from 'viem'
import { normalize } from 'viem/ens'
import { nameServiceAbi, nameServiceBytecode } from '../artifacts/name-service.ts'
import { createChainClient } from '../chain-client.ts'
import { deploymentProxy } from '../deterministic-deployment.ts'
import { SigningKey } from '../keys/signing-key.ts'
import { devChainId, nameServiceKey, nameServiceOwner } from './dev-keys.ts'
import type { Request } from './gateway.ts'

export const nameServiceCreation = () =>
  encodeDeployData({ abi: nameServiceAbi, bytecode: nameServiceBytecode, args: [nameServiceOwner] })

/**
 * Created with CREATE2, so the same on every dev chain. A constant, because hashing `nameServiceCreation` would slow
 * down the start.
 */
export const nameServiceAddress: Address = '0xeC1A34aCe6Fa6790F0B53eC9f5d782b57c2144B3'

/** The dev chain's definition for viem's clients, including its name service. */
export const devChainAt = (rpcUrl: string) =>
  defineChain({
    id: devChainId,
    name: 'Tapchip dev chain',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
    contracts: { ensUniversalResolver: { address: nameServiceAddress } },
    testnet: true,
  })

interface Target {
  url: string
  request(call: Request): Promise<unknown>
  settle(): Promise<void>
}

/**
 * Deploys the name service if it is missing, and sets the names that have no address yet.
 * @returns the number of transactions
 */
export async function ensureNames(target: Target, names: Readonly<Record<string, string>>): Promise<number> {
  const client = createChainClient({
    chain: devChainAt(target.url),
    transport: custom({ request: target.request }, { retryCount: 0 }),
    cacheTime: 0,
  })
  const isDeployed = (await client.getCode({ address: nameServiceAddress })) !== undefined
  const expected = Object.entries(names).map(
    ([name, address]) => [normalize(name), getAddress(address.toLowerCase())] as const,
  )
  const known = isDeployed ? await Promise.all(expected.map(([name]) => client.getEnsAddress({ name }))) : []
  const calls = expected
    .filter((_, index) => !known[index])
    .map(([name, address]) => ({
      to: nameServiceAddress,
      data: encodeFunctionData({ abi: nameServiceAbi, functionName: 'setName', args: [name, address] }),
      gas: 1_000_000n,
    }))
  if (!isDeployed)
    calls.unshift({ to: deploymentProxy, data: concat([zeroHash, nameServiceCreation()]), gas: 3_000_000n })
  if (calls.length === 0) return 0

  const account = SigningKey.known(nameServiceKey, nameServiceOwner)
  const first = await client.getTransactionCount({ address: account.address })
  for (const [index, call] of calls.entries()) {
    const serializedTransaction = await account.signTransaction({
      ...call,
      type: 'eip1559',
      chainId: devChainId,
      nonce: first + index,
      maxFeePerGas: 100_000_000_000n,
      maxPriorityFeePerGas: 1_000_000_000n,
    })
    await client.sendRawTransaction({ serializedTransaction })
  }
  await target.settle()
  return calls.length
}
