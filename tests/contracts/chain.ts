import {
  type Abi,
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  createTestClient,
  decodeErrorResult,
  encodeAbiParameters,
  encodeDeployData,
  encodePacked,
  getAddress,
  type Hex,
  http,
  isHex,
  keccak256,
  parseAbiParameters,
  parseEventLogs,
  publicActions,
  stringToHex,
  type TransactionReceipt,
  walletActions,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { startAnvil } from '../support/anvil.ts'
import { minedReceipt } from '../support/receipt.ts'

const clientOf = (url: string) =>
  createTestClient({ chain: foundry, mode: 'anvil', transport: http(url), pollingInterval: 5 })
    .extend(publicActions)
    .extend(walletActions)

export type Client = ReturnType<typeof clientOf>

/** A chain of its own, whose accounts are unlocked: the node signs for them. */
export async function openChain() {
  const anvil = await startAnvil()
  const client = clientOf(anvil.url)
  const [deployer, admin, minter, alice, bob, mallory] = await client.getAddresses()
  if (!deployer || !admin || !minter || !alice || !bob || !mallory)
    throw new Error('anvil has too few accounts')

  const mined = async (hash: Promise<Hex>): Promise<TransactionReceipt> => {
    const receipt = await minedReceipt(client, await hash)
    if (receipt.status !== 'success') throw new Error(`transaction ${receipt.transactionHash} reverted`)
    return receipt
  }
  /** @returns the address of the new contract */
  const deploy = async (abi: Abi, bytecode: Hex, args: readonly unknown[] = []): Promise<Address> => {
    const receipt = await mined(client.deployContract({ abi, bytecode, args, account: deployer }))
    if (!receipt.contractAddress) throw new Error('nothing was deployed')
    return getAddress(receipt.contractAddress)
  }
  /** How a constructor refuses: the custom error's name and what it carries. */
  const deployRefusal = async (abi: Abi, bytecode: Hex, args: readonly unknown[]) => {
    const trial = client.call({ data: encodeDeployData({ abi, bytecode, args }), account: deployer })
    const error = await trial.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    const cause = error instanceof BaseError ? error.walk((inner) => 'data' in (inner as object)) : undefined
    if (!cause || !('data' in cause) || !isHex(cause.data)) throw new Error(`not refused: ${String(error)}`)
    const { errorName, args: carried = [] } = decodeErrorResult({ abi, data: cause.data })
    return [errorName, ...carried]
  }
  return {
    client,
    accounts: { deployer, admin, minter, alice, bob, mallory },
    mined,
    deploy,
    deployRefusal,
    close: () => anvil.stop(),
  }
}

export type Chain = Awaited<ReturnType<typeof openChain>>

/** How a call was refused: the custom error's name and what it carries. @throws Error when it was not */
export async function refusal(call: Promise<unknown>): Promise<readonly unknown[]> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof BaseError)) throw new Error(`not refused by a contract: ${String(error)}`)
  const revert = error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  if (!(revert instanceof ContractFunctionRevertedError) || !revert.data) throw error
  return [revert.data.errorName, ...(revert.data.args ?? [])]
}

/** The same for calls that are under way together. */
export const refusals = (...calls: Promise<unknown>[]) => Promise.all(calls.map(refusal))

/** What a contract told: each event's name and values, in the order in which it declares them. */
export function eventsOf(abi: Abi, receipt: TransactionReceipt): unknown[][] {
  return parseEventLogs({ abi, logs: receipt.logs }).map(({ eventName, args }) => {
    const event = abi.find((entry) => entry.type === 'event' && entry.name === eventName)
    const values = new Map(Object.entries(args ?? {}))
    return [
      eventName,
      ...(event?.type === 'event' ? event.inputs : []).map(({ name }) => values.get(name ?? '')),
    ]
  })
}

export interface Claim {
  blockExpiry: bigint
  recipient: Address
  tokenId: bigint
  contract: Address
  nonce: bigint
}

/** What a sign verifier signs, as contracts in the field check it. */
export const claimHash = ({ blockExpiry, recipient, tokenId, contract, nonce }: Claim): Hex =>
  keccak256(
    encodePacked(
      ['uint256', 'address', 'uint256', 'address', 'uint256'],
      [blockExpiry, recipient, tokenId, contract, nonce],
    ),
  )

export const signClaim = (signer: PrivateKeyAccount, claim: Claim): Promise<Hex> =>
  signer.signMessage({ message: { raw: claimHash(claim) } })

export interface Group {
  chainId: number
  contract: Address
  blockExpiry: bigint
  recipients: readonly Address[]
  tokenIds: readonly bigint[]
}

/** What a sign verifier signs for a group of mints. */
export const groupHash = ({ chainId, contract, blockExpiry, recipients, tokenIds }: Group): Hex =>
  keccak256(
    encodeAbiParameters(parseAbiParameters('bytes32, uint256, address, uint256, bytes32, bytes32'), [
      keccak256(
        stringToHex(
          'MintMany(uint256 chainId,address contract,uint256 blockExpiry,address[] recipients,uint256[] tokenIds)',
        ),
      ),
      BigInt(chainId),
      contract,
      blockExpiry,
      keccak256(encodePacked(['address[]'], [recipients])),
      keccak256(encodePacked(['uint256[]'], [tokenIds])),
    ]),
  )

export const signGroup = (signer: PrivateKeyAccount, group: Group): Promise<Hex> =>
  signer.signMessage({ message: { raw: groupHash(group) } })
