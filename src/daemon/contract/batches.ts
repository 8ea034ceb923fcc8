import * as z from 'zod'
import { batchNamePattern, batchStates, isBatchName } from '../../values/batch.ts'
import { endpoint } from './endpoint.ts'
import { flag, integer, moment, name, page, success, team, text, timestamp } from './fields.ts'

// Batches that the daemon runs. An API key gives access to its team's; /admin shows all teams'.

const count = z.number()
/** A row's planned or actual result. Kinds add their own members. */
const result = () =>
  z.looseObject({ row: count, status: z.string().optional(), error: z.string().optional() })

export const batchOnWire = z.object({
  id: z.string(),
  name: z.string().nullable(),
  kind: z.string(),
  state: z.enum(batchStates),
  team: z.string(),
  startedBy: z.string(),
  approvedBy: z.string().nullable(),
  note: z.string().nullable(),
  at: timestamp.nullable(),
  until: timestamp.nullable(),
  host: z.string().nullable(),
  context: z.string().nullable(),
  settings: z.record(z.string(), z.unknown()),
  undoes: z.string().nullable(),
  total: count,
  /** Rows that have arrived. */
  uploaded: count,
  /** Rows with a result: the sum of the next four fields. */
  done: count,
  changed: count,
  unchanged: count,
  failed: count,
  conflict: count,
  /** Totals of the plan: rows by status, and counts for the confirmation question. */
  plan: z.record(z.string(), z.unknown()).nullable(),
  /** Why it waits, was paused, or failed. */
  error: z.string().nullable(),
  /** How many seconds late it started, if more than a minute. */
  lateSeconds: count.nullable(),
  auditHead: z.string().nullable(),
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
})

/** The batch's ID or name. */
const params = () => z.object({ id: text(64).regex(batchNamePattern) })
const lines = {
  contentTypes: ['application/x-ndjson', 'application/jsonl', 'application/json'],
  description: 'One row per line, each with its number `row`; its other fields depend on the kind',
}

const list = {
  summary: 'List batches, newest first',
  scope: 'read',
  query: () => z.object({ ...team, state: z.enum(batchStates).optional(), limit: page.limit }),
  response: () => z.array(batchOnWire),
} as const
const show = { summary: 'Show a batch', scope: 'read', params, response: () => batchOnWire } as const
const create = {
  summary:
    'Create a batch, whose rows are uploaded next. If one with the same name and rows exists, answers that one',
  scope: 'read',
  body: () =>
    z.object({
      ...team,
      kind: name(100),
      name: text(64)
        .regex(batchNamePattern, 'must be 1 to 64 of A-Z a-z 0-9 . _ -')
        .refine(isBatchName, 'must not be . or ..')
        .optional(),
      note: text(500).optional(),
      at: moment.optional(),
      until: moment.optional(),
      propose: flag.optional(),
      host: text(255).optional(),
      context: text(200).optional(),
      settings: z.record(z.string(), z.unknown()).optional(),
      rate: z.number().positive().optional(),
      total: integer(1),
      rowsHash: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex')
        .meta({
          description: 'SHA-256 of the rows as they are uploaded, in hex',
          examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
        }),
    }),
  response: () => z.object({ isNew: z.boolean(), batch: batchOnWire }),
} as const
const upload = {
  summary: 'Upload the next rows of a batch. `from` is the number of rows already uploaded',
  scope: 'read',
  params,
  bodyLimit: 16 * 1024 * 1024,
  query: () => z.object({ from: integer() }),
  stream: lines,
  response: () => z.object({ uploaded: count }),
} as const
const uploadFile = {
  summary: 'Upload a file that rows refer to by its SHA-256, such as an image',
  scope: 'read',
  params: () => params().extend({ hash: z.string().regex(/^[0-9a-f]{64}$/) }),
  bodyLimit: 8 * 1024 * 1024,
  stream: {
    contentTypes: ['image/png', 'image/gif', 'image/jpeg', 'image/svg+xml', 'image/webp'],
    description: 'The file',
  },
  response: success,
} as const
const plan = {
  summary:
    'Plan a batch whose rows are all uploaded: one line per row that says what it would do, then { totals, costs? }',
  scope: 'read',
  params,
  query: () => z.object({ report: z.enum(['all', 'exceptions', 'none']).optional() }),
  response: () =>
    z.union([
      z.object({ totals: z.record(z.string(), z.number()), costs: z.looseObject({}).optional() }),
      result(),
    ]),
  answerType: 'application/x-ndjson',
} as const
const act = (summary: string) => ({ summary, scope: 'read', params, response: () => batchOnWire }) as const
const start = act('Start a batch: now, at its time, or once it is approved')
const approve = act('Approve a batch that somebody else proposed')
const pause = act('Pause a batch; rows in progress are finished first')
const resume = {
  ...act('Resume a batch that was paused or has failed, or retry its failed rows'),
  body: () => z.object({ retryFailed: flag.optional(), rate: z.number().positive().optional() }),
} as const
const cancel = act('Cancel a batch that is not running')
const undo = {
  ...act('Create the batch that undoes this one. It is planned and started like any other'),
  body: () => z.object({ host: text(255).optional(), context: text(200).optional() }),
} as const
const follow = {
  summary:
    'Stream the results of a batch in the order of its rows, after the first `after` ones; each second a line { batch }, and one at its end',
  scope: 'read',
  params,
  query: () => z.object({ after: integer().optional() }),
  response: () => z.union([z.object({ batch: batchOnWire }), result()]),
  answerType: 'application/x-ndjson',
} as const
const report = {
  summary: 'Every row of a batch with its last result',
  scope: 'read',
  params,
  query: () => z.object({ failed: flag.optional() }),
  response: result,
  answerType: 'application/x-ndjson',
} as const
const rows = {
  summary: 'List rows of a batch by the page, as they were planned and with their last result',
  scope: 'read',
  params,
  query: () =>
    z.object({
      after: text(30).optional().describe('`next` of the page before'),
      limit: integer(1, 500).optional(),
      failed: flag.optional().describe('only those that failed or conflict; a page may then be empty'),
    }),
  response: () =>
    z.object({
      rows: z.array(z.object({ row: count, plan: result().nullable(), result: result().nullable() })),
      next: z.string().nullable().describe('for the next page; null: there is none'),
    }),
} as const
const remove = {
  summary: 'Delete a batch that is not running',
  scope: 'read',
  params,
  response: success,
} as const

