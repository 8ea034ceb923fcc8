import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { batchId, moment, page, team, text, timestamp, uid } from '../fields.ts'

const change = z.object({
  id: z.number(),
  at: timestamp,
  actor: z.string(),
  team: z.string().nullable(),
  action: z.string(),
  target: z.string(),
  detail: z.record(z.string(), z.unknown()),
  requestId: z.string().nullable(),
  batch: z.string().nullable(),
})

const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits')

export const audit = {
  'GET /admin/audit': adminEndpoint({
    id: 'listAuditEntries',
    summary: 'List changes and who made them, newest first',
    scope: 'read',
    query: () =>
      z.object({
        ...team,
        action: text(100).optional(),
        actor: text(200).optional(),
        by: text(200).optional(),
        uid: uid.optional(),
        batch: batchId.optional(),
        since: moment.optional(),
        ...page,
      }),
    response: () => z.array(change),
  }),
  'GET /admin/audit/head': adminEndpoint({
    isForAllTeams: true,
    id: 'getAuditHead',
    summary: 'Show how many changes are recorded, and the hash of the last one',
    scope: 'read',
    response: () => z.object({ entries: z.number(), head: hash }),
  }),
  'GET /admin/audit/verify': adminEndpoint({
    isForAllTeams: true,
    id: 'verifyAudit',
    summary: 'Check that no entry was changed, removed, or added; streams the progress, then the result',
    scope: 'read',
    query: () => z.object({ expect: hash.optional() }),
    response: () =>
      z.union([
        z.object({ checked: z.number() }),
        z.object({
          ok: z.boolean(),
          entries: z.number().describe('how many there must be'),
          head: hash,
          sealedSince: timestamp
            .nullable()
            .describe('since when the data key seals the log; null: nothing proves it'),
          beganAnew: z
            .array(timestamp)
            .describe('when a restore resealed a log whose seal was broken: nothing proves older entries'),
          firstBad: z
            .number()
            .optional()
            .describe('the ID of the first entry that was changed or is missing'),
          expectedAt: z.number().nullable().optional().describe('the ID of the entry with the hash `expect`'),
        }),
      ]),
    answerType: 'application/x-ndjson',
  }),
  'GET /admin/audit/export': adminEndpoint({
    isForAllTeams: true,
    id: 'exportAudit',
    summary:
      'Export changes with their hashes, oldest first, after a line that says where they begin and end',
    scope: 'read',
    query: () => z.object({ since: moment.optional() }),
    response: () =>
      z.union([
        z.object({
          format: z.literal('tapchip-audit'),
          version: z.literal(1),
          previous: z.object({ id: z.number(), hash }).describe('the entry before the first one'),
          head: hash.describe('the hash of the last one'),
          sealedSince: timestamp.nullable(),
        }),
        change.extend({ teamId: z.number().nullable(), hash: hash.nullable() }),
      ]),
    answerType: 'application/x-ndjson',
  }),
} as const
