import { setTimeout as delay } from 'node:timers/promises'
import { getAddress } from 'viem/utils'
import { addCounts, type ChipCounts, countChipsIn, noChips, uidAhead } from '../../store/chips/chip-counts.ts'
import { allChipGroups, chipGroupsOfTeam } from '../../store/chips/chip-groups.ts'
import type { ChipFilter } from '../../store/chips/chip-selection.ts'
import type { Db } from '../../store/database/database.ts'
import type { ChipGroupRow } from '../../store/schema/schema.ts'
import { type Clock, iso } from '../time/time.ts'
import { getGroup } from './chip-groups.ts'

export { addCounts, noChips }

type Deps = { db: Pick<Db, 'read' | 'slow'>; clock: Clock }

interface GroupCounts {
  group: ChipGroupRow
  /** undefined: not counted yet. */
  counts: ChipCounts | undefined
}

export interface ChipStats {
  /** In the order of groups. */
  groups: GroupCounts[]
  /** When the oldest of these counts was made; null: of some groups there is none yet. */
  countedAt: string | null
  /** A newer count is being made. */
  isCounting: boolean
}

/** Chips per query: the reader serves other lists in between. */
const chipsPerRead = 20_000
/** Up to so many are counted by the request itself. */
const maxDirect = 20_000
const waitMs = 150
const keptMs = 5_000
/** A count rests for so many times as long as it took. */
const restFactor = 10
const maxKept = 10_000

interface Kept {
  counts: ChipCounts
  at: string
  /** Monotonic. */
  until: number
}

/**
 * Counts the chips of groups by state. Those of many chips are counted in the background, a slice after the other, and
 * requests get the last count.
 */
export class ChipStatistics {
  readonly #deps: Deps
  /** By ID of the group. */
  readonly #kept = new Map<number, Kept>()
  readonly #waiting = new Map<number, ChipGroupRow>()
  #running: Promise<void> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** The last counts, by which newer ones are begun. @param teamId undefined: all teams @throws DomainError not_found */
  async recent(of: { teamId: number | undefined; chipGroup?: string | undefined }): Promise<ChipStats> {
    const groups = await groupsOf(this.#deps, of)
    if (groups.reduce((sum, { chips }) => sum + chips, 0) <= maxDirect) return this.#counted(groups, {})
    const now = this.#deps.clock.monotonic()
    for (const group of groups)
      if ((this.#kept.get(group.id)?.until ?? 0) <= now) this.#waiting.set(group.id, group)
    if (this.#waiting.size > 0) this.#running ??= this.#run().finally(() => (this.#running = undefined))
    // The first of a few small groups are there by then. A count that fails shows as one that is missing.
    await Promise.race([this.#running?.catch(() => undefined), delay(waitMs, undefined, { ref: false })])
    const kept = groups.map(({ id }) => this.#kept.get(id))
    const times = kept.flatMap((one) => one?.at ?? [])
    return {
      groups: groups.map((group, at) => ({ group, counts: kept[at]?.counts })),
      countedAt: times.length < groups.length ? null : (times.sort()[0] ?? null),
      isCounting: groups.some(({ id }) => this.#waiting.has(id)),
    }
  }

  /** Waits for the count. @throws DomainError not_found */
  async exact(
    of: { teamId: number | undefined; chipGroup?: string | undefined },
    { contractAddress: address, ...filter }: ChipFilter,
  ): Promise<ChipStats> {
    const contractAddress = address == null ? address : getAddress(address.toLowerCase())
    return this.#counted(await groupsOf(this.#deps, of), { ...filter, contractAddress })
  }

  async #counted(groups: readonly ChipGroupRow[], filter: ChipFilter): Promise<ChipStats> {
    const countedAt = iso(this.#deps.clock.now())
    const counted: GroupCounts[] = []
    for (const group of groups) counted.push({ group, counts: await countGroup(this.#deps, group, filter) })
    return { groups: counted, countedAt, isCounting: false }
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps
    try {
      for (let [next] = this.#waiting; next; [next] = this.#waiting) {
        const [id, group] = next
        const [at, began] = [iso(clock.now()), clock.monotonic()]
        const counts = await countGroup(this.#deps, group, {})
        const took = clock.monotonic() - began
        if (this.#kept.size >= maxKept) this.#kept.clear()
        this.#kept.set(id, { counts, at, until: clock.monotonic() + Math.max(keptMs, restFactor * took) })
        this.#waiting.delete(id)
      }
    } finally {
      this.#waiting.clear()
    }
  }
}

const groupsOf = async (
  { db }: Deps,
  { teamId, chipGroup }: { teamId: number | undefined; chipGroup?: string | undefined },
): Promise<ChipGroupRow[]> => {
  if (teamId === undefined) return allChipGroups(db.read)
  return chipGroup === undefined
    ? chipGroupsOfTeam(db.read, teamId)
    : [await getGroup(db.read, teamId, chipGroup)]
}

async function countGroup({ db }: Deps, group: ChipGroupRow, filter: ChipFilter): Promise<ChipCounts> {
  let counts = noChips
  for (let after = ''; ; ) {
    const upTo = await uidAhead(db.slow, { chipGroupId: group.id, after, chips: chipsPerRead })
    counts = addCounts(counts, await countChipsIn(db.slow, group, { after, upTo }, filter))
    if (upTo === undefined) return counts
    after = upTo
  }
}
