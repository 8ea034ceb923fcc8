import type { Clock } from '../domain/time/time.ts'

const minute = 60_000
const maxClients = 20_000

/** A token bucket per client: a minute's worth of calls at most, refilled evenly. */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #capacity: number
  /** The time when each client's bucket is full again. The most recent client comes last. */
  readonly #fullAt = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonic'>, capacity: number) {
    this.#clock = clock
    this.#capacity = capacity
  }

  /** Takes one token. @returns undefined, or the seconds until one is available */
  spend(client: string): number | undefined {
    const now = this.#clock.monotonic()
    const each = minute / this.#capacity
    const spent = Math.max(0, (this.#fullAt.get(client) ?? 0) - now)
    // Half a unit makes up for rounding.
    const isLeft = spent + each / 2 <= minute
    this.#fullAt.delete(client)
    this.#fullAt.set(client, now + spent + (isLeft ? each : 0))
    this.#evictOldest()
    return isLeft ? undefined : Math.max(1, Math.ceil((spent + each - minute) / 1000))
  }

  /** Gives one token back. */
  refund(client: string): void {
    const fullAt = this.#fullAt.get(client)
    if (fullAt !== undefined) this.#fullAt.set(client, fullAt - minute / this.#capacity)
  }

  isSpent(client: string): boolean {
    const spent = (this.#fullAt.get(client) ?? 0) - this.#clock.monotonic()
    return spent + minute / this.#capacity / 2 > minute
  }

  #evictOldest(): void {
    if (this.#fullAt.size <= maxClients) return
    for (const client of this.#fullAt.keys()) {
      this.#fullAt.delete(client)
      return
    }
  }
}
