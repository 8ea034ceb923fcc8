/** How the last try went; a new one has to prove that it is quick. */
export type Kind = 'quick' | 'slow' | 'silent'

// Each kind has places of its own, so that those which take long keep none that answers waiting, and no team has them all.
export const places = {
  quick: { each: 8, team: 16, all: 32, queued: 64 },
  slow: { each: 2, team: 8, all: 32, queued: 4 },
  silent: { each: 1, team: 8, all: 32, queued: 4 },
} as const satisfies Record<Kind, { each: number; team: number; all: number; queued: number }>

interface Placed {
  kind: Kind
  inFlight: number
  target: { teamId: number }
}

/** Places in use, by kind, and by kind and team. */
export class Taken {
  readonly #counts = new Map<string, number>()

  constructor(lanes: readonly Placed[]) {
    for (const lane of lanes) this.add(lane, lane.inFlight)
  }

  add({ kind, target }: Placed, count: number): void {
    for (const key of [kind, keyOf(kind, target)]) this.#counts.set(key, this.#of(key) + count)
  }

  isRoom({ kind, target }: Placed): boolean {
    return this.#of(kind) < places[kind].all && this.#of(keyOf(kind, target)) < places[kind].team
  }

  #of(key: string): number {
    return this.#counts.get(key) ?? 0
  }
}

const keyOf = (kind: Kind, { teamId }: Placed['target']): string => `${kind} ${teamId}`
