import type { ExpressionBuilder } from 'kysely'
import { type ChipState, chipStates } from '../../../values/chip-states.ts'
import type { Queries } from '../database/database.ts'
import type { ChipGroupRow, Database } from '../schema/schema.ts'
import { type ChipFilter, chipsOf } from './chip-selection.ts'

export type ChipCounts = Readonly<Record<ChipState, number>>

/** UIDs after the first one, up to and including the second. */
export interface UidRange {
  after: string
  /** undefined: to the end. */
  upTo: string | undefined
}

/** @returns the UID so many chips further on in a group; undefined: it has fewer */
export const uidAhead = async (
  db: Queries,
  { chipGroupId, after, chips }: { chipGroupId: number; after: string; chips: number },
): Promise<string | undefined> =>
  (
    await db
      .selectFrom('chips')
      .select('uid')
      .where('chipGroupId', '=', chipGroupId)
      .where('uid', '>', after)
      .orderBy('uid')
      .limit(1)
      .offset(chips - 1)
      .executeTakeFirst()
  )?.uid

/** Reads each chip of the range. */
export async function countChipsIn(
  db: Queries,
  group: Pick<ChipGroupRow, 'id' | 'teamId'>,
  { after, upTo }: UidRange,
  filter: ChipFilter,
): Promise<ChipCounts> {
  let chips = chipsOf(db, group, filter).where('chips.uid', '>', after)
  if (upTo !== undefined) chips = chips.where('chips.uid', '<=', upTo)
  const counted = await chips
    .select((e) => e.fn.countAll<number>().as('registered'))
    .select((e) => counts.map((state) => e.fn.sum<number | null>(oneIf(e, state)).as(state)))
    .executeTakeFirstOrThrow()
  const registered = Number(counted.registered)
  const of = (state: Counted) => Number(counted[state] ?? 0)
  return {
    registered,
    configured: of('configured'),
    unconfigured: registered - of('configured'),
    linked: of('linked'),
    tapped: of('tapped'),
    untapped: registered - of('tapped'),
    opened: of('opened'),
    disabled: of('disabled'),
    simulated: of('simulated'),
  }
}

const counts = ['configured', 'linked', 'tapped', 'opened', 'disabled', 'simulated'] as const
type Counted = (typeof counts)[number]

type Chips = ExpressionBuilder<Database, 'chips'>

const oneIf = (e: Chips, state: Counted) => e.case().when(isIn(e, state)).then(e.lit(1)).else(e.lit(0)).end()

/** @param state other than `registered` */
export function isInState(e: Chips, state: Exclude<ChipState, 'registered'>) {
  switch (state) {
    case 'unconfigured':
      return e.not(isIn(e, 'configured'))
    case 'untapped':
      return e('chips.lastTap', 'is', null)
    default:
      return isIn(e, state)
  }
}

function isIn(e: Chips, state: Counted) {
  switch (state) {
    case 'configured':
      return e.or([
        e('chips.tokenRow', 'is not', null),
        e('chips.itemId', 'is not', null),
        e('chips.redirectUrl', 'is not', null),
        ...(['badgeAssignments', 'guestbookAssignments'] as const).map((table) =>
          e.exists(
            e.selectFrom(table).select(`${table}.chipUid`).whereRef(`${table}.chipUid`, '=', 'chips.uid'),
          ),
        ),
      ])
    case 'linked':
      return e('chips.tokenRow', 'is not', null)
    case 'tapped':
      return e('chips.lastTap', 'is not', null)
    case 'opened':
      return e('chips.openedAt', 'is not', null)
    case 'disabled':
      return e('chips.disabledAt', 'is not', null)
    case 'simulated':
      return e('chips.simulated', '=', 1)
  }
}

export const addCounts = (one: ChipCounts, other: ChipCounts): ChipCounts => ({
  ...one,
  ...Object.fromEntries(chipStates.map((state) => [state, one[state] + other[state]])),
})

export const noChips: ChipCounts = {
  ...{ registered: 0, configured: 0, unconfigured: 0, linked: 0, tapped: 0, untapped: 0 },
  ...{ opened: 0, disabled: 0, simulated: 0 },
}
