import { isJsonObject, type JsonObject, parseObject } from '../../../../values/json.ts'
import { metadataProblems } from '../../../../values/token-metadata.ts'
import { findContractAt } from '../../../store/contracts/contracts.ts'
import type { TokenLocation } from '../../../store/phygitals/tokens.ts'
import { maxPerAnnouncement } from '../../chain/announcements.ts'
import { totalsAsText } from '../../chain/prices.ts'
import { isChip, type RowTarget, targetOfRow } from '../../phygitals/batch-row.ts'
import {
  AnnouncementCosts,
  checkMetadata,
  type MetadataResult as Judged,
  type Metadata,
  replaceMetadataIn,
} from '../../phygitals/metadata-batch.ts'
import type { NumberedRow, RowResult, WrittenKind } from '../kind.ts'
import { LineProblem, lineReader } from './lines.ts'
import { describeTarget, firstWith, targetIn } from './token-lines.ts'

export type MetadataLine = NumberedRow &
  RowTarget & {
    /** null: none. */
    readonly metadata: Metadata | null
    /** The row applies only if this is the token's metadata. Null: only if it has none. */
    readonly expected?: Metadata | null
  }

export interface MetadataResult extends RowResult {
  readonly uid?: string
  readonly token?: TokenLocation | undefined
  /** null: there was none. */
  readonly previous?: Metadata | null | undefined
  /** In a plan: the metadata that the token would get. */
  readonly metadata?: Metadata | null
  /** The row can never succeed. */
  readonly isInvalid?: true
}

/** @throws LineProblem */
function metadataIn({ metadata: cell, expected }: JsonObject): Pick<MetadataLine, 'metadata' | 'expected'> {
  const isRestored = expected !== undefined
  if (isRestored && expected !== null && !isJsonObject(expected))
    throw new LineProblem('expected must be an object or null')
  const expecting = isRestored ? { expected } : {}
  if (cell === null) {
    if (isRestored) return { metadata: null, ...expecting }
    throw new LineProblem('metadata must be an object; null only together with `expected`')
  }
  const metadata = typeof cell === 'string' ? parseObject(cell) : cell
  if (!isJsonObject(metadata)) throw new LineProblem('metadata must be an object')
  for (const { path, message } of metadataProblems(metadata, { of: 'phygital', isRestored }))
    throw new LineProblem(`${['metadata', ...path].join('.')}: ${message}`)
  return { metadata, ...expecting }
}

const inOrder = ({ row, metadata, expected, ...target }: MetadataLine) => ({
  row,
  target: targetOfRow(target),
  metadata,
  expected,
})

function shown(judged: Judged, line: MetadataLine): MetadataResult {
  if ('error' in judged) return { ...targetOfRow(line), ...judged, error: describeTarget(judged.error, line) }
  return isChip(line) ? { uid: line.uid, ...judged } : judged
}

export const phygitalMetadata: WrittenKind<MetadataLine, MetadataResult> = {
  names: ['phygitals metadata', 'phygitals undo'],
  how: 'written',
  isAdmin: false,
  scope: 'edit',
  readRow: lineReader((line, row) => ({ row, ...targetIn(line), ...metadataIn(line) })),
  async plan(deps, { teamId }, rows, seen) {
    const checked = await checkMetadata(deps, teamId, rows.map(inOrder))
    return rows.map((row, at) => {
      const judged = checked[at]?.result ?? { row: row.row, status: 'failed', error: 'was not reached' }
      const other = firstWith(seen, row.row, judged.token)
      if (other === undefined)
        return { ...shown(judged, row), ...('error' in judged ? {} : { metadata: row.metadata }) }
      const error = `is about the same token as row ${other}`
      return { row: row.row, status: 'failed', token: judged.token, error, isInvalid: true }
    })
  },
  async costs(deps, _run, pieces) {
    const costs = new AnnouncementCosts(deps)
    const contracts = new Map<string, ReturnType<typeof findContractAt>>()
    const announced = async ({ chainId, contractAddress, tokenId }: TokenLocation) => {
      const key = `${chainId}/${contractAddress}`
      const pending = contracts.get(key) ?? findContractAt(deps.db.read, chainId, contractAddress)
      contracts.set(key, pending)
      const contract = await pending
      if (!contract) return []
      return [{ chainId, tokenId, contractId: contract.id, contractTransactionId: contract.transactionId }]
    }
    for await (const results of pieces)
      for (let from = 0; from < results.length; from += maxPerAnnouncement) {
        const changed = results
          .slice(from, from + maxPerAnnouncement)
          .flatMap(({ status, token }) => (status === 'changed' && token ? [token] : []))
        costs.add((await Promise.all(changed.map(announced))).flat())
      }
    const totals = await costs.totals((chainId) => deps.feeCap(chainId))
    return { totals: totals.map(totalsAsText) }
  },
  // Rows of one contract in the same write share an announcement, which costs gas.
  rowsPerWrite: { min: maxPerAnnouncement, max: maxPerAnnouncement },
  staysInPiece: true,
  async write(trx, deps, run, rows) {
    // A planned row does exactly what its plan showed, or nothing.
    const open = rows.filter(({ planned }) => planned?.status !== 'failed')
    const changes = open.map(({ row, planned }) => {
      const previous = planned?.previous
      return { ...inOrder(row), ...(previous === undefined ? {} : { expected: previous }) }
    })
    const judged = new Map((await replaceMetadataIn(trx, deps, run, changes)).map((one) => [one.row, one]))
    return rows.map(({ row, planned }) => {
      const result = judged.get(row.row)
      if (result) return shown(result, row)
      return planned ?? { row: row.row, status: 'failed', error: 'was not reached' }
    })
  },
  written: ({ chains }) => chains.relayer.wake(),
  undo: {
    kind: 'phygitals undo',
    // The token itself, since the chip may be linked to another one by now.
    row: ({ row, metadata }, { status, token, previous }) =>
      status === 'changed' && token && previous !== undefined
        ? { row, ...token, metadata: previous, expected: metadata }
        : undefined,
  },
}
