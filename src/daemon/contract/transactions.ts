import * as z from 'zod'
import { publicEndpoint } from './endpoint.ts'

const hashOrId = z
  .string()
  .regex(
    /^(0x[0-9a-fA-F]{64}|[1-9]\d{0,14})$/,
    'must be the hash of a transaction, 0x and 64 hex digits, or its number',
  )
  .transform((hash) => hash.toLowerCase())

export const publicTransactions = {
  'GET /transactions/:hash': publicEndpoint({
    id: 'getTransaction',
    summary: 'Follow a transaction by any hash that it ever had; the answer has the current one',
    description:
      'With an API key, also by its number: the `transactionId` of an answer that says `outcome_unknown`.',
    noStore: true,
    params: () => z.object({ hash: hashOrId }),
    response: () =>
      z.object({
        /** May change until the state is confirmed or failed; null while unsigned. */
        hash: z.string().nullable(),
        initialTxHash: z.string().nullable(),
        /** confirmed and failed are final. */
        state: z.enum(['queued', 'sent', 'confirmed', 'failed']),
        chainId: z.number(),
        error: z.string().optional(),
      }),
  }),
} as const
