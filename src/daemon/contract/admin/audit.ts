import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { batchId, moment, page, team, text, timestamp } from '../fields.ts'

export const audit = {
  'GET /admin/audit': adminEndpoint({
    summary: 'List changes and who made them, newest first',
    scope: 'read',
    query: z.object({
      ...team,
      action: text(100).optional(),
      actor: text(200).optional(),
      batch: batchId.optional(),
      since: moment.optional(),
      ...page,
    }),
    response: z.array(
      z.object({
        id: z.number(),
        at: timestamp,
        actor: z.string(),
        team: z.string().nullable(),
        action: z.string(),
        target: z.string(),
        detail: z.record(z.string(), z.unknown()),
        requestId: z.string().nullable(),
        batch: z.string().nullable(),
      }),
    ),
  }),
} as const
