import * as z from 'zod'
import { tapOutcomes } from '../../../values/tap-outcomes.ts'
import { adminEndpoint } from '../endpoint.ts'
import { team, timestamp } from '../fields.ts'

const rate = () =>
  z.object({
    at: timestamp.describe('when the minute or hour began, in UTC'),
    taps: z.number(),
    valid: z.number(),
    outcomes: z.record(z.string(), z.number()),
  })

const tapped = () =>
  z.object({ team: z.string().nullable(), taps: z.number(), valid: z.number(), refused: z.number() })

export const tapPulse = {
  'GET /admin/taps/pulse': adminEndpoint({
    id: 'getTapPulse',
    summary: 'Tell what is tapped now: by minute and hour, groups and items, attacks, and opened seals',
    scope: 'read',
    query: () => z.object(team),
    response: () =>
      z.object({
        isComplete: z.boolean().describe('false while earlier taps are still being counted'),
        minutes: z.array(rate()).describe('the last 60, oldest first'),
        hours: z.array(rate()).describe('the last 24, oldest first'),
        groups: z
          .array(
            tapped().extend({ chipGroup: z.string().nullable().describe('null: unknown and removed chips') }),
          )
          .describe('the 20 with most taps in these hours'),
        items: z
          .array(tapped().extend({ item: z.string(), itemName: z.string().nullable() }))
          .describe('at most 20'),
        attacks: z
          .array(
            z.object({
              uid: z.string().nullable().describe('null: several chips, all with this key set'),
              label: z.string().nullable(),
              keySet: z.number().nullable(),
              team: z.string().nullable(),
              outcome: z.enum(tapOutcomes),
              taps: z.number(),
              since: timestamp,
              last: timestamp,
            }),
          )
          .describe(
            'ten or more forged or replayed taps of a chip, or forged ones of a key set, in ten minutes',
          ),
        opened: z
          .array(
            z.object({
              uid: z.string(),
              label: z.string().nullable(),
              chipGroup: z.string().nullable(),
              item: z.string().nullable(),
              itemName: z.string().nullable(),
              team: z.string().nullable(),
              at: timestamp,
            }),
          )
          .describe('the 20 newest'),
      }),
  }),
} as const
