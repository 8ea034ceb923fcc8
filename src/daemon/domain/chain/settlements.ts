import type { OnSettled } from '../../chain/relayer/sender.ts'
import { findTransaction, moveKinds } from '../../store/chain/intents.ts'
import { cancelQueued } from '../../store/chain/states.ts'
import {
  confirmContractOf,
  contractDeployedBy,
  contractToldBy,
  forgetDeployment,
  updateContract,
} from '../../store/contracts/contracts.ts'
import type { Queries } from '../../store/database/database.ts'
import { forgetMints, openMintsOf } from '../../store/phygitals/tokens.ts'
import type { WebhookEvents } from '../webhooks/events.ts'

/** Updates the service's own records in the write that settles a transaction. */
export const settledWith =
  ({ webhookEvents }: { webhookEvents: WebhookEvents }): OnSettled =>
  async (trx, transaction) => {
    await updateRecords(trx, transaction, webhookEvents)
    await webhookEvents.recordSettled(trx, transaction)
  }

const moves: readonly (string | undefined)[] = Object.values(moveKinds)

async function updateRecords(
  trx: Queries,
  { id, kind, state, at }: Parameters<OnSettled>[1],
  webhookEvents: WebhookEvents,
): Promise<void> {
  if (moves.includes(kind)) return
  const contractId = await contractToldBy(trx, id)
  if (contractId !== undefined) await saveUrl(trx, contractId, id, state === 'confirmed')
  if (state === 'confirmed') await confirmContractOf(trx, id)
  else await abandonDeployment(trx, { id, at }, webhookEvents)
}

/** If the contract did not get the URL, the next start sends it again. */
async function saveUrl(trx: Queries, contractId: number, id: number, isReported: boolean): Promise<void> {
  const row = isReported ? await findTransaction(trx, id) : undefined
  // Written by recordServiceUrl in this shape.
  const { baseUrl }: { baseUrl?: string } = JSON.parse(row?.subject ?? '{}')
  const columns = baseUrl === undefined ? {} : { serviceUrl: baseUrl }
  await updateContract(trx, contractId, { urlTransactionId: null, ...columns })
}

/** Mints on a contract that will never be deployed would wait forever. The next start records everything again. */
async function abandonDeployment(
  trx: Queries,
  { id, at }: { id: number; at: string },
  webhookEvents: WebhookEvents,
): Promise<void> {
  const contractId = await contractDeployedBy(trx, id)
  if (contractId !== undefined) {
    const reason = `its contract was not deployed (transaction ${id})`
    for (const mint of await openMintsOf(trx, contractId))
      if (await cancelQueued(trx, { id: mint, at, reason }))
        await webhookEvents.recordSettled(trx, { id: mint, state: 'cancelled', at })
    await forgetMints(trx, contractId)
    const { reason: why } = (await findTransaction(trx, id)) ?? {}
    await updateContract(trx, contractId, {
      problem: `It was not deployed (transaction ${id}): ${why ?? 'for an unknown reason'}`,
    })
  }
  await forgetDeployment(trx, id)
}
