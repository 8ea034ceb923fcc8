import { findAnyChipGroup } from '../../store/chips/chip-groups.ts'
import { findItem } from '../../store/chips/items.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { TapRow } from '../../store/schema/schema.ts'
import { chipsOfTaps } from '../../store/taps/live-changes.ts'
import { lastIdBefore, type TapPiece } from '../../store/taps/tap-counts.ts'
import {
  hoursOf,
  manyRefused,
  minutesOf,
  openedChips,
  tapsByThing,
  tapsByTime,
  tapsCountedTo,
} from '../../store/taps/tap-rates.ts'
import { newestTap } from '../../store/taps/taps.ts'
import { teamNames } from '../access/teams.ts'
import { type Clock, iso } from '../time/time.ts'
import type { TapLog } from './tap-log.ts'

type Deps = { db: Pick<Db, 'read' | 'slow'>; clock: Pick<Clock, 'now'>; tapLog: Pick<TapLog, 'flush'> }

export interface TapRate {
  at: string
  taps: number
  valid: number
  outcomes: Partial<Record<TapRow['outcome'], number>>
}

interface Tapped {
  team: string | null
  taps: number
  valid: number
  refused: number
}

/** What happens now; times in UTC. */
export interface TapPulse {
  /** False while taps from before the daemon's start are still being counted. */
  isComplete: boolean
  /** The last hour, oldest first. */
  minutes: TapRate[]
  /** The last 24 hours, oldest first. */
  hours: TapRate[]
  /** Most taps of the last 24 hours first. */
  groups: (Tapped & { chipGroup: string | null })[]
  items: (Tapped & { item: string; itemName: string | null })[]
  attacks: Attack[]
  opened: {
    uid: string
    label: string | null
    chipGroup: string | null
    item: string | null
    itemName: string | null
    team: string | null
    at: string
  }[]
}

/** Refused taps of the last ten minutes, of which no person makes so many. */
interface Attack {
  /** Null: of several chips, all with this key set. */
  uid: string | null
  label: string | null
  keySet: number | null
  team: string | null
  outcome: TapRow['outcome']
  taps: number
  since: string
  last: string
}

const [minuteMs, hourMs] = [60_000, 3_600_000]
const attackMs = 10 * minuteMs
const attackTaps = 10
const listed = 20
/** Taps that are not counted yet, and are read by a request. */
const maxUncounted = 10_000
/** Of those, the newest ones, while many are not counted. */
const readMeanwhile = 2_000

