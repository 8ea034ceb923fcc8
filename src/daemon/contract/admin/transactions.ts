import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { flag, integer, name, page, team, text, timestamp } from '../fields.ts'

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

/** Why nothing moves at the moment. */
const waiting = z.enum(['fees', 'funds', 'gas-estimate', 'builder', 'node'])

const transactionFields = {
  id: z.number(),
  /** null: the daemon's own. */
  team: z.string().nullable(),
  chainId: z.number(),
  kind: z.string(),
  /** What it is about: a token, a contract, an event. */
  subject: z.record(z.string(), z.unknown()),
  state,
  waiting: waiting.nullable(),
  /** Why it ended without an effect. */
  reason: z.string().nullable(),
  /** Why an empty transaction is to take its place. */
  cancelling: z.string().nullable(),
  /** Of the first attempt: what the request was answered with. */
  initialTxHash: z.string().nullable(),
  /** Of the attempt that was mined. */
  minedHash: z.string().nullable(),
  blockNumber: z.number().nullable(),
  sender: z.string().nullable(),
  nonce: z.number().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  settledAt: timestamp.nullable(),
}

const attempt = z.object({
  hash: z.string(),
  /** A filler has no effect: it uses the nonce up. */
  purpose: z.enum(['effect', 'filler']),
  sender: z.string(),
  nonce: z.number(),
  gas: z.number(),
  /** Wei per gas. */
  maxFeePerGas: z.string(),
  maxPriorityFeePerGas: z.string(),
  signedAt: timestamp,
  /** When a node first said that it has it. */
  sentAt: timestamp.nullable(),
  error: z.string().nullable(),
})

const transactionOnWire = z.object(transactionFields)
const shownTransaction = z.object({ ...transactionFields, attempts: z.array(attempt) })

export const transactions = {
  'GET /admin/transactions': adminEndpoint({
    summary: 'List transactions, newest first',
    scope: 'read',
    query: z.object({
      ...team,
      chainId: integer(1).optional(),
      state: state.optional(),
      kind: text(100).optional(),
      waiting: flag.optional(),
      /** Of any attempt. */
      hash: z
        .string()
        .regex(/^0x[0-9a-fA-F]{64}$/, 'must be the hash of a transaction: 0x and 64 hex digits')
        .transform((hash) => hash.toLowerCase())
        .optional(),
      ...page,
    }),
    response: z.array(transactionOnWire),
  }),
  'GET /admin/transactions/:id': adminEndpoint({
    summary: 'Show a transaction with every attempt that was signed for it',
    scope: 'read',
    params: z.object({ id: integer(1) }),
    response: shownTransaction,
  }),
  'POST /admin/transactions/:id/cancel': adminEndpoint({
    summary: 'Give a transaction up: at once, or by an empty one in its place',
    scope: 'transfer',
    params: z.object({ id: integer(1) }),
    body: z.object({ reason: name(500) }),
    response: shownTransaction,
  }),
} as const
