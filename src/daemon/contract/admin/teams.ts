import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { integer, name, success, timestamp } from '../fields.ts'

/** What it may send a day (UTC), by count and by gas limits; null: the usual, and no limit on the embedded chain. */
export const budget = z.object({
  transactionsPerDay: z.number().nullable(),
  gasPerDay: z.number().nullable(),
  transactionsToday: z.number(),
  gasToday: z.number(),
  /** Tokens whose changed metadata is announced once there is room. */
  waiting: z.number(),
})
const teamOnWire = z.object({ id: z.number(), name: z.string(), createdAt: timestamp, budget })
const limit = integer(0, 1_000_000_000_000_000).nullable().optional()

export const teams = {
  'GET /admin/teams': adminEndpoint({
    summary: 'List the teams',
    scope: 'read',
    response: z.array(teamOnWire),
  }),
  'POST /admin/teams': adminEndpoint({
    summary: 'Create a team',
    scope: 'all',
    body: z.object({ name: name() }),
    response: teamOnWire,
  }),
  'PATCH /admin/teams/:id': adminEndpoint({
    summary: 'Set how many transactions, and how much gas, a team may send a day; null: the usual',
    // It is what limits those who have less.
    scope: 'all',
    params: z.object({ id: integer(1) }),
    body: z.object({ transactionsPerDay: limit, gasPerDay: limit }),
    response: teamOnWire,
  }),
  'DELETE /admin/teams/:id': adminEndpoint({
    summary: 'Remove a team that holds nothing any more',
    scope: 'edit',
    params: z.object({ id: integer(1) }),
    response: success,
  }),
} as const
