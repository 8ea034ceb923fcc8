import * as z from 'zod'
import { publicEndpoint } from './endpoint.ts'
import { transactionHash } from './fields.ts'

export const publicTransactions = {
  'GET /transactions/:hash': publicEndpoint({
    id: 'getTransaction',
    summary: 'Follow a transaction by any hash that it ever had, and learn which one counts now',
    noStore: true,
    params: () => z.object({ hash: transactionHash }),
    response: () =>
      z.object({
        /** May change until the state is confirmed or failed. */
        hash: z.string(),
        initialTxHash: z.string(),
        /** confirmed and failed are final. */
        state: z.enum(['queued', 'sent', 'confirmed', 'failed']),
        chainId: z.number(),
        error: z.string().optional(),
      }),
  }),
} as const
