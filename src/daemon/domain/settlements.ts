import type { Settled } from '../chain/relayer/sender.ts'
import { confirmContractOf, forgetDeployment } from '../store/contracts.ts'

/** What the service's own records learn from the end of a transaction, in the same write. */
export const onSettled: Settled = async (trx, { id, state }) => {
  if (state === 'confirmed') await confirmContractOf(trx, id)
  else await forgetDeployment(trx, id)
}
