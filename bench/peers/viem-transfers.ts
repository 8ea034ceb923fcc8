// The same transfers by viem, as people write them, and as fast as they can be: signed before, mined by hand.
import {
  type Address,
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  publicActions,
  walletActions,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { claimHash } from '../../src/daemon/chain/relayer/phygital-claim.ts'

const verifier = privateKeyToAccount(`0x${'32'.repeat(32)}`)
const sender = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')

export const clientOf = (url: string) =>
  createTestClient({
    mode: 'anvil',
    chain: foundry,
    account: sender,
    // As short as it gets: what is measured is the way of writing, not a poll's length.
    pollingInterval: 1,
    transport: http(url, { retryCount: 0 }),
  })
    .extend(publicActions)
    .extend(walletActions)

// Longer than a chain that mines at once takes, and short beside a round.
const patienceMs = 50

/**
 * viem looks for a receipt again when there is another block. A chain that mines at once may have shown the block before
 * the receipt, and one that is mined by hand has none: so a block is made for whoever has waited long enough.
 */
export async function receiptOf(client: ReturnType<typeof clientOf>, hash: Hex) {
  const impatient = setInterval(() => {
    client.mine({ blocks: 1 }).catch(() => undefined)
  }, patienceMs)
  try {
    return await client.waitForTransactionReceipt({ hash, timeout: 20_000 })
  } finally {
    clearInterval(impatient)
  }
}

/** A fresh recipient each, so that the claim's nonce is 0 and nobody waits for anybody. */
const recipientOf = (n: number): Address => `0x${(0xcc00000000 + n).toString(16).padStart(40, '0')}`

export async function mintArgs(contract: Address, tokenId: number) {
  const claim = {
    blockExpiry: 10_000_000n,
    recipient: recipientOf(tokenId),
    tokenId: BigInt(tokenId),
    contract,
    nonce: 0n,
  }
  const sig = await verifier.signMessage({ message: { raw: claimHash(claim) } })
  return [sig, claim.blockExpiry, claim.recipient, claim.tokenId] as const
}

export async function deployTo(url: string): Promise<Address> {
  const client = clientOf(url)
  const hash = await client.deployContract({
    abi: phygitalAbi,
    bytecode: phygitalBytecode,
    args: ['Bench', 'B', 'http://x/', sender.address, verifier.address, [sender.address], sender.address, 0n],
  })
  const { contractAddress } = await receiptOf(client, hash)
  if (!contractAddress) throw new Error('nothing was deployed')
  return contractAddress
}

/** One after another: write, wait for the receipt. The chain mines each at once. @returns transactions a second */
export async function writeAndWait(
  url: string,
  address: Address,
  from: number,
  count: number,
): Promise<number> {
  const client = clientOf(url)
  const started = performance.now()
  for (let n = from; n < from + count; n++) {
    const args = await mintArgs(address, n)
    const hash = await client.writeContract({ abi: phygitalAbi, address, functionName: 'mintNFT', args })
    const { status } = await receiptOf(client, hash)
    if (status !== 'success') throw new Error(`token ${n} was not minted`)
  }
  return count / ((performance.now() - started) / 1000)
}

/** Signed before the clock starts, sent in batches, each batch mined by hand. @returns transactions a second */
export async function preSigned(url: string, address: Address, from: number, count: number): Promise<number> {
  const client = clientOf(url)
  const first = await client.getTransactionCount({ address: sender.address })
  const raws: Hex[] = []
  for (let n = 0; n < count; n++) {
    const args = await mintArgs(address, from + n)
    raws.push(
      await sender.signTransaction({
        type: 'eip1559',
        chainId: foundry.id,
        nonce: first + n,
        to: address,
        data: encodeFunctionData({ abi: phygitalAbi, functionName: 'mintNFT', args }),
        gas: 200_000n,
        maxFeePerGas: 100_000_000_000n,
        maxPriorityFeePerGas: 1_000_000_000n,
      }),
    )
  }
  const post = async (calls: { method: string; params: unknown[] }[]) => {
    const body = JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })))
    const headers = { 'content-type': 'application/json' }
    return (await fetch(url, { method: 'POST', headers, body })).text()
  }
  const started = performance.now()
  for (let at = 0; at < count; at += 128) {
    const batch = raws.slice(at, at + 128)
    const sent = await post(batch.map((raw) => ({ method: 'eth_sendRawTransaction', params: [raw] })))
    if (sent.includes('"error"')) throw new Error(sent.slice(0, 300))
    await post([{ method: 'evm_mine', params: [] }])
  }
  for (
    let more = 0;
    (await client.getTransactionCount({ address: sender.address })) < first + count;
    more++
  ) {
    if (more === count) throw new Error(`not all of ${count} transactions were mined`)
    await post([{ method: 'evm_mine', params: [] }])
  }
  return count / ((performance.now() - started) / 1000)
}