/** Many consoles ask at the same time, once a tap comes: they get the same answer. */
export class TapPulses {
  readonly #deps: Deps
  readonly #running = new Map<number | undefined, Promise<TapPulse>>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** @param teamId its taps, and those of unknown chips; undefined: of all teams */
  of(teamId: number | undefined): Promise<TapPulse> {
    const running = this.#running.get(teamId)
    if (running) return running
    const pulse = tapPulse(this.#deps, teamId).finally(() => this.#running.delete(teamId))
    this.#running.set(teamId, pulse)
    return pulse
  }
}

async function tapPulse({ db, clock, tapLog }: Deps, teamId: number | undefined): Promise<TapPulse> {
  await tapLog.flush()
  const now = clock.now()
  const minutesFrom = Math.floor(now / minuteMs) * minuteMs - 59 * minuteMs
  const hoursFrom = Math.floor(now / hourMs) * hourMs - 23 * hourMs
  const read = db.slow
  const since = iso(hoursFrom)
  const [newest, counted = 0] = await Promise.all([newestTap(read), tapsCountedTo(read)])
  const after = newest - counted > maxUncounted ? newest - readMeanwhile : counted
  // Together, so that they wait only once for what is being counted.
  const [fresh, minutes, hours, ofGroups, ofItems, teams, opened] = await Promise.all([
    uncounted(read, { after, upTo: newest }, teamId),
    tapsByTime(read, { teamId, since: iso(minutesFrom), width: 16 }),
    tapsByTime(read, { teamId, since, width: 13 }),
    tapsByThing(read, { teamId, since, by: 'chipGroupId' }),
    tapsByThing(read, { teamId, since, by: 'itemId' }),
    teamNames({ db }),
    openedChips(read, { teamId, limit: listed }),
  ])
  const attacks = attacksOf(read, { teamId, since: iso(now - attackMs) }, teams)
  const freshHours = fresh.hours.filter(({ hour }) => hour >= since.slice(0, 13))
  const things = (rows: typeof ofGroups, by: 'chipGroupId' | 'itemId') =>
    byTaps([...rows, ...freshHours.map((row) => ({ ...row, key: row[by] }))], teams)
  const groups = await Promise.all(
    things(ofGroups, 'chipGroupId').map(async ({ key, teamId: _, ...row }) => ({
      chipGroup: key === 0 ? null : ((await findAnyChipGroup(db.read, Number(key)))?.name ?? null),
      ...row,
    })),
  )
  const itemName = async (of: number, id: string | null) =>
    id === null ? null : ((await findItem(db.read, of, id))?.name ?? null)
  const items = await Promise.all(
    things(ofItems, 'itemId').flatMap(({ key, teamId: of, ...row }) =>
      key === ''
        ? []
        : [itemName(of, String(key)).then((name) => ({ item: String(key), itemName: name, ...row }))],
    ),
  )
  const groupNames = new Map<number, string | undefined>()
  for (const { chipGroupId } of opened)
    if (!groupNames.has(chipGroupId))
      groupNames.set(chipGroupId, (await findAnyChipGroup(db.read, chipGroupId))?.name)
  return {
    isComplete: after === counted,
    minutes: rates([...minutes, ...fresh.minutes.map((row) => ({ ...row, time: row.minute }))], {
      from: minutesFrom,
      step: minuteMs,
      count: 60,
      width: 16,
    }),
    hours: rates([...hours, ...fresh.minutes.map((row) => ({ ...row, time: row.minute.slice(0, 13) }))], {
      from: hoursFrom,
      step: hourMs,
      count: 24,
      width: 13,
    }),
    groups,
    items,
    attacks: await attacks,
    opened: await Promise.all(
      opened.map(async ({ uid, label, ...chip }) => ({
        ...{ uid, label, item: chip.itemId, at: chip.openedAt ?? '' },
        itemName: await itemName(chip.teamId, chip.itemId),
        chipGroup: groupNames.get(chip.chipGroupId) ?? null,
        team: teams.get(chip.teamId) ?? null,
      })),
    ),
  }
}

async function uncounted(db: Queries, piece: TapPiece, teamId: number | undefined) {
  if (piece.after >= piece.upTo) return { minutes: [], hours: [] }
  const isShown = (row: { teamId: number }) =>
    teamId === undefined || row.teamId === 0 || row.teamId === teamId
  const [minutes, hours] = [await minutesOf(db, piece), await hoursOf(db, piece)]
  return { minutes: minutes.filter(isShown), hours: hours.filter(isShown) }
}

function rates(
  rows: readonly { time: string; outcome: TapRow['outcome']; taps: number }[],
  { from, step, count, width }: { from: number; step: number; count: number; width: number },
): TapRate[] {
  const found: TapRate[] = Array.from({ length: count }, (_, at) => ({
    ...{ at: iso(from + at * step), taps: 0, valid: 0, outcomes: {} },
  }))
  const byTime = new Map(found.map((rate) => [rate.at.slice(0, width), rate]))
  for (const { time, outcome, taps } of rows) {
    const rate = byTime.get(time)
    if (!rate) continue
    rate.taps += taps
    if (outcome === 'valid') rate.valid += taps
    rate.outcomes[outcome] = (rate.outcomes[outcome] ?? 0) + taps
  }
  return found
}

function byTaps(
  rows: readonly { teamId: number; key: string | number; taps: number; valid: number }[],
  teams: ReadonlyMap<number | null, string>,
): (Tapped & { teamId: number; key: string | number })[] {
  const sums = new Map<string, { teamId: number; key: string | number; taps: number; valid: number }>()
  for (const { teamId, key, taps, valid } of rows) {
    const id = `${teamId} ${key}`
    const sum = sums.get(id) ?? { teamId, key, taps: 0, valid: 0 }
    sums.set(id, { ...sum, taps: sum.taps + taps, valid: sum.valid + valid })
  }
  return [...sums.values()]
    .sort((a, b) => b.taps - a.taps)
    .slice(0, listed)
    .map(({ teamId, key, taps, valid }) => ({
      ...{ teamId, key, team: teams.get(teamId) ?? null, taps, valid, refused: taps - valid },
    }))
}

async function attacksOf(
  db: Queries,
  of: { teamId: number | undefined; since: string },
  teams: ReadonlyMap<number | null, string>,
): Promise<Attack[]> {
  const found: Attack[] = []
  const after = await lastIdBefore(db, of.since)
  for (const by of ['chipUid', 'keySetId'] as const)
    for (const { key, teamId, ...row } of await manyRefused(db, { ...of, after, least: attackTaps, by }))
      found.push({
        uid: by === 'chipUid' && key !== null ? String(key) : null,
        label: null,
        keySet: by === 'keySetId' && key !== null ? Number(key) : null,
        team: teams.get(teamId) ?? null,
        ...row,
      })
  const chips = await chipsOfTaps(
    db,
    found.flatMap(({ uid }) => uid ?? []),
  )
  const labels = new Map(chips.map(({ uid, label }) => [uid, label]))
  return found
    .map((attack) => ({ ...attack, label: labels.get(attack.uid ?? '') ?? null }))
    .sort((a, b) => b.taps - a.taps)
}
