import type { ChipRow, NewMessage, TapRow } from '../schema/schema.ts'

/** A tap, and its chip as it was when the tap was judged. */
export interface TapInsert {
  seen: Pick<
    ChipRow,
    | 'uid'
    | 'teamId'
    | 'keySetId'
    | 'generation'
    | 'tokenRow'
    | 'redirectUrl'
    | 'itemId'
    | 'disabledAt'
    | 'catchesUp'
    | 'tamper'
    | 'claimRound'
  >
  /** See eventsOfChip: its codes depend on them; null: on none. */
  events: string | null
  tap: Omit<TapRow, 'id' | 'chipUid' | 'teamId' | 'keySetId' | 'previous' | 'queried' | 'counter'> & {
    counter: number
  }
  messages: readonly NewMessage[]
}
