import type { LiveTap } from '../../requests.ts'

export interface Suspicion {
  readonly outcome: LiveTap['outcome']
  /** Null: many chips. */
  readonly uid: string | null
  readonly count: number
  readonly latest: string
}

/** From so many refusals within an hour; fewer happen to honest people, who reload a page or tap a chip of somebody else. */
const suspiciousFrom: Readonly<Partial<Record<LiveTap['outcome'], number>>> = {
  'wrong-mac': 3,
  replayed: 10,
  disabled: 5,
  'unknown-chip': 20,
  'unknown-key-set': 20,
}

/** Refusals that one chip, or for unknown chips one kind, gathers. */
export function suspicions(taps: readonly LiveTap[], since: number): Suspicion[] {
  const found = new Map<string, Suspicion>()
  for (const { outcome, uid: tapped, at } of taps) {
    if (outcome === 'valid' || Date.parse(at) < since) continue
    const uid = outcome === 'unknown-chip' || outcome === 'unknown-key-set' ? null : tapped
    const key = `${outcome} ${uid}`
    const before = found.get(key)
    const latest = before && before.latest > at ? before.latest : at
    found.set(key, { outcome, uid, count: (before?.count ?? 0) + 1, latest })
  }
  return [...found.values()]
    .filter(({ outcome, count }) => count >= (suspiciousFrom[outcome] ?? Number.POSITIVE_INFINITY))
    .sort((a, b) => b.count - a.count)
}
