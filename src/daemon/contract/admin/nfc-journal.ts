import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { flag, page, success, timestamp, uid } from '../fields.ts'

const keySource = () =>
  z.union([
    z.literal('factory'),
    z.object({ keySet: z.number(), generation: z.number() }),
    /** Keys that the owner supplied: their versions. */
    z.object({ supplied: z.array(z.number()) }),
  ])

export const nfcJournal = {
  'GET /admin/nfc/journal': adminEndpoint({
    id: 'readNfcJournal',
    summary: 'List unfinished plans of chips, or all plans with all=true, newest first',
    scope: 'read',
    query: () => z.object({ uid: uid.optional(), all: flag.optional(), ...page }),
    response: () =>
      z.array(
        z.object({
          id: z.number(),
          uid: z.string(),
          purpose: z.enum(['provision', 'reset']),
          from: z.array(keySource()),
          target: z.union([z.literal('factory'), z.object({ keySet: z.number(), generation: z.number() })]),
          url: z.string().nullable(),
          openedAt: timestamp,
          openedBy: z.string(),
          problem: z.string().nullable(),
          closedAt: timestamp.nullable(),
          closedBy: z.string().nullable(),
          outcome: z.enum(['done', 'untouched', 'superseded', 'given-up']).nullable(),
        }),
      ),
  }),
  'DELETE /admin/nfc/journal/:uid': adminEndpoint({
    id: 'deleteNfcPlan',
    summary: 'Give up a lost chip, so that it no longer holds its key set',
    scope: 'keys',
    params: () => z.object({ uid }),
    response: success,
  }),
} as const
