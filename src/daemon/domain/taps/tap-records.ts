import type { Db } from '../../store/database.ts'
import { listTaps, type TapFilter } from '../../store/taps.ts'
import { findTeam } from '../../store/teams.ts'
import type { SeenTap, TapLog } from './tap-log.ts'

/** A tap with its team's name. */
export interface TapRecord extends SeenTap {
  team: string | null
}

interface Deps {
  db: Pick<Db, 'read' | 'slow'>
  tapLog: TapLog
}

/** Newest first, the refused ones of this moment included. */
export async function listTapRecords(deps: Deps, filter: TapFilter): Promise<TapRecord[]> {
  await deps.tapLog.flush()
  const nameOf = teamNamer(deps.db)
  const records: TapRecord[] = []
  for (const tap of await listTaps(deps.db.slow, filter))
    records.push({ ...tap, team: await nameOf(tap.teamId) })
  // Refused taps are written a moment later than valid ones: their ids are not quite in the order of time.
  return records.sort((a, b) => b.at.localeCompare(a.at) || Number(b.id) - Number(a.id))
}

/**
 * Tells of each tap as it happens, in order. @returns a function that ends the following
 * @param filter as in the list: a team sees its own taps and those of nobody's chip
 */
export function followTaps(
  { db, tapLog }: Deps,
  { teamId, uid }: Pick<TapFilter, 'teamId' | 'uid'>,
  tell: (tap: TapRecord) => void,
): () => void {
  const nameOf = teamNamer(db)
  // One after the other, so that a name that must be looked up does not let a later tap overtake.
  let told: Promise<void> = Promise.resolve()
  return tapLog.follow((tap) => {
    if (teamId !== undefined && tap.teamId !== null && tap.teamId !== teamId) return
    if (uid !== undefined && tap.chipUid !== uid) return
    told = told.then(async () => tell({ ...tap, team: await nameOf(tap.teamId).catch(() => null) }))
  })
}

/** Looks a team's name up once. */
function teamNamer(db: Pick<Db, 'read'>): (id: number | null) => Promise<string | null> {
  const names = new Map<number, string | null>()
  return async (id) => {
    if (id === null) return null
    const known = names.get(id)
    if (known !== undefined) return known
    const name = (await findTeam(db.read, id))?.name ?? null
    names.set(id, name)
    return name
  }
}
