import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { flag } from '../fields.ts'

const wei = () => z.string()

export const chains = {
  'GET /admin/chains': adminEndpoint({
    id: 'listChains',
    summary: "Report the state of each chain: reachability, the relayer's balance, and waiting transactions",
    scope: 'read',
    query: () =>
      z.object({
        check: flag.optional().meta({
          description: 'Make the calls of a transfer to each RPC URL; takes up to half a minute',
        }),
      }),
    response: () =>
      z.array(
        z.object({
          chainId: z.number(),
          isEmbedded: z.boolean(),
          /** Null for all but the embedded chain, since other RPC URLs contain keys. */
          rpcUrl: z.string().nullable(),
          isReachable: z.boolean(),
          latestBlock: z.number().nullable(),
          /** Wei per gas. */
          baseFee: wei().nullable(),
          /** Wei per gas; the highest fee ever offered. Null: the embedded chain's own fee. */
          maxFeePerGas: wei().nullable(),
          /** The first one, which owns the contracts that are deployed from here. Empty until the remote signer has told its keys. */
          relayer: z.string(),
          /** Wei. */
          balance: wei().nullable(),
          /** All that send, the first one included. */
          relayers: z.array(
            z.object({
              /** As in a transaction's `relayer`. */
              name: z.string(),
              address: z.string(),
              /** Wei. */
              balance: wei().nullable(),
              unsettled: z.number(),
              /** Why nothing is mined for it: the others take over what it has not signed. */
              jam: z.enum(['fees', 'funds', 'node', 'signer', 'block']).nullable(),
            }),
          ),
          /** Relayers with unsettled transactions whose keys are not configured here. */
          missing: z.array(z.object({ signer: z.string(), unsettled: z.number() })),
          signVerifier: z.string(),
          unsettled: z.number(),
          inFlight: z.number(),
          waiting: z.record(z.string(), z.number()),
          trouble: z
            .object({
              code: z.enum(['wrong-chain', 'lease-held', 'key-changed', 'signer', 'node', 'stuck']),
              message: z.string(),
              /** The transaction that is `stuck`. */
              transactionId: z.number().nullable(),
            })
            .nullable(),
          /** The RPC URLs; none for the embedded chain. */
          endpoints: z.array(
            z.object({
              /** Host and port. */
              url: z.string(),
              isWell: z.boolean(),
              latestBlock: z.number().nullable(),
              /** Blocks behind the best of the chain's URLs. */
              behind: z.number().nullable(),
              /** The largest batch of calls that it takes. Null: as many as usual. */
              batch: z.number().nullable(),
              /** While it limits requests. */
              limitedUntil: z.string().nullable(),
              lastError: z.string().nullable(),
              /** Null without `check`. */
              checks: z
                .array(
                  z.object({
                    status: z.enum(['ok', 'warn', 'fail']),
                    detail: z.string(),
                    fix: z.string().nullable(),
                  }),
                )
                .nullable(),
            }),
          ),
          /** The remote signer of the relayers' keys; null for keys on the daemon's machine. */
          signer: z
            .object({
              /** Host and port. */
              url: z.string(),
              problem: z.string().nullable(),
              /** The number of relayers that it had no key for. */
              missingKeys: z.number(),
            })
            .nullable(),
          /** Missing or unexpected contracts, at most 100 across all chains. */
          contracts: z.array(
            z.object({
              symbol: z.string(),
              team: z.string(),
              address: z.string(),
              status: z.enum(['pending', 'confirmed']),
              problem: z.string(),
            }),
          ),
        }),
      ),
  }),
} as const
