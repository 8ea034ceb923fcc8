import * as z from 'zod'
import {
  type ChipColumn,
  type ChipValue,
  exportedColumns,
  importedColumns,
  selectableColumns,
} from '../../../values/chip-columns.ts'
import { adminEndpoint } from '../endpoint.ts'
import {
  address,
  batchId,
  chipText,
  chipValue,
  chipValuesOnWire,
  flag,
  integer,
  moment,
  mustBe,
  success,
  team,
  text,
  timestamp,
  tokenId,
  tokenRef,
  uid,
  uidList,
} from '../fields.ts'
import { shortList } from '../list.ts'

const one = z.object({ uid })

const chipForAdmin = () =>
  z.object({
    uid: z.string(),
    uidHex: z.string(),
    team: z.string(),
    chipGroup: z.object({ id: z.number(), name: z.string() }),
    family: z.enum(['ntag424', 'halo']),
    keySet: z.number().nullable(),
    generation: z.number(),
    publicKey: z.string().nullable(),
    label: z.string().nullable(),
    redirectUrl: z.string().nullable(),
    isConfigured: z.boolean(),
    isSimulated: z.boolean(),
    lastCounter: z.number().nullable(),
    lastTapAt: timestamp.nullable(),
    /** Seal of a TagTamper chip, once a tap reported it. Once `open`, it stays `open`. */
    tamper: z.enum(['closed', 'open']).nullable(),
    /** The tap that first reported the seal open. */
    openedAt: timestamp.nullable(),
    item: z.object({ id: z.string(), name: z.string(), variant: z.string().nullable() }).nullable(),
    linkedToken: tokenRef()
      .extend({
        /** Read from the chain. Null: the token has no owner, or `ownerNote` says why the owner is unknown. */
        ownerAddress: z.string().nullable(),
        ownerNote: z.string().optional(),
      })
      .nullable(),
    badgeEvents: z.array(z.object({ id: z.number(), name: z.string(), status: z.string() })),
    guestbookEvents: z.array(z.object({ id: z.number(), name: z.string() })),
    disabledAt: timestamp.nullable(),
    disabledReason: z.string().nullable(),
    replacedBy: z.string().nullable(),
    /** URL of its public page. Null: its team has none, or the chip is disabled. */
    publicPage: z.string().nullable(),
    createdAt: timestamp,
  })

const exportedChip = () =>
  z.object({
    uid: z.string(),
    ...chipValuesOnWire(exportedColumns),
    chipGroup: z.string(),
    disabled: z.boolean(),
    generation: z.number(),
    lastTapAt: timestamp.nullable(),
    createdAt: timestamp,
    isConfigured: z.boolean(),
    /** Revision of the values that can be applied; applying with another revision is a conflict. */
    revision: z.string(),
  })

const conditions = <C extends ChipColumn>(columns: readonly C[]) =>
  Object.fromEntries(columns.map((column) => [column, chipValue(column).optional()])) as unknown as {
    [column in C]: z.ZodOptional<z.ZodType<ChipValue<column> | null>>
  }

/** All given conditions must hold. An empty value: the chip has none. */
export const chipFilter = () => ({
  ...conditions(selectableColumns),
  chipGroup: chipText('chipGroup').optional(),
  /** May be repeated; matches any of them. */
  label: z
    .union(
      [chipValue('label'), shortList(chipText('label'), { notEmpty: 'must name a label' })],
      mustBe('1 to 200 characters of text'),
    )
    .optional(),
  disabled: flag.optional(),
  linked: flag.optional().meta({ description: 'To a token' }),
  tappedSince: moment.optional(),
})

