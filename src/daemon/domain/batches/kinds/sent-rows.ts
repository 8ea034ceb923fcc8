import { type GroupedMint, recordMints } from '../../chain/record-groups.ts'
import type { KeyedRequest } from '../../chain/transactions.ts'
import { DomainError, type ErrorCode } from '../../errors/errors.ts'
import { mapConcurrently } from '../../phygitals/batch-row.ts'
import type { BatchDeps, BatchRun, NumberedRow, PlannedRow, RowResult } from '../kind.ts'

/** Longer than any batch is kept, so that a row is never sent twice, however late its batch is resumed. */
const keyLifetimeMs = 200 * 24 * 3_600_000

/** The request for a row. @param request everything that identifies it */
export const claimOfRow = (
  { idempotency }: Pick<BatchDeps, 'idempotency'>,
  { teamId }: BatchRun,
  key: string,
  request: unknown,
): KeyedRequest => idempotency.claim({ scope: `batch:${teamId}`, key, request, lifetimeMs: keyLifetimeMs })

/** Four times this many rows are recorded together, in groups of up to 100. */
export const rowsAtOnce = 125

/** The same key finds the result of a row whose answer was lost. */
const passing: ReadonlySet<ErrorCode> = new Set([
  'chain_unavailable',
  'badge_unavailable',
  'outcome_unknown',
  'store_unavailable',
  'store_full',
])

/** Not the row's fault, so it is retried. */
export const isPassing = (code: ErrorCode): boolean => passing.has(code)

/** The message without its remark on codes, which batches do not use. */
export const describeRow = (message: string): string =>
  message
    .replace(/ ?Nothing was used up(; [^.]*)?\.$/, '')
    .replace(/Nothing was used up: ([a-z])/, (_, first: string) => first.toUpperCase())

type KeyedRow<R extends NumberedRow, T extends RowResult> = PlannedRow<R, T> & { readonly key: string }

/**
 * Records the mints of rows in groups. @param prepare undefined, or an error: the row is sent alone, and then says why
 * @returns results by key, of those recorded
 */
export async function mintTogether<R extends NumberedRow, T extends RowResult>(
  deps: BatchDeps,
  { teamId }: BatchRun,
  rows: readonly KeyedRow<R, T>[],
  prepare: (row: KeyedRow<R, T>) => Promise<(GroupedMint & { result: T }) | undefined>,
): Promise<Map<string, T>> {
  const prepared = mapConcurrently(rows, rowsAtOnce, async (row) => {
    if (row.planned?.status === 'failed') return undefined
    try {
      const mint = await prepare(row)
      return mint && { ...mint, key: row.key }
    } catch (error) {
      if (error instanceof DomainError) return undefined
      throw error
    }
  })
  const mints: (GroupedMint & { result: T; key: string })[] = []
  for await (const mint of prepared) if (mint) mints.push(mint)
  const recorded = await recordMints(deps, teamId, mints)
  return new Map(recorded.map(({ key, result }) => [key, result]))
}
