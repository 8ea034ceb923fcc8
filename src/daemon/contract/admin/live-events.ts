import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { team } from '../fields.ts'
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
      'JSON lines; empty ones keep the connection open. Taps are those of this daemon, changes those of the database.',
    scope: 'read',
    query: () => z.object(team),
    response: () =>
      z.union([
        z.object({
          taps: z.array(
            tapOnWire().extend({
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
