import type { Chain } from '../../chain/chains.ts'
import { deploymentProxy } from '../../chain/deployment-proxy.ts'
import { DomainError } from '../errors.ts'

/** Whether a chain that answers has no proxy to deploy through: whatever is sent there would cost gas for nothing. */
export async function lacksProxy({ client, isEmbedded }: Chain): Promise<boolean> {
  if (isEmbedded) return false
  // One that does not answer may well have it: what is recorded waits.
  return client.getCode({ address: deploymentProxy }).then(
    (code) => code === undefined,
    () => false,
  )
}

export const noProxy = ({ id }: Pick<Chain, 'id'>): DomainError =>
  new DomainError(
    'conflict',
    `Chain ${id} has no deterministic deployment proxy at ${deploymentProxy}, through which contracts are deployed. Deploy it first: github.com/Arachnid/deterministic-deployment-proxy.`,
  )
