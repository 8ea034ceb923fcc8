import * as z from 'zod'
import { isJsonObject } from '../../values/json.ts'
import { endpoint } from './endpoint.ts'
import { address, flag, integer, text, tokenId, uid } from './fields.ts'
import { refuseUnreadable, restoredMetadata } from './metadata.ts'
import { recipient } from './phygitals.ts'

// Batches of tokens, for scripts with an API key. A row names a token or the chip that carries it.

const target = {
  uid: uid.optional(),
  contractAddress: address.optional(),
  chainId: integer(1).optional(),
  tokenId: tokenId.optional(),
}
type Target = z.output<z.ZodObject<typeof target>>

const namesOne = ({ uid, contractAddress, chainId, tokenId }: Target): boolean => {
  const parts = [contractAddress, chainId, tokenId].filter((part) => part !== undefined).length
  return uid === undefined ? parts === 3 : parts === 0
}
const whichToken = 'must name its token: either uid, or contractAddress, chainId and tokenId'

export const moveRow = z
  .object({
    ...target,
    recipient,
    idempotencyKey: text(255)
      .regex(/^[\x21-\x7e]+$/)
      .optional(),
  })
  .refine(namesOne, whichToken)
const storedMetadata = z.record(z.string(), z.unknown()).nullable()
/** Null: none. Used only by an undo, which states the expected current value. */
export const metadataRow = z
  .object({ ...target, metadata: restoredMetadata.nullable(), expected: storedMetadata.optional() })
  .refine(namesOne, whichToken)
  .refine(({ metadata, expected }) => metadata !== null || expected !== undefined, {
    path: ['metadata'],
    message: 'must be an object; null only together with `expected`',
  })
  .superRefine(({ metadata, expected }, ctx) => {
    if (isJsonObject(metadata) && expected === undefined) refuseUnreadable(metadata, ctx, 'metadata')
  })

const row = z.number()
const error = () => z.string().optional()
/** `tokenId` is null if the token has not been minted yet. */
const currentToken = () =>
  z.object({ contractAddress: z.string(), chainId: z.number(), tokenId: z.string().nullable() }).optional()

/** Gas and wei as decimal text. */
const chainTotals = z.object({
  chainId: z.number(),
  transactions: z.number(),
  gas: z.string(),
  maxFeePerGas: z.string(),
  /** The chain's fee exceeds this daemon's maximum, so transactions wait. */
  isOverCap: z.boolean(),
  /** The cost of all the gas at that price. */
  cost: z.string(),
  /** The OP stack's fee beside gas, for all transactions; null if it cannot be read now. */
  l1Fee: z.string().nullable().optional(),
  /** The balance that the relayer needs, with the L1 fee. */
  needed: z.string(),
  relayer: z.string(),
  balance: z.string(),
  canPay: z.boolean(),
})

const checked = () =>
  z.object({
    row,
    status: z.enum(['transfer', 'mint', 'unchanged', 'refused', 'invalid']),
    token: currentToken(),
    owner: z.string().nullable().optional(),
    recipient: z.string().optional(),
    /** Why nothing would change, if not obvious. */
    note: z.string().optional(),
    error: error(),
  })
const moved = () =>
  z.object({
    row,
    status: z.enum(['transferred', 'queued', 'failed']),
    initialTxHash: z.string().optional(),
    error: error(),
    code: z.string().optional(),
    transactionId: z.number().optional(),
  })
const described = () =>
  z.object({
    row,
    status: z.enum(['changed', 'unchanged', 'failed', 'invalid']),
    token: currentToken(),
    previous: storedMetadata.optional(),
    error: error(),
  })

const totals = z.object({ totals: z.array(chainTotals) })
/** `budget` is present if the team's remaining daily budget is too small; the rows beyond it fail. */
const totalsWithin = () =>
  totals.extend({
    budget: z.object({ transactionsLeft: z.number().nullable(), gasLeft: z.number().nullable() }).optional(),
  })

const lines = (description: string) => ({
  contentTypes: ['application/x-ndjson', 'application/jsonl', 'application/json'],
  description,
})

export const phygitalBatches = {
  'POST /phygitals/transfer/check': endpoint({
    id: 'checkTransfersByLine',
    part: 'beyond',
    summary:
      "Report what transfers would do, from JSON lines { uid | contractAddress, chainId, tokenId; recipient }: one line per row, and a last one { totals, budget? } with gas and price by chain, and the team's remaining daily budget if it is too small",
    auth: 'api-key',
    scope: 'read',
    bodyLimit: 64 * 1024 * 1024,
    stream: lines('One transfer per line'),
    response: () => z.union([checked(), totalsWithin()]),
    answerType: 'application/x-ndjson',
  }),
  'POST /phygitals/transfer/batch': endpoint({
    id: 'transferTokensByLine',
    part: 'beyond',
    summary:
      'Transfer or mint row by row, from JSON lines { uid | contractAddress, chainId, tokenId; recipient; idempotencyKey? }, answering one line per row; a key is kept for 30 days',
    auth: 'api-key',
    scope: 'transfer',
    bodyLimit: 8 * 1024 * 1024,
    stream: lines('One transfer per line'),
    response: moved,
    answerType: 'application/x-ndjson',
  }),
  'POST /phygitals/metadata/batch': endpoint({
    id: 'updateTokenMetadataByLine',
    part: 'beyond',
    summary:
      'Replace metadata row by row, from JSON lines { uid | contractAddress, chainId, tokenId; metadata; expected? }, answering one line per row; a dry run ends with { totals }, the cost of the announcements on the chains',
    auth: 'api-key',
    scope: 'edit',
    bodyLimit: 64 * 1024 * 1024,
    query: () => z.object({ dryRun: flag.optional() }),
    stream: lines('One token per line'),
    response: () => z.union([described(), totals]),
    answerType: 'application/x-ndjson',
  }),
} as const
