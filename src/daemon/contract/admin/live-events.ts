import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { integer, team } from '../fields.ts'
import { tapOnWire } from './taps.ts'

const kinds = [
  ...(['chips', 'batches', 'badges', 'guestbooks', 'transactions', 'webhooks'] as const),
  ...(['teams', 'nfc', 'audit'] as const),
] as const

export const liveEvents = {
  'GET /admin/events/follow': adminEndpoint({
    id: 'followLive',
    summary:
      'Stream what happens: taps with their chips, a few lines a second at most, and what changed, to be loaded again',
    description:
      'JSON lines; empty ones keep the connection open. Taps and changes are those of all daemons on the database; `nfc` is told of readers at this daemon. After an interruption, `after` takes the last `cursor`: nothing is missed but what a list of the newest 1000 taps does not show, and taps with a greater ID may come again.',
    scope: 'read',
    query: () =>
      z.object({
        ...team,
        after: integer(0).optional().describe('a cursor; without, the newest 200 taps come first'),
      }),
    response: () =>
      z.union([
        z.object({
          cursor: z.number(),
          taps: z.array(
            tapOnWire().extend({
              id: z.number(),
              chip: z
                .object({
                  label: z.string().nullable(),
                  chipGroup: z.string(),
                  item: z.string().nullable(),
                  itemName: z.string().nullable(),
                  picture: z.string().nullable(),
                  redirectUrl: z
                    .string()
                    .nullable()
                    .describe('null: a tap leads to its page, or is opened by an app'),
                })
                .nullable()
                .describe('null: unknown, or removed'),
            }),
          ),
        }),
        z.object({ changed: z.array(z.enum(kinds)) }),
      ]),
    answerType: 'application/x-ndjson',
  }),
} as const
