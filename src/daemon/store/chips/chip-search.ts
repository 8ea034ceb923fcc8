import type { SelectQueryBuilder } from 'kysely'
import type { ChipState } from '../../../values/chip-states.ts'
import type { Queries } from '../database/database.ts'
import type { Database } from '../schema/schema.ts'
import { isInState } from './chip-counts.ts'
import { withToken } from './chips.ts'

/** By which index chips are found, in the order of its last column. */
export type ChipsBy =
  | { readonly uids: readonly string[]; readonly teamId: number | undefined }
  | { readonly teamId: number; readonly label: string }
  | { readonly teamId: number; readonly item: string }
  | { readonly tokenRow: number; readonly teamId: number | undefined }
  | { readonly chipGroupId: number }

interface Page {
  readonly state: ChipState | undefined
  /** The last column of the row before; '' at first. */
  readonly after: string
  readonly limit: number
}

// Rows that one request looks at to find those in a state.
const examined = 10_000

type OfChips<O> = SelectQueryBuilder<Database, 'chips', O>

/** @param upTo the last column of the last row; undefined: to the end */
function found<O>(query: OfChips<O>, by: ChipsBy, after: string, upTo?: string): OfChips<O> {
  if ('label' in by) {
    const { teamId, label } = by
    const own = query.where('chips.teamId', '=', teamId).orderBy('chips.label')
    // One bound at each end: SQLite would use the other one for the index, and walk all labels that begin so.
    const from = after === '' ? own.where('chips.label', '>=', label) : own.where('chips.label', '>', after)
    const last = upTo ?? (label === '' ? undefined : `${label}\u{10ffff}`)
    return last === undefined ? from : from.where('chips.label', '<=', last)
  }
  let later = query.where('chips.uid', '>', after).orderBy('chips.uid')
  if (upTo !== undefined) later = later.where('chips.uid', '<=', upTo)
  if ('item' in by) return later.where('chips.teamId', '=', by.teamId).where('chips.itemId', '=', by.item)
  if ('chipGroupId' in by) return later.where('chips.chipGroupId', '=', by.chipGroupId)
  const chips =
    'uids' in by ? later.where('chips.uid', 'in', by.uids) : later.where('chips.tokenRow', '=', by.tokenRow)
  return by.teamId === undefined ? chips : chips.where('chips.teamId', '=', by.teamId)
}

/** @returns `next`: where to go on; undefined: there are no more. A page may have fewer rows than its limit. */
export async function searchChips(db: Queries, by: ChipsBy, { state, after, limit }: Page) {
  const key = 'label' in by ? 'label' : 'uid'
  const isRare = 'chipGroupId' in by && (state === 'disabled' || state === 'opened' || state === 'linked')
  // All rows of the partial indexes on disabled, opened, and linked chips are in that state.
  const isWhole = state === undefined || state === 'registered' || isRare
  const boundary = isWhole
    ? undefined
    : await found(db.selectFrom('chips').select(['chips.uid', 'chips.label']), by, after)
        .limit(1)
        .offset(examined - 1)
        .executeTakeFirst()
  const upTo = boundary?.[key] ?? undefined
  let chips = found(withToken(db), by, after, upTo)
  if (state !== undefined && state !== 'registered') chips = chips.where((e) => isInState(e, state))
  const rows = await chips.limit(limit).execute()
  return { rows, isWhole, next: rows.length === limit ? (rows.at(-1)?.[key] ?? undefined) : upTo }
}

export type FoundChip = Awaited<ReturnType<typeof searchChips>>['rows'][number]
