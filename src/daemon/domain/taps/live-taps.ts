import type { Db } from '../../store/database/database.ts'
import { type ChipOfTap, chipsOfTaps, tapIdsAfter, tapsByIds } from '../../store/taps/live-changes.ts'
import { listTaps, newestTap, type ShownTap } from '../../store/taps/taps.ts'
import { teamNames } from '../access/teams.ts'
import { FollowedLoop } from './followed-loop.ts'
import { TapCursor } from './tap-cursor.ts'

export interface LiveTap extends ShownTap {
  team: string | null
  /** Null: unknown, or removed. */
  chip: Omit<ChipOfTap, 'uid'> | null
}

export interface LiveTaps {
  /** In their order. */
  taps: LiveTap[]
  /** A follower that goes on after it misses nothing, but may get taps again that have a greater ID. */
  cursor: number
}

interface Follower {
  readonly teamId: number | undefined
  readonly after: number | undefined
  /** Whoever is told the same is given the same object. */
  readonly onTaps: (taps: LiveTaps) => void
  hasBegun: boolean
  /** It has all taps up to here, also where a cursor that began later looks for some. */
  floor: number
}

interface Deps {
  db: Pick<Db, 'read' | 'slow'>
}

const everyMs = 250
const firstTaps = 200
/** Of more, the newest: a list shows no others. */
const maxTaps = 1000

/** Reads the taps of all daemons from the database, once for all that follow; nothing is read while nobody does. */
export class LiveTapFeed {
  readonly #deps: Deps
  readonly #loop = new FollowedLoop<Follower>(() => {
    let cursor: TapCursor | undefined
    const run = async (followers: ReadonlySet<Follower>) => {
      if (cursor) await this.#sendNew(cursor, followers)
      cursor ??= await this.#begin()
      for (const follower of followers) if (!follower.hasBegun) await this.#sendFirst(follower, cursor)
    }
    return { run, everyMs }
  })

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * Begins with the taps after `after`, or with some of the newest.
   * @param of.teamId its own, and taps of unknown chips; undefined: of all teams
   * @returns a function that unsubscribes
   */
  follow(
    of: { teamId: number | undefined; after: number | undefined },
    onTaps: (taps: LiveTaps) => void,
  ): () => void {
    return this.#loop.follow({ ...of, onTaps, hasBegun: false, floor: 0 })
  }

  async #begin(): Promise<TapCursor> {
    const { slow } = this.#deps.db
    const newest = await newestTap(slow)
    const ids = await tapIdsAfter(slow, newest - TapCursor.within)
    return new TapCursor(
      newest,
      ids.filter((id) => id <= newest),
      performance.now(),
    )
  }

  async #sendNew(cursor: TapCursor, followers: ReadonlySet<Follower>): Promise<void> {
    const { slow } = this.#deps.db
    const { gaps, position } = cursor
    const late = gaps.length === 0 ? [] : await tapsByIds(slow, gaps)
    const fresh = await listTaps(slow, { after: position, limit: maxTaps })
    const live = await this.#named([...late, ...fresh])
    const from = fresh.length < maxTaps ? 0 : fresh.reduce((min, { id }) => Math.min(min, id), Infinity)
    cursor.advance(
      live.map(({ id }) => id),
      performance.now(),
      from,
    )
    const told = new Map<string, LiveTaps>()
    for (const { hasBegun, teamId, floor, onTaps } of followers) {
      if (!hasBegun) continue
      const complete = Math.max(cursor.complete, floor)
      const of = `${teamId} ${complete}`
      const isOwn = (tap: LiveTap) => teamId === undefined || tap.teamId === null || tap.teamId === teamId
      const taps = told.get(of) ?? { taps: live.filter(isOwn), cursor: complete }
      told.set(of, taps)
      if (taps.taps.length > 0) onTaps(taps)
    }
  }

  async #sendFirst(follower: Follower, cursor: TapCursor): Promise<void> {
    const { teamId, after, onTaps } = follower
    const rows = await listTaps(this.#deps.db.slow, {
      ...{ teamId, after, before: cursor.position + 1 },
      limit: after === undefined ? firstTaps : maxTaps,
    })
    const taps = await this.#named(rows.filter(({ id }) => !cursor.isGap(id)))
    follower.hasBegun = true
    // Of a database that was restored since, nothing is known.
    follower.floor = after !== undefined && after <= cursor.position ? after : 0
    onTaps({ taps, cursor: Math.max(cursor.complete, follower.floor) })
  }

  async #named(rows: readonly ShownTap[]): Promise<LiveTap[]> {
    if (rows.length === 0) return []
    const teams = await teamNames(this.#deps)
    const uids = [...new Set(rows.flatMap(({ chipUid }) => chipUid ?? []))]
    const found = await chipsOfTaps(this.#deps.db.slow, uids)
    const chips = new Map(found.map(({ uid, ...chip }) => [uid, chip]))
    return rows
      .map((tap) => ({
        ...tap,
        team: teams.get(tap.teamId) ?? null,
        chip: chips.get(tap.chipUid ?? '') ?? null,
      }))
      .sort((a, b) => a.id - b.id)
  }
}
