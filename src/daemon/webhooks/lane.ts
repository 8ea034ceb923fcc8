import { type Kind, places } from './places.ts'

/** A claimed message. */
export interface Job {
  id: number
  webhookId: number
  messageId: string
  type: string
  /** ISO 8601 */
  at: string
  chipUid: string | null
  /** JSON */
  data: string
  /** Failed tries so far. */
  attempts: number
  /** Tries are given up three days after this; ISO 8601. */
  since: string
}

/** A webhook that is enabled. */
export interface Target {
  id: number
  teamId: number
  url: string
  /** The newest first. */
  secrets: readonly { bytes: Uint8Array; until: string | null }[]
}

export interface Found {
  jobs: readonly Job[]
  /** There may be more that were never tried. */
  isMore: boolean
  /** When the next one that was tried is due. */
  nextDueAt: number | undefined
}

interface Tried {
  outcome: 'delivered' | 'failed' | 'again'
  statusCode: number | null
  dueAt: number | null
}

/** The messages of one webhook that this process has claimed. */
export class Lane {
  target: Target
  kind: Kind = 'slow'
  inFlight = 0
  /** It is being disabled. */
  isClosed = false
  /** There may be messages that were never tried. */
  mayHaveFresh = true
  /** When to look for messages to try again; milliseconds since the epoch. */
  nextDueAt = 0
  /** Settled since old deliveries were last deleted. */
  settled = 0
  #queue: Job[] = []
  /** Queued or being tried: a claim that a jump of the clock ended is claimed again, and must not be sent twice. */
  readonly #held = new Set<number>()
  readonly #busyChips = new Set<string>()

  constructor(target: Target) {
    this.target = target
  }

  get queued(): number {
    return this.#queue.length
  }

  /** How many messages to claim now. */
  room(now: number): number {
    if (this.isClosed || (!this.mayHaveFresh && now < this.nextDueAt)) return 0
    const most = places[this.kind].queued
    return this.#queue.length > most / 2 ? 0 : most - this.#queue.length
  }

  /** The store is about to be asked. */
  look(): void {
    this.mayHaveFresh = false
    // A try that fails meanwhile brings it forward, and the answer does not know of that.
    this.nextDueAt = Number.POSITIVE_INFINITY
  }

  found({ jobs, isMore, nextDueAt = Number.POSITIVE_INFINITY }: Found): void {
    for (const job of jobs) if (this.hold(job.id)) this.#queue.push(job)
    this.mayHaveFresh ||= isMore
    this.nextDueAt = Math.min(this.nextDueAt, nextDueAt)
  }

  lookAgain(): void {
    this.mayHaveFresh = true
    this.nextDueAt = 0
  }

  judge({ outcome, statusCode, dueAt }: Tried, isQuick: boolean): void {
    const isSilent = outcome !== 'delivered' && statusCode === null
    this.kind = isQuick ? 'quick' : isSilent ? 'silent' : 'slow'
    this.settled += outcome === 'again' ? 0 : 1
    if (dueAt !== null) this.nextDueAt = Math.min(this.nextDueAt, dueAt)
  }

  /** @returns false if it is held already */
  hold(id: number): boolean {
    if (this.#held.has(id)) return false
    this.#held.add(id)
    return true
  }

  letGo(id: number): void {
    this.#held.delete(id)
  }

  /** The next message to try, if there is a place: one of each chip at a time keeps its first tries in order. */
  take(): Job | undefined {
    const index = this.#nextIndex()
    const [job] = index < 0 ? [] : this.#queue.splice(index, 1)
    if (job === undefined) return undefined
    this.inFlight += 1
    if (job.chipUid !== null) this.#busyChips.add(job.chipUid)
    return job
  }

  get isReady(): boolean {
    return this.#nextIndex() >= 0
  }

  #nextIndex(): number {
    if (this.isClosed || this.inFlight >= places[this.kind].each) return -1
    return this.#queue.findIndex(({ chipUid }) => chipUid === null || !this.#busyChips.has(chipUid))
  }

  ended({ id, chipUid }: Job): void {
    this.inFlight -= 1
    this.letGo(id)
    if (chipUid !== null) this.#busyChips.delete(chipUid)
  }

  /** @returns what was claimed and not tried */
  clear(): Job[] {
    const jobs = this.#queue.splice(0)
    for (const { id } of jobs) this.letGo(id)
    return jobs
  }
}

/** @returns the lanes of these targets, by ID, which look for what is due; those from before are kept */
export function lanesOf(targets: readonly Target[], before: ReadonlyMap<number, Lane>): Map<number, Lane> {
  const lanes = new Map<number, Lane>()
  for (const target of targets) {
    const lane = before.get(target.id) ?? new Lane(target)
    lane.target = target
    lane.nextDueAt = 0
    lanes.set(target.id, lane)
  }
  return lanes
}
