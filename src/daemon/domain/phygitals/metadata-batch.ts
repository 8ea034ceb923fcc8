import { isDeepStrictEqual } from 'node:util'
import { parseObject } from '../../../values/json.ts'
import { TimeSlice } from '../../../values/time-slices.ts'
import type { Chains } from '../../chain/chains.ts'
import type { Actor } from '../../store/audit/audit.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { LocatedToken, TokenLocation } from '../../store/phygitals/tokens.ts'
import { announceData, announceGas, announceGasLimit, maxPerAnnouncement } from '../chain/announcements.ts'
import { type ChainTotals, type ChainTransactions, priced } from '../chain/prices.ts'
import { chainOf } from '../chain/read-chain.ts'
import { DomainError } from '../errors/errors.ts'
import type { BudgetClock } from '../time/time.ts'
import { type RowTarget, tokenOfRow } from './batch-row.ts'
import { announce, byContract, isAnnounced, writeMetadata } from './metadata.ts'
import { locationOf } from './target.ts'

export type Metadata = Readonly<Record<string, unknown>>

export interface MetadataRow {
  row: number
  target: RowTarget
  /** Null: none. */
  metadata: Metadata | null
  /** If present, the row applies only if the token's metadata equals this. Null: if it has none. */
  expected?: Metadata | null | undefined
}

export type MetadataResult =
  | {
      row: number
      status: 'changed' | 'unchanged'
      token: TokenLocation
      /** Null: there was none. */
      previous: Metadata | null
    }
  | {
      row: number
      /** `conflict`: the current value is not the expected one. */
      status: 'failed' | 'conflict'
      token?: never
      previous?: never
      error: string
    }

type Deps = { db: Db; clock: BudgetClock; chains: Chains; marketplace: object | undefined }
interface Caller {
  teamId: number
  actor: Actor
}

/** Rows per write; those of one contract share an announcement. */
const maxRows = maxPerAnnouncement
/** Characters per write, since a write blocks all others. */
const maxBatchLength = 128 * 1024

/** Rows fail independently, and an unchanged one costs no gas. @returns one result per row, in order */
export async function* replaceMetadataRows(
  deps: Deps,
  caller: Caller,
  rows: AsyncIterable<MetadataRow>,
): AsyncGenerator<MetadataResult> {
  for await (const group of groupsOf(rows)) {
    const results = await deps.db.write((trx) => replaceMetadataIn(trx, deps, caller, group))
    deps.chains.relayer.wake()
    yield* results
  }
}

/** A step of a larger write. Announces the rows' tokens, one transaction per contract. */
export async function replaceMetadataIn(
  trx: Queries,
  deps: Omit<Deps, 'db'>,
  { teamId, actor }: Caller,
  rows: readonly MetadataRow[],
): Promise<MetadataResult[]> {
  const now = deps.clock.now()
  const changed: LocatedToken[] = []
  const results: MetadataResult[] = []
  // One by one, since an earlier row may have changed the same token.
  for (const row of rows) {
    const token = await tokenOrError({ db: { read: trx } }, teamId, row)
    const result = judge(row, token)
    results.push(result)
    if (result.status !== 'changed' || token instanceof DomainError) continue
    await writeMetadata(trx, deps, { token, metadata: row.metadata, actor, now })
    changed.push(token)
  }
  await announce(trx, deps, changed)
  return results
}

/** Plans rows. */
export const checkMetadata = (
  deps: { db: Pick<Db, 'read'> },
  teamId: number,
  rows: readonly MetadataRow[],
): Promise<{ result: MetadataResult; token: LocatedToken | undefined }[]> =>
  Promise.all(
    rows.map(async (row) => {
      const token = await tokenOrError(deps, teamId, row)
      const result = judge(row, token)
      return { result, token: token instanceof DomainError ? undefined : token }
    }),
  )

