import { type Address, encodeFunctionData, type Hex, parseAbi, recoverAddress, size } from 'viem'
import type { Chain } from '../../chain/chains.ts'
import { revertOf } from '../../chain/revert.ts'
import { asked, outOfReach } from './ask-chain.ts'

const erc1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)'])
const isGood = '0x1626ba7e'

/** What a wallet's own check may use: a few signatures' worth, and no more of the node than that. */
const checkGas = 1_000_000n

/**
 * Whether an account signed a hash: by its key, or, where it is a contract, by its own word (ERC-1271). Nothing that
 * the signature carries is run: wrappers that deploy a wallet first (ERC-6492) are no signatures here.
 * @throws DomainError chain_unavailable
 */
export async function isSignedBy(chain: Chain, signer: Address, hash: Hex, signature: Hex): Promise<boolean> {
  if (size(signature) === 65 && (await recovered(hash, signature)) === signer) return true
  const code = await asked(chain, () => chain.client.getCode({ address: signer }))
  return code !== undefined && (await saysYes(chain, signer, hash, signature))
}

async function saysYes(chain: Chain, signer: Address, hash: Hex, signature: Hex): Promise<boolean> {
  const data = encodeFunctionData({ abi: erc1271, args: [hash, signature] })
  try {
    const answer = await chain.client.call({ to: signer, data, gas: checkGas })
    return answer.data?.startsWith(isGood) ?? false
  } catch (error) {
    // The node ran it, and it failed: that is a no. Anything else happened on the way.
    if (revertOf(error)) return false
    throw outOfReach(chain.id, error)
  }
}

const recovered = (hash: Hex, signature: Hex): Promise<Address | undefined> =>
  // Bytes that are no signature at all.
  recoverAddress({ hash, signature }).catch(() => undefined)
