import { devChainId, isDevKey, ownDevKeys } from '../dev-chain/dev-keys.ts'
import { KeyProblem, SigningKey } from './signing-key.ts'

/** One of the daemon's own keys on the dev chain. Everybody has them. */
export const devKey = (role: keyof typeof ownDevKeys): SigningKey =>
  SigningKey.of(ownDevKeys[role], 'The dev chain')

/** @throws KeyProblem where a key that everybody has is to be used on a chain with other people on it */
export function refuseDevKey(key: SigningKey, chainId: number, from: string): void {
  if (chainId === devChainId || !isDevKey(key.address)) return
  throw new KeyProblem(
    `${from} is one of the dev chain's keys (${key.address}), which everybody has: it is refused on chain ${chainId}. Make a key of your own.`,
  )
}
