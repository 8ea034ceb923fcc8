import type { Address } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { KeyProblem, SigningKey } from './signing-key.ts'

/** The embedded chain's, as every such chain has it. */
export const devChainId = 31337

// The words that hardhat, anvil and their like have in common. Everybody has these keys.
const words = 'test test test test test test test test test test test junk'

let all: readonly { address: Address; secret: Uint8Array }[] | undefined

/** The ten accounts that a dev chain gives money to. */
function devAccounts() {
  all ??= Array.from({ length: 10 }, (_, addressIndex) => {
    const account = mnemonicToAccount(words, { addressIndex })
    const secret = account.getHdKey().privateKey
    if (!secret) throw new Error('The dev chain has no such account')
    return { address: account.address, secret }
  })
  return all
}

/** One of the dev chain's own keys, for the dev chain. */
export function devKey(index: number): SigningKey {
  const account = devAccounts()[index]
  if (!account) throw new Error(`The dev chain has no account ${index}`)
  return SigningKey.of(account.secret, 'The dev chain')
}

/** @throws KeyProblem where a key that everybody has is to be used on a chain with other people on it */
export function refuseDevKey(key: SigningKey, chainId: number, from: string): void {
  if (chainId === devChainId || devAccounts().every(({ address }) => address !== key.address)) return
  throw new KeyProblem(
    `${from} is one of the dev chain's keys (${key.address}), which everybody has: it is refused on chain ${chainId}. Make a key of your own.`,
  )
}
