import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { moment, page, team, timestamp, uid } from '../fields.ts'

const tapOutcomes = ['valid', 'replayed', 'wrong-mac', 'disabled', 'unknown-chip', 'unknown-key-set'] as const
const outcome = z.enum(tapOutcomes, `must be one of ${tapOutcomes.join(', ')}`)

const tapOnWire = z.object({
  /** Null in a stream for a refused tap that is not stored yet. */
  id: z.number().nullable(),
  at: timestamp,
  uid: z.string().nullable(),
  team: z.string().nullable(),
  keySet: z.number().nullable(),
  counter: z.number().nullable(),
  outcome,
  via: z.enum(['find', 'page']),
})

export const taps = {
  'GET /admin/taps': adminEndpoint({
    summary: 'List taps, newest first, with the reason for refused ones',
    scope: 'read',
    query: z.object({
      ...team,
      uid: uid.optional(),
      outcome: z.union([outcome, z.literal('refused')]).optional(),
      since: moment.optional(),
      ...page,
    }),
    response: z.array(tapOnWire),
  }),
  'GET /admin/taps/follow': adminEndpoint({
    summary: 'Stream taps as they happen, one JSON line each; empty lines keep the connection open',
    scope: 'read',
    query: z.object({ ...team, uid: uid.optional() }),
    response: tapOnWire,
    answerType: 'application/x-ndjson',
  }),
} as const
