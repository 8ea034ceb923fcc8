import type { Clock } from '../domain/time/time.ts'

const minute = 60_000
const remembered = 20_000

/** A token bucket per client: a minute's worth of calls at most, refilled evenly. */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #most: number
  /** The time when each client's bucket is full again. The most recent client comes last. */
  readonly #wholeAt = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonic'>, most: number) {
    this.#clock = clock
    this.#most = most
  }

  /** Takes one token. @returns undefined, or the seconds until one is available */
  spend(client: string): number | undefined {
    const now = this.#clock.monotonic()
    const each = minute / this.#most
    const spent = Math.max(0, (this.#wholeAt.get(client) ?? 0) - now)
    // Half a unit makes up for rounding.
    const isLeft = spent + each / 2 <= minute
    this.#wholeAt.delete(client)
    this.#wholeAt.set(client, now + spent + (isLeft ? each : 0))
    this.#forgetOne()
    return isLeft ? undefined : Math.max(1, Math.ceil((spent + each - minute) / 1000))
  }

  /** Gives one token back. */
  refund(client: string): void {
    const wholeAt = this.#wholeAt.get(client)
    if (wholeAt !== undefined) this.#wholeAt.set(client, wholeAt - minute / this.#most)
  }

  isSpent(client: string): boolean {
    const spent = (this.#wholeAt.get(client) ?? 0) - this.#clock.monotonic()
    return spent + minute / this.#most / 2 > minute
  }

  #forgetOne(): void {
    if (this.#wholeAt.size <= remembered) return
    for (const client of this.#wholeAt.keys()) {
      this.#wholeAt.delete(client)
      return
    }
  }
}
