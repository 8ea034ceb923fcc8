import {
  type Address,
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  type Hex,
  isErc6492Signature,
  parseAbi,
  parseErc6492Signature,
  recoverAddress,
  size,
} from 'viem'
import type { Chain } from '../../chain/chains.ts'
import { nodeAnswer, revertOf } from '../../chain/node-answer.ts'
import { outOfReach, readChain } from './read-chain.ts'

const erc1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)'])
const isGood = '0x1626ba7e'

/** Gas for a wallet's own check: enough for a few signatures. */
const checkGas = 1_000_000n
/** Gas for deploying the wallet first, which takes 200,000 to 1,500,000 for known ones, and for its check. */
const deployAndCheckGas = 5_000_000n

const notItsOwn = 'is not the signature of the owner'
const deployIt = 'Deploy the wallet first, with a transaction of its own, and sign again'

/**
 * Verifies a signature by an account's key, by a wallet's contract (ERC-1271), or by a wallet that is not deployed
 * yet (ERC-6492). The deployment code in the last kind runs only in an `eth_call`, which changes nothing, and only if
 * the wallet has no code: otherwise it could first change the wallet's state in any way that the wallet allows
 * anyone.
 * @returns the reason for a refusal, to follow the signature's name; undefined: it is valid
 * @throws DomainError chain_unavailable
 */
export async function reasonAgainstSignature(
  chain: Chain,
  wallet: Address,
  hash: Hex,
  signature: Hex,
): Promise<string | undefined> {
  if (size(signature) === 65 && (await recovered(hash, signature)) === wallet) return undefined
  const isWrapped = size(signature) >= 32 && isErc6492Signature(signature)
  const inner = isWrapped ? innerOf(signature) : signature
  if (inner === undefined)
    return 'ends as an ERC-6492 signature does, but does not hold a factory, its call data, and a signature (address, bytes, bytes)'
  const code = await readChain(chain, () => chain.client.getCode({ address: wallet }))
  if (code !== undefined) return (await isAccepted(chain, wallet, hash, inner)) ? undefined : notItsOwn
  if (isWrapped) return reasonBeforeDeployment(chain, wallet, hash, signature)
  return size(signature) === 65
    ? notItsOwn
    : `${notItsOwn}, as an account of a key or a deployed wallet makes one. If this wallet is not deployed yet: send its signature with its factory (ERC-6492)`
}

function innerOf(wrapped: Hex): Hex | undefined {
  try {
    return parseErc6492Signature(wrapped).signature
  } catch {
    return undefined
  }
}

async function isAccepted(chain: Chain, wallet: Address, hash: Hex, signature: Hex): Promise<boolean> {
  const data = encodeFunctionData({ abi: erc1271, args: [hash, signature] })
  try {
    const answer = await chain.client.call({ to: wallet, data, gas: checkGas })
    return answer.data?.startsWith(isGood) ?? false
  } catch (error) {
    // A failure on the chain means no; anything else is a connection problem.
    if (revertOf(error)) return false
    throw outOfReach(chain.id, error)
  }
}

async function reasonBeforeDeployment(
  chain: Chain,
  wallet: Address,
  hash: Hex,
  signature: Hex,
): Promise<string | undefined> {
  const data = encodeDeployData({
    abi: erc6492SignatureValidatorAbi,
    bytecode: erc6492SignatureValidatorByteCode,
    args: [wallet, hash, signature],
  })
  try {
    const answer = await chain.client.call({ data, gas: deployAndCheckGas })
    return BigInt(answer.data ?? '0x0') === 1n ? undefined : notItsOwn
  } catch (error) {
    if (revertOf(error))
      return `${notItsOwn}: this wallet is not deployed yet, and the factory in the signature does not deploy it, or takes too much gas. ${deployIt}`
    if (isRefusedByNode(error))
      return `cannot be verified: this wallet is not deployed yet, and the node of chain ${chain.id} cannot try it. ${deployIt}`
    throw outOfReach(chain.id, error)
  }
}

// Some chains, such as zkSync, cannot run creation code in a call, and each words the error differently.
const passing =
  /\brate\b|too many|throttl|capacity|quota|time(d )?out|not found|missing trie|unavailable|overload/i

function isRefusedByNode(error: unknown): boolean {
  const answer = nodeAnswer(error)
  return answer !== undefined && !passing.test(answer.details)
}

const recovered = (hash: Hex, signature: Hex): Promise<Address | undefined> =>
  // The bytes are not a signature.
  recoverAddress({ hash, signature }).catch(() => undefined)
