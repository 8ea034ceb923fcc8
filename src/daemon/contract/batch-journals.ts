import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { batchId, flag, integer, moment, name, page, success, text, timestamp } from './fields.ts'

// Copies of the journals of the CLI's batches: with an API key for those of its team, under /admin for an operator's.

const state = z
  .enum(['running', 'stopped', 'done'])
  .meta({ description: 'Whether it runs, was stopped before its end, or is done', examples: ['running'] })
const params = () => z.object({ id: batchId })
const batch = z.object({
  id: z.string(),
  kind: z.string(),
  state,
  host: z.string(),
  place: z.string(),
  context: z.string().nullable(),
  team: z.string().nullable(),
  startedAt: timestamp,
  startedBy: z.string(),
  heardAt: timestamp,
  length: z.number(),
  lease: z.number(),
  done: z.number(),
  failed: z.number(),
  total: z.number(),
})
/** A secret of the process that runs the batch. */
const holder = text(100).min(16)
/** Base64 of deflated bytes. */
const data = z.base64().max(900_000)
const chunk = z.object({ offset: integer(), bytes: integer(1, 16 * 2 ** 20), data })

const list = {
  summary: 'List batches of tapchip, newest first',
  scope: 'read',
  query: () => z.object({ id: batchId.optional(), limit: page.limit }),
  response: () => z.array(batch),
} as const
const hold = {
  summary: 'Become the one process that runs a batch, unless another was heard in the last 20 seconds',
  scope: 'read',
  params,
  body: () =>
    z.object({
      kind: name(100),
      total: integer(),
      startedAt: moment,
      host: name(255),
      /** Which journal it is run from, of all on all machines. */
      place: name(100),
      context: text(200).nullable(),
      holder,
      takeOver: flag.optional(),
      /** The lease of a process that is known to have ended: it need not be silent first. */
      gone: integer(1).optional(),
      /** Of the journal at this place: a copy that has more is begun anew. */
      length: integer().optional(),
    }),
  response: () => z.object({ lease: z.number(), length: z.number() }),
} as const
const append = {
  summary: 'Append to the journal of a batch that this process runs, and tell its progress',
  scope: 'read',
  params,
  body: () => z.object({ holder, state, done: integer(), failed: integer(), chunk: chunk.optional() }),
  response: () => z.object({ length: z.number() }),
} as const
const journal = {
  summary: 'Read the journal of a batch, in pieces',
  scope: 'read',
  params,
  response: () => chunk,
  answerType: 'application/x-ndjson',
} as const

const remove = {
  summary: 'Delete the journal of a batch that nobody runs',
  scope: 'read',
  params,
  response: success,
} as const

const withKey = { part: 'beyond', auth: 'api-key' } as const
const withToken = { part: 'admin', auth: 'admin' } as const

export const batchJournals = {
  'GET /batch-journals': endpoint({ id: 'listBatchJournals', ...withKey, ...list }),
  'POST /batch-journals/:id/hold': endpoint({ id: 'holdBatchJournal', ...withKey, ...hold }),
  'POST /batch-journals/:id/journal': endpoint({ id: 'appendToBatchJournal', ...withKey, ...append }),
  'GET /batch-journals/:id/journal': endpoint({ id: 'readBatchJournal', ...withKey, ...journal }),
  'DELETE /batch-journals/:id': endpoint({ id: 'deleteBatchJournal', ...withKey, ...remove }),
  'GET /admin/batch-journals': endpoint({ id: 'adminListBatchJournals', ...withToken, ...list }),
  'POST /admin/batch-journals/:id/hold': endpoint({ id: 'adminHoldBatchJournal', ...withToken, ...hold }),
  'POST /admin/batch-journals/:id/journal': endpoint({
    id: 'adminAppendToBatchJournal',
    ...withToken,
    ...append,
  }),
  'GET /admin/batch-journals/:id/journal': endpoint({
    id: 'adminReadBatchJournal',
    ...withToken,
    ...journal,
  }),
  'DELETE /admin/batch-journals/:id': endpoint({ id: 'adminDeleteBatchJournal', ...withToken, ...remove }),
} as const
