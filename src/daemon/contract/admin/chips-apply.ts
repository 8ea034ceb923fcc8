import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { flag, team, text } from '../fields.ts'

/** Absent: left alone; null or empty: cleared. The values are checked with the chip. */
const applied = {
  chipGroup: text(200).nullable().optional(),
  label: text(4096).nullable().optional(),
  keySet: z
    .union([text(16), z.number()])
    .nullable()
    .optional(),
  redirectUrl: text(4096).nullable().optional(),
  item: text(4096).nullable().optional(),
  variant: text(4096).nullable().optional(),
  contractAddress: text(4096).nullable().optional(),
  chainId: z
    .union([text(16), z.number()])
    .nullable()
    .optional(),
  tokenId: z
    .union([text(4096), z.number()])
    .nullable()
    .optional(),
  disabled: z.boolean().nullable().optional(),
}

export const applyRow = z.strictObject({
  uid: text(64).nullable().optional(),
  ...applied,
  publicKey: text(4096).nullable().optional(),
  lastCounter: z
    .union([text(16), z.number()])
    .nullable()
    .optional(),
  revision: text(64).nullable().optional(),
  /** The row is a conflict unless these are the current values. */
  expected: z.strictObject(applied).optional(),
  /** True: removes the chip if it was never tapped and has no assignments; requires `expected`. */
  remove: z.union([z.literal(true), z.literal('always')]).optional(),
})

const cell = z.union([z.string(), z.number(), z.boolean()]).nullable()
const applyResult = z.object({
  row: z.number(),
  /** Null if no chip has the label. */
  uid: z.string().nullable(),
  status: z.enum(['created', 'changed', 'removed', 'unchanged', 'conflict', 'failed']),
  changes: z.record(z.string(), z.object({ from: cell, to: cell })).optional(),
  error: z.string().optional(),
})

export const adminChipsApply = {
  'POST /admin/chips/apply': adminEndpoint({
    summary:
      'Make chips as each row says, from JSON lines: register, change, move, link, unlink, remove; answers one line per row. With dryRun, the plan',
    scope: 'edit',
    bodyLimit: 64 * 1024 * 1024,
    query: z.object({
      ...team,
      dryRun: flag.optional(),
      reason: text(500).optional().meta({ description: 'Why chips are disabled, for the record' }),
    }),
    stream: {
      contentTypes: ['application/x-ndjson', 'application/jsonl', 'application/json'],
      description: `One row per line: uid or label, and any of ${Object.keys(applied).join(', ')}`,
    },
    response: applyResult,
    answerType: 'application/x-ndjson',
  }),
} as const