const withKey = { part: 'beyond', auth: 'api-key' } as const
const withToken = { part: 'admin', auth: 'admin' } as const

export const batches = {
  'GET /batches': endpoint({ id: 'listBatches', ...withKey, ...list }),
  'POST /batches': endpoint({ id: 'createBatch', ...withKey, ...create }),
  'GET /batches/:id': endpoint({ id: 'showBatch', ...withKey, ...show }),
  'DELETE /batches/:id': endpoint({ id: 'removeBatch', ...withKey, ...remove }),
  'POST /batches/:id/rows': endpoint({ id: 'uploadBatchRows', ...withKey, ...upload }),
  'POST /batches/:id/plan': endpoint({ id: 'planBatch', ...withKey, ...plan }),
  'POST /batches/:id/start': endpoint({ id: 'startBatch', ...withKey, ...start }),
  'POST /batches/:id/approve': endpoint({ id: 'approveBatch', ...withKey, ...approve }),
  'POST /batches/:id/pause': endpoint({ id: 'pauseBatch', ...withKey, ...pause }),
  'POST /batches/:id/resume': endpoint({ id: 'resumeBatch', ...withKey, ...resume }),
  'POST /batches/:id/cancel': endpoint({ id: 'cancelBatch', ...withKey, ...cancel }),
  'POST /batches/:id/undo': endpoint({ id: 'undoBatch', ...withKey, ...undo }),
  'GET /batches/:id/follow': endpoint({ id: 'followBatch', ...withKey, ...follow }),
  'GET /batches/:id/report': endpoint({ id: 'reportBatch', ...withKey, ...report }),
  'GET /admin/batches': endpoint({ id: 'adminListBatches', ...withToken, ...list }),
  'POST /admin/batches': endpoint({ id: 'adminCreateBatch', ...withToken, ...create }),
  'GET /admin/batches/:id': endpoint({ id: 'adminShowBatch', ...withToken, ...show }),
  'DELETE /admin/batches/:id': endpoint({ id: 'adminRemoveBatch', ...withToken, ...remove }),
  'POST /admin/batches/:id/rows': endpoint({ id: 'adminUploadBatchRows', ...withToken, ...upload }),
  'POST /admin/batches/:id/plan': endpoint({ id: 'adminPlanBatch', ...withToken, ...plan }),
  'POST /admin/batches/:id/start': endpoint({ id: 'adminStartBatch', ...withToken, ...start }),
  'POST /admin/batches/:id/approve': endpoint({ id: 'adminApproveBatch', ...withToken, ...approve }),
  'POST /admin/batches/:id/pause': endpoint({ id: 'adminPauseBatch', ...withToken, ...pause }),
  'POST /admin/batches/:id/resume': endpoint({ id: 'adminResumeBatch', ...withToken, ...resume }),
  'POST /admin/batches/:id/cancel': endpoint({ id: 'adminCancelBatch', ...withToken, ...cancel }),
  'POST /admin/batches/:id/undo': endpoint({ id: 'adminUndoBatch', ...withToken, ...undo }),
  'GET /admin/batches/:id/follow': endpoint({ id: 'adminFollowBatch', ...withToken, ...follow }),
  'GET /admin/batches/:id/rows': endpoint({ id: 'adminListBatchRows', ...withToken, ...rows }),
  'GET /admin/batches/:id/report': endpoint({ id: 'adminReportBatch', ...withToken, ...report }),
} as const

export const batchFiles = {
  'POST /batches/:id/files/:hash': endpoint({ id: 'uploadBatchFile', ...withKey, ...uploadFile }),
  'POST /admin/batches/:id/files/:hash': endpoint({
    id: 'adminUploadBatchFile',
    ...withToken,
    ...uploadFile,
  }),
} as const
