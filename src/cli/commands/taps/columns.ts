import type { ElementOf } from '../../client/types.ts'
import type { Columns } from '../../io/table.ts'
import { colons } from '../../uid.ts'

export const tapColumns: Columns<ElementOf<'GET /admin/taps'>> = {
  AT: (tap) => tap.at,
  OUTCOME: (tap) => tap.outcome,
  UID: (tap) => tap.uid,
  HEX: (tap) => colons(tap.uid),
  COUNTER: (tap) => tap.counter,
  'KEY SET': (tap) => tap.keySet,
  VIA: (tap) => tap.via,
  TEAM: (tap) => tap.team,
}
