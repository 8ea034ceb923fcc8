import { isDeepStrictEqual } from 'node:util'
import { parseObject } from '../../../values/json.ts'
import { Slice } from '../../../values/slices.ts'
import type { Chains } from '../../chain/chains.ts'
import type { Actor } from '../../store/audit.ts'
import type { Db } from '../../store/database.ts'
import { findToken, type LocatedToken, type TokenLocation } from '../../store/tokens.ts'
import { announcedTogether, announceGas, announceGasLimit } from '../chain/announcements.ts'
import { chainOf } from '../chain/read-chain.ts'
import { DomainError, notFound } from '../errors.ts'
import type { BudgetClock } from '../time.ts'
import { type ChainTotals, priced } from './batch-costs.ts'
import { type RowTarget, tokenOfRow } from './batch-row.ts'
import { locationOf } from './find-token.ts'
import { announce, byContract, isAnnounced, writeMetadata } from './metadata.ts'

type Metadata = Readonly<Record<string, unknown>>

export interface MetadataRow {
  row: number
  target: RowTarget
  /** Null: none. */
  metadata: Metadata | null
  /** If present, the row applies only if the token's metadata equals this. Null: if it has none. */
  expected?: Metadata | null | undefined
}

type MetadataResult =
  | {
      row: number
      status: 'changed' | 'unchanged'
      token: TokenLocation
      /** Null: there was none. */
      previous: Metadata | null
    }
  | { row: number; status: 'failed'; error: string }

type Deps = { db: Db; clock: BudgetClock; chains: Chains; marketplace: object | undefined }
interface Caller {
  teamId: number
  actor: Actor
}

/** Rows per write; those of one contract share an announcement. */
const together = announcedTogether
/** Characters per write, since a write blocks all others. */
const lengthTogether = 128 * 1024

/** A bad row fails alone, and an unchanged one costs no gas. @returns one result per row, in order */
export async function* replaceMetadataRows(
  deps: Deps,
  { teamId, actor }: Caller,
  rows: AsyncIterable<MetadataRow>,
): AsyncGenerator<MetadataResult> {
  for await (const group of groupsOf(rows)) {
    const found = await tokensOf(deps, teamId, group)
    const now = deps.clock.now()
    const results = await deps.db.write(async (trx) => {
      const changed: LocatedToken[] = []
      const described: MetadataResult[] = []
      for (const { row, token: before } of found) {
        // Read again, since an earlier row may have changed the same token.
        const token =
          before instanceof DomainError ? before : ((await findToken(trx, before.id)) ?? notFound('token'))
        const result = judge(row, token)
        described.push(result)
        if (result.status !== 'changed' || token instanceof DomainError) continue
        await writeMetadata(trx, deps, { token, metadata: row.metadata, actor, now })
        changed.push(token)
      }
      await announce(trx, deps, changed)
      return described
    })
    deps.chains.relayer.wake()
    yield* results
  }
}

/**
 * A dry run. An unreachable chain is left out of the totals, since the metadata itself does not need it. @param
 * feeCap wei per gas; the relayer's maximum
 */
export async function* checkMetadataRows(
  deps: Deps,
  { teamId, feeCap }: { teamId: number; feeCap: (chainId: number) => bigint | undefined },
  rows: AsyncIterable<MetadataRow>,
): AsyncGenerator<MetadataResult | { totals: ChainTotals[] }> {
  const sums = new Map<number, { transactions: number; gas: bigint; gasLimit: bigint }>()
  for await (const group of groupsOf(rows)) {
    const changed: LocatedToken[] = []
    for (const { row, token } of await tokensOf(deps, teamId, group)) {
      const result = judge(row, token)
      if (result.status === 'changed' && !(token instanceof DomainError)) changed.push(token)
      yield result
    }
    for (const tokens of byContract(changed.filter((token) => isAnnounced(deps, token)))) {
      const count = new Set(tokens.map(({ tokenId }) => tokenId)).size
      const chainId = tokens[0]?.chainId ?? 0
      const sum = sums.get(chainId) ?? { transactions: 0, gas: 0n, gasLimit: 0n }
      const gasLimit = BigInt(announceGasLimit(count))
      sums.set(chainId, {
        transactions: sum.transactions + 1,
        gas: sum.gas + BigInt(announceGas(count)),
        gasLimit: gasLimit > sum.gasLimit ? gasLimit : sum.gasLimit,
      })
    }
  }
  const ids = [...sums].sort(([one], [other]) => one - other)
  const totals = ids.map(([id, sum]) =>
    priced(chainOf(deps.chains, id), feeCap(id), sum).catch((error: unknown) => {
      if (error instanceof DomainError) return undefined
      throw error
    }),
  )
  yield { totals: (await Promise.all(totals)).filter((total) => total !== undefined) }
}

async function* groupsOf(rows: AsyncIterable<MetadataRow>): AsyncGenerator<readonly MetadataRow[]> {
  const slice = new Slice()
  let group: MetadataRow[] = []
  let length = 0
  for await (const row of rows) {
    group.push(row)
    length += JSON.stringify(row.metadata).length
    if (group.length < together && length < lengthTogether) continue
    yield group
    group = []
    length = 0
    await slice.next()
  }
  if (group.length > 0) yield group
}

/** Each row's token, or the error. */
const tokensOf = (
  deps: Deps,
  teamId: number,
  rows: readonly MetadataRow[],
): Promise<{ row: MetadataRow; token: LocatedToken | DomainError }[]> =>
  Promise.all(
    rows.map(async (row) => {
      const token = await tokenOfRow(deps, teamId, row.target).catch((error: unknown) => {
        if (error instanceof DomainError) return error
        throw error
      })
      return { row, token }
    }),
  )

/** Validated when written. */
const storedMetadata = (json: string): Metadata => parseObject(json) ?? {}

function judge({ row, metadata, expected }: MetadataRow, found: LocatedToken | DomainError): MetadataResult {
  if (found instanceof DomainError) return { row, status: 'failed', error: found.message }
  const token = locationOf(found)
  const previous = found.metadata === null ? null : storedMetadata(found.metadata)
  if (isDeepStrictEqual(previous, metadata)) return { row, status: 'unchanged', token, previous }
  if (expected !== undefined && !isDeepStrictEqual(previous, expected))
    return { row, status: 'failed', error: 'It was changed in the meantime and was left unchanged.' }
  return { row, status: 'changed', token, previous }
}