export const adminChips = {
  'POST /admin/chips/import': adminEndpoint({
    id: 'importChips',
    summary:
      'Register chips from CSV or JSON lines; answers one line per row (with report=failures, only failed rows and a summary)',
    scope: 'edit',
    query: () =>
      z.object({
        ...team,
        chipGroup: chipText('chipGroup'),
        keySet: chipValue('keySet').optional(),
        /** `failures` and `exceptions` (rows that were failed or unchanged) end with a line of counts. */
        report: z.enum(['all', 'failures', 'exceptions']).optional(),
        dryRun: flag.optional(),
        simulated: flag.optional(),
      }),
    stream: {
      contentTypes: ['text/csv', 'application/x-ndjson', 'application/jsonl'],
      description: `Columns: ${importedColumns.join(', ')}`,
    },
    response: () =>
      z.union([
        z.object({
          row: z.number(),
          uid: z.string(),
          status: z.enum(['created', 'unchanged', 'failed']),
          error: z.string().optional(),
        }),
        z.object({ created: z.number(), unchanged: z.number(), failed: z.number() }),
      ]),
    answerType: 'application/x-ndjson',
  }),
  'POST /admin/chips/import/undo': adminEndpoint({
    id: 'undoChipImport',
    summary: 'Remove the chips that a batch imported and that nothing has happened to since',
    scope: 'edit',
    bodyLimit: 4 * 1024 * 1024,
    query: () => z.object({ dryRun: flag.optional() }),
    body: () => z.object({ batch: batchId, uids: uidList }),
    response: () =>
      z.array(
        z.object({
          uid: z.string(),
          status: z.enum(['removed', 'unchanged', 'failed']),
          error: z.string().optional(),
        }),
      ),
  }),
  'GET /admin/chips/export': adminEndpoint({
    id: 'exportChips',
    summary: "Stream a team's chips as JSON lines: all, or those for which every given condition holds",
    scope: 'read',
    query: () => z.object({ ...team, ...chipFilter() }),
    response: exportedChip,
    answerType: 'application/x-ndjson',
  }),
  'GET /admin/chips/:uid': adminEndpoint({
    id: 'getChip',
    summary: 'Show a chip with its last tap, key set, token and assignments',
    scope: 'read',
    params: () => one,
    response: chipForAdmin,
  }),
  'GET /admin/chips/:uid/history': adminEndpoint({
    id: 'getChipHistory',
    summary: 'List what happened to a chip, newest first: taps, changes with their values, and who made them',
    scope: 'read',
    params: () => one,
    query: () => z.object({ before: moment.optional(), limit: integer(1, 1000).optional() }),
    response: () =>
      z.array(
        z.object({
          at: timestamp,
          kind: z.enum(['tap', 'change', 'registration', 'setup', 'transfer', 'claim', 'mint', 'assignment']),
          by: z.string().nullable().describe('as in the audit log; null: a tap'),
          changes: z
            .record(z.string(), z.object({ from: z.unknown().optional(), to: z.unknown().optional() }))
            .optional()
            .describe('by column; a value is absent where an earlier version did not record it'),
          detail: z.record(z.string(), z.unknown()).optional(),
        }),
      ),
  }),
  'POST /admin/chips/:uid/link': adminEndpoint({
    id: 'linkChip',
    summary: 'Link a chip to a token, to an item, or to both',
    scope: 'edit',
    params: () => one,
    body: () =>
      z.object({
        token: z.object({ contractAddress: address, chainId: integer(1), tokenId }).optional(),
        item: chipText('item').optional(),
        variant: chipText('variant').optional(),
      }),
    response: chipForAdmin,
  }),
  'POST /admin/chips/:uid/unlink': adminEndpoint({
    id: 'unlinkChip',
    summary: 'Remove the token, the item, or both from a chip',
    scope: 'edit',
    params: () => one,
    body: () => z.object({ token: z.boolean().optional(), item: z.boolean().optional() }),
    response: chipForAdmin,
  }),
  'POST /admin/chips/:uid/replace': adminEndpoint({
    id: 'replaceChip',
    summary: 'Move everything from a chip to another registered chip, and disable the first',
    scope: 'edit',
    params: () => one,
    body: () => z.object({ with: uid }),
    response: () => chipForAdmin().extend({ status: z.enum(['replaced', 'unchanged']) }),
  }),
  'POST /admin/chips/:uid/disable': adminEndpoint({
    id: 'disableChip',
    summary: 'Disable a stolen or lost chip, which invalidates its taps, refs, and codes',
    scope: 'edit',
    params: () => one,
    body: () => z.object({ reason: text(500).optional() }),
    response: chipForAdmin,
  }),
  'POST /admin/chips/:uid/enable': adminEndpoint({
    id: 'enableChip',
    summary: 'Enable a disabled chip again',
    scope: 'edit',
    params: () => one,
    response: chipForAdmin,
  }),
  'DELETE /admin/chips/:uid': adminEndpoint({
    id: 'deleteChip',
    summary: 'Remove a chip from the registry',
    scope: 'edit',
    params: () => one,
    response: success,
  }),
  'POST /admin/chips/:uid/simulate': adminEndpoint({
    id: 'simulateTap',
    summary: "Create the URLs of a simulated chip's next taps",
    scope: 'edit',
    params: () => one,
    body: () => z.object({ count: integer(1, 10_000).optional() }),
    response: () =>
      z.array(
        z.object({
          uid: z.string(),
          url: z.string(),
          e: z.string().nullable(),
          c: z.string(),
          d: z.string().nullable(),
          counter: z.number(),
        }),
      ),
    noStore: true,
  }),
} as const
