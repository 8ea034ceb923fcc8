import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { flag, integer, name, page, team, text, timestamp, transactionHash } from '../fields.ts'

const transactionStates = [
  'queued',
  'signed',
  'broadcast',
  'mined',
  'confirmed',
  'reverted',
  'cancelled',
] as const
const state = z.enum(transactionStates, `must be one of ${transactionStates.join(', ')}`)

const transactionFields = () => ({
  id: z.number(),
  /** Null: one of the daemon's own transactions. */
  team: z.string().nullable(),
  chainId: z.number(),
  kind: z.string(),
  /** A token, a contract, or an event. */
  subject: z.record(z.string(), z.unknown()),
  state,
  /** `fees`, `funds`, `gas-estimate`, `gas`, `builder`, `node`, or `block`, and the node's own words after a colon. */
  waiting: z.string().nullable(),
  reason: z.string().nullable(),
  /** The reason for replacing it with an empty transaction. */
  cancelling: z.string().nullable(),
  /** Hash of the first attempt, as returned to the client. */
  initialTxHash: z.string().nullable(),
  /** Hash of the attempt that was mined. */
  minedHash: z.string().nullable(),
  blockNumber: z.number().nullable(),
  /** The relayer that sends it; until it is signed, another one may take it over. */
  relayer: z.string(),
  /** Its address, once it is signed. */
  sender: z.string().nullable(),
  nonce: z.number().nullable(),
  /** The transaction that sends this one together with others; it has the nonce and the attempts. */
  groupId: z.number().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  settledAt: timestamp.nullable(),
})

const attempt = () =>
  z.object({
    hash: z.string(),
    /** A filler has no effect: it only uses up the nonce. */
    purpose: z.enum(['effect', 'filler']),
    sender: z.string(),
    nonce: z.number(),
    gas: z.number(),
    /** Wei per gas. */
    maxFeePerGas: z.string(),
    maxPriorityFeePerGas: z.string(),
    signedAt: timestamp,
    /** When a node first accepted it. */
    sentAt: timestamp.nullable(),
    error: z.string().nullable(),
  })

const transactionOnWire = () => z.object(transactionFields())
const shownTransaction = () => z.object({ ...transactionFields(), attempts: z.array(attempt()) })

export const transactions = {
  'GET /admin/transactions': adminEndpoint({
    id: 'listTransactions',
    summary: 'List transactions, newest first',
    scope: 'read',
    query: () =>
      z.object({
        ...team,
        chainId: integer(1).optional(),
        state: state.optional(),
        kind: text(100).optional(),
        waiting: flag.optional(),
        /** Matches any attempt. */
        hash: transactionHash.optional(),
        ...page,
      }),
    response: () => z.array(transactionOnWire()),
  }),
  'GET /admin/transactions/stats': adminEndpoint({
    id: 'getTransactionStats',
    summary: 'Count transactions by state, and tell waiting times, gas a day, and how long the money lasts',
    scope: 'read',
    query: () => z.object(team),
    response: () =>
      z.object({
        open: z
          .array(z.object({ state, transactions: z.number(), oldest: timestamp }))
          .describe('unsettled ones, counted up to 20,000'),
        settled: z.array(z.object({ state, transactions: z.number() })).describe('of the last 30 days'),
        waits: z
          .array(
            z.object({
              chainId: z.number(),
              transactions: z.number(),
              p50: z.number().describe('seconds from being recorded to being final'),
              p90: z.number().describe('in seconds'),
            }),
          )
          .describe('of the last 7 days'),
        days: z
          .array(
            z.object({
              day: z.string(),
              chainId: z.number(),
              transactions: z.number(),
              gas: z.number().describe("by the transactions' limits"),
            }),
          )
          .describe('at most 30 for each chain, in UTC, oldest first'),
        money: z.array(
          z.object({
            chainId: z.number(),
            transactionsLeft: z
              .number()
              .nullable()
              .describe('what the relayers can pay for at the present price; null: unknown'),
            daysLeft: z.number().nullable().describe('at the pace of the last 7 days'),
          }),
        ),
        isComplete: z.boolean().describe('false: only the newest 10,000 transactions are counted'),
      }),
  }),
  'GET /admin/transactions/:id': adminEndpoint({
    id: 'showTransaction',
    summary: 'Show a transaction with all of its signed attempts',
    scope: 'read',
    params: () => z.object({ id: integer(1) }),
    response: shownTransaction,
  }),
  'POST /admin/transactions/:id/cancel': adminEndpoint({
    id: 'cancelTransaction',
    summary: 'Cancel a transaction, at once or with an empty one in its place',
    scope: 'transfer',
    params: () => z.object({ id: integer(1) }),
    body: () => z.object({ reason: name(500) }),
    response: shownTransaction,
  }),
} as const
