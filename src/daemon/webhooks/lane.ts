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

const quickPlaces = 8
// A receiver that takes its time gets fewer requests at once, and shares places with others of its kind.
const slowPlaces = 2
const quickQueue = 64
const slowQueue = 4

/** The messages of one webhook that this process has claimed. */
export class Lane {
  target: Target
  /** The last try was soon over, whatever became of it. */
  isQuick = false
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
    const most = this.isQuick ? quickQueue : slowQueue
    return this.#queue.length > most / 2 ? 0 : most - this.#queue.length
  }

  add(jobs: readonly Job[]): void {
    this.#queue.push(...jobs)
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
    if (this.isClosed || this.inFlight >= (this.isQuick ? quickPlaces : slowPlaces)) return -1
    return this.#queue.findIndex(({ chipUid }) => chipUid === null || !this.#busyChips.has(chipUid))
  }

  ended({ chipUid }: Job): void {
    this.inFlight -= 1
    if (chipUid !== null) this.#busyChips.delete(chipUid)
  }

  /** @returns what was claimed and not tried */
  clear(): Job[] {
    return this.#queue.splice(0)
  }
}
