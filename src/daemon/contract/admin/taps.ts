import * as z from 'zod'
import { tapOutcomes, tapSources } from '../../../values/tap-outcomes.ts'
import { foundChip, tapQuery } from '../chips.ts'
import { adminEndpoint } from '../endpoint.ts'
import { flag, integer, moment, page, team, text, timestamp, uid } from '../fields.ts'

const outcome = z.enum(tapOutcomes, `must be one of ${tapOutcomes.join(', ')}`)

export const tapOnWire = () =>
  z.object({
    /** Null in a stream for a refused tap that is not stored yet. */
    id: z.number().nullable(),
    at: timestamp,
    uid: z.string().nullable(),
    team: z.string().nullable(),
    keySet: z.number().nullable(),
    counter: z.number().nullable(),
    outcome,
    via: z.enum(tapSources),
    /** Seal of a TagTamper chip. */
    tamper: z.enum(['closed', 'open']).nullable(),
    fileData: z.string().nullable().describe('decrypted file data: text, or hex with 0x'),
  })

const about = <T extends z.ZodType>(schema: T, description: string) => schema.optional().describe(description)

/** The fields depend on `by`. */
const tapCount = () =>
  z.object({
    hour: about(z.string(), 'by hour: in the time zone, 2026-11-22 14:00'),
    day: about(z.string(), 'by day: in the time zone, 2026-11-22'),
    from: about(timestamp, 'by hour and day: when it began'),
    to: about(timestamp, 'by hour and day: its end, or the end of the span'),
    chipGroup: about(z.string().nullable(), 'by group: the name; null for taps of unknown and removed chips'),
    item: about(z.string().nullable(), 'by item: its ID; null for taps of chips without an item'),
    team: about(z.string().nullable(), 'by group and item'),
    outcome: about(outcome, 'by outcome'),
    taps: z.number(),
    valid: about(z.number(), 'not by outcome'),
    refused: about(z.number(), 'not by outcome: all that were not valid'),
  })

export const taps = {
  'GET /admin/taps': adminEndpoint({
    id: 'listTaps',
    summary: 'List taps, newest first, with the reason for refused ones',
    scope: 'read',
    query: () =>
      z.object({
        ...team,
        uid: uid.optional(),
        outcome: z.union([outcome, z.literal('refused')]).optional(),
        since: moment.optional(),
        ...page,
      }),
    response: () => z.array(tapOnWire()),
  }),
  'GET /admin/taps/stats': adminEndpoint({
    id: 'getTapStats',
    summary:
      'Count taps by hour, day, chip group, item, or outcome; hours and days without taps are listed too',
    scope: 'read',
    query: () =>
      z.object({
        ...team,
        by: z.enum(['hour', 'day', 'group', 'item', 'outcome'], 'must be hour, day, group, item, or outcome'),
        since: moment.optional(),
        until: moment.optional(),
        chipGroup: text(200).optional(),
        outcome: z.union([outcome, z.literal('refused')]).optional(),
        timeZone: text(100).optional(),
        includeSetup: flag.optional().describe('count taps of set-up and verification too'),
        limit: integer(1, 1000).optional(),
      }),
    response: () =>
      z.object({
        since: timestamp,
        until: timestamp,
        keptSince: z.object({
          taps: timestamp.nullable().describe('the oldest tap, if earlier ones were deleted'),
          refused: timestamp.nullable().describe('the oldest refused tap, if earlier ones were deleted'),
        }),
        newest: timestamp.nullable().describe('the newest tap, also outside the span'),
        more: z.number().describe('groups or items beyond the limit'),
        rows: z.array(tapCount()),
      }),
  }),
  'POST /admin/taps/verify': adminEndpoint({
    id: 'verifyTap',
    summary: 'Verify a tap and use it up as one of set-up, which statistics and webhooks leave out',
    scope: 'provision',
    body: () =>
      z.object({
        parameters: z
          .record(z.string().max(100), z.string().max(1000))
          .describe("The parameters of the tap's URL, by name"),
      }),
    response: foundChip,
    noStore: true,
  }),
  'GET /admin/taps/explain': adminEndpoint({
    id: 'explainTap',
    summary: "Say why a tap is refused, by its URL's parameters; uses nothing up, and records nothing",
    scope: 'read',
    isQueryRaw: true,
    query: tapQuery,
    response: () =>
      z.object({
        reason: z.string().nullable().describe('in sentences, with what to do; null: the tap is valid'),
      }),
    noStore: true,
  }),
  'GET /admin/taps/follow': adminEndpoint({
    id: 'followTaps',
    summary: 'Stream taps as they happen, one JSON line each; empty lines keep the connection open',
    scope: 'read',
    query: () => z.object({ ...team, uid: uid.optional() }),
    response: tapOnWire,
    answerType: 'application/x-ndjson',
  }),
} as const