/** A dry run, with the cost of the announcements at the end. @param feeCap wei per gas; the relayer's maximum */
export async function* checkMetadataRows(
  deps: Deps,
  { teamId, feeCap }: { teamId: number; feeCap: FeeCap },
  rows: AsyncIterable<MetadataRow>,
): AsyncGenerator<MetadataResult | { totals: ChainTotals[] }> {
  const costs = new AnnouncementCosts(deps)
  for await (const group of groupsOf(rows)) {
    const checked = await checkMetadata(deps, teamId, group)
    costs.add(checked.flatMap(({ result, token }) => (result.status === 'changed' && token ? [token] : [])))
    yield* checked.map(({ result }) => result)
  }
  yield { totals: await costs.totals(feeCap) }
}

/** A token whose metadata changed. */
type ChangedToken = Pick<LocatedToken, 'contractId' | 'contractTransactionId' | 'chainId' | 'tokenId'>
type FeeCap = (chainId: number) => bigint | undefined

/** Sums up the cost of announcing changed metadata. */
export class AnnouncementCosts {
  readonly #deps: Pick<Deps, 'chains'>
  readonly #sums = new Map<number, ChainTransactions>()
  constructor(deps: Pick<Deps, 'chains'>) {
    this.#deps = deps
  }

  /** @param changed in one write */
  add(changed: readonly ChangedToken[]): void {
    for (const tokens of byContract(changed.filter((token) => isAnnounced(this.#deps, token)))) {
      const ids = [...new Set(tokens.map(({ tokenId }) => tokenId))].map(BigInt)
      const count = ids.length
      const chainId = tokens[0]?.chainId ?? 0
      const sum = this.#sums.get(chainId) ?? { transactions: 0, gas: 0n, gasLimit: 0n, data: '0x' }
      const gasLimit = BigInt(announceGasLimit(count))
      const isLargest = gasLimit > sum.gasLimit
      this.#sums.set(chainId, {
        transactions: sum.transactions + 1,
        gas: sum.gas + BigInt(announceGas(count)),
        gasLimit: isLargest ? gasLimit : sum.gasLimit,
        data: isLargest ? announceData('phygital', ids) : sum.data,
      })
    }
  }

  /** Skips unreachable chains: the metadata itself does not need them. */
  async totals(feeCap: FeeCap): Promise<ChainTotals[]> {
    const { chains } = this.#deps
    const ids = [...this.#sums].sort(([one], [other]) => one - other)
    const totals = ids.map(([id, sum]) =>
      priced(chainOf(chains, id), feeCap(id), sum).catch((error: unknown) => {
        if (error instanceof DomainError) return undefined
        throw error
      }),
    )
    return (await Promise.all(totals)).filter((total) => total !== undefined)
  }
}

async function* groupsOf(rows: AsyncIterable<MetadataRow>): AsyncGenerator<readonly MetadataRow[]> {
  const slice = new TimeSlice()
  let group: MetadataRow[] = []
  let length = 0
  for await (const row of rows) {
    group.push(row)
    length += JSON.stringify(row.metadata).length
    if (group.length < maxRows && length < maxBatchLength) continue
    yield group
    group = []
    length = 0
    await slice.next()
  }
  if (group.length > 0) yield group
}

const tokenOrError = (
  deps: { db: Pick<Db, 'read'> },
  teamId: number,
  { target }: MetadataRow,
): Promise<LocatedToken | DomainError> =>
  tokenOfRow(deps, teamId, target).catch((error: unknown) => {
    if (error instanceof DomainError) return error
    throw error
  })

/** Validated when written. */
const storedMetadata = (json: string): Metadata => parseObject(json) ?? {}

function judge({ row, metadata, expected }: MetadataRow, found: LocatedToken | DomainError): MetadataResult {
  if (found instanceof DomainError) return { row, status: 'failed', error: found.message }
  const token = locationOf(found)
  const previous = found.metadata === null ? null : storedMetadata(found.metadata)
  if (isDeepStrictEqual(previous, metadata)) return { row, status: 'unchanged', token, previous }
  if (expected !== undefined && !isDeepStrictEqual(previous, expected))
    return { row, status: 'conflict', error: 'It was changed in the meantime and was left unchanged.' }
  return { row, status: 'changed', token, previous }
}
