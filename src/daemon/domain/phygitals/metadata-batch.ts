import { isDeepStrictEqual } from 'node:util'
import type { Chains } from '../../chain/chains.ts'
import type { Actor } from '../../store/audit.ts'
import type { Db } from '../../store/database.ts'
import type { TokenLocation } from '../../store/tokens.ts'
import { DomainError } from '../errors.ts'
import type { Clock } from '../time.ts'
import { type RowTarget, tokenOfRow } from './batch-row.ts'
import { inOrder } from './in-order.ts'
import { replaceMetadata } from './metadata.ts'

type Metadata = Readonly<Record<string, unknown>>

export interface MetadataRow {
  row: number
  target: RowTarget
  metadata: Metadata
  /** Present: the row is done only where this is what the token has now. */
  expected?: Metadata | undefined
}

export type DescribedRow =
  | {
      row: number
      status: 'changed' | 'unchanged'
      token: TokenLocation
      /** What it was before; null: nothing. */
      previous: Metadata | null
    }
  | { row: number; status: 'failed'; error: string }

type Deps = { db: Db; clock: Clock; chains: Chains; marketplace: object | undefined }
interface Caller {
  teamId: number
  actor: Actor
}

const atOnce = 64

/**
 * Replaces metadata row by row; a row that cannot be done fails alone, and one that changes nothing costs no gas.
 * @returns a result a row, in order
 */
export const describeRows = (
  deps: Deps,
  caller: Caller,
  rows: readonly MetadataRow[],
  dryRun: boolean,
): AsyncGenerator<DescribedRow> => inOrder(rows, atOnce, (row) => describeRow(deps, caller, row, dryRun))

async function describeRow(
  deps: Deps,
  caller: Caller,
  { row, target, metadata, expected }: MetadataRow,
  dryRun: boolean,
): Promise<DescribedRow> {
  try {
    const found = await tokenOfRow(deps, caller.teamId, target)
    const { contractAddress, chainId, tokenId } = found
    const token = { contractAddress, chainId, tokenId }
    // Checked when it was written.
    const previous: Metadata | null = found.metadata === null ? null : JSON.parse(found.metadata)
    if (isDeepStrictEqual(previous, metadata)) return { row, status: 'unchanged', token, previous }
    if (expected !== undefined && !isDeepStrictEqual(previous, expected))
      return { row, status: 'failed', error: 'It was changed in the meantime, and is left as it is.' }
    if (!dryRun) await replaceMetadata(deps, caller, token, metadata)
    return { row, status: 'changed', token, previous }
  } catch (error) {
    if (error instanceof DomainError) return { row, status: 'failed', error: error.message }
    throw error
  }
}
