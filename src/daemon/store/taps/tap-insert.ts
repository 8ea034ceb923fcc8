import type { ChipRow, NewMessage, TapRow } from '../schema/schema.ts'

/** A tap, and the state of its chip when the tap was judged. */
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
    | 'haloForm'
  >
  /** Assignments on which its codes depend, see eventsOfChip; null: none. */
  events: string | null
  /** The form of a HaLo chip's tap; null: of another chip. */
  haloForm: ChipRow['haloForm']
  tap: Omit<TapRow, 'id' | 'chipUid' | 'teamId' | 'keySetId' | 'previous' | 'queried' | 'counter'> & {
    counter: number
  }
  messages: readonly NewMessage[]
}
