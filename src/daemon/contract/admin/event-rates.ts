import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { page, team, timestamp } from '../fields.ts'

const counts = () =>
  z
    .array(
      z.object({
        id: z.number(),
        lastHour: z.number(),
        byHour: z.array(z.number()).describe('as `hours`'),
      }),
    )
    .describe('events that had any')

export const eventRates = {
  'GET /admin/events/rates': adminEndpoint({
    id: 'countByHour',
    summary: 'Count badge claims and guestbook mints by hour',
    scope: 'read',
    query: () => z.object(team),
    response: () =>
      z.object({
        hours: z.array(timestamp).describe('when each of the last 24 hours began, in UTC, oldest first'),
        badgeEvents: counts(),
        guestbooks: counts(),
        isComplete: z.boolean().describe('false: there were more than are counted, and only the newest are'),
      }),
  }),
  'GET /admin/guestbooks': adminEndpoint({
    id: 'listGuestbooks',
    summary: 'List guestbook events of teams, newest first',
    scope: 'read',
    query: () => z.object({ ...team, ...page }),
    response: () =>
      z.array(
        z.object({
          id: z.number(),
          team: z.string(),
          name: z.string(),
          tokenId: z.string(),
          contractId: z.number(),
          contractName: z.string(),
          chainId: z.number(),
          contractAddress: z.string().nullable(),
          status: z.enum(['pending', 'confirmed']).describe('of its contract'),
          problem: z.string().nullable().describe("of its contract's deployment"),
          createdAt: timestamp,
        }),
      ),
  }),
} as const
