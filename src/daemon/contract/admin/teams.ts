import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { integer, name, success, timestamp } from '../fields.ts'

/** Daily limits (UTC) by count and gas. Null: the default; the embedded chain has no limit. */
export const budget = z.object({
  transactionsPerDay: z.number().nullable(),
  gasPerDay: z.number().nullable(),
  transactionsToday: z.number(),
  gasToday: z.number(),
  /** Tokens with changed metadata that will be announced when the budget allows. */
  waiting: z.number(),
})
const teamOnWire = z.object({ id: z.number(), name: z.string(), createdAt: timestamp, budget })
const limit = integer(0, 1_000_000_000_000_000).nullable().optional()

export const teams = {
  'GET /admin/teams': adminEndpoint({
    id: 'listTeams',
    summary: 'List the teams',
    scope: 'read',
    response: z.array(teamOnWire),
  }),
  'POST /admin/teams': adminEndpoint({
    id: 'createTeam',
    summary: 'Create a team',
    scope: 'all',
    body: z.object({ name: name() }),
    response: teamOnWire,
  }),
  'PATCH /admin/teams/:id': adminEndpoint({
    id: 'editTeam',
    summary: "Set a team's daily limits for transactions and gas; null: the default",
    // These limits bind everyone with a lesser scope.
    scope: 'all',
    params: z.object({ id: integer(1) }),
    body: z.object({ transactionsPerDay: limit, gasPerDay: limit }),
    response: teamOnWire,
  }),
  'DELETE /admin/teams/:id': adminEndpoint({
    id: 'deleteTeam',
    summary: 'Remove an empty team',
    scope: 'edit',
    params: z.object({ id: integer(1) }),
    response: success,
  }),
} as const
