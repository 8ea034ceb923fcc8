import * as z from 'zod'
import { appliedColumns } from '../../../values/chip-columns.ts'
import { adminEndpoint } from '../endpoint.ts'
import { flag, team, text } from '../fields.ts'

const cell = () => z.union([z.string(), z.number(), z.boolean()]).nullable()
const applyResult = () =>
  z.object({
    row: z.number(),
    /** Null if no chip has the label. */
    uid: z.string().nullable(),
    status: z.enum(['created', 'changed', 'removed', 'unchanged', 'conflict', 'failed']),
    changes: z.record(z.string(), z.object({ from: cell(), to: cell() })).optional(),
    error: z.string().optional(),
  })

export const adminChipsApply = {
  'POST /admin/chips/apply': adminEndpoint({
    id: 'applyChips',
    summary:
      'Create or update chips from JSON lines: register, change, move, link, unlink, remove; answers one line per row. With dryRun, the plan',
    scope: 'edit',
    bodyLimit: 64 * 1024 * 1024,
    query: () =>
      z.object({
        ...team,
        dryRun: flag.optional(),
        reason: text(500).optional().meta({ description: 'Why chips are disabled, for the record' }),
      }),
    stream: {
      contentTypes: ['application/x-ndjson', 'application/jsonl', 'application/json'],
      description: `One row per line: uid or label, and any of ${appliedColumns.join(', ')}; revision or expected for a conflict, remove`,
    },
    response: applyResult,
    answerType: 'application/x-ndjson',
  }),
} as const
