import type { Clock } from '../domain/time.ts'

const minute = 60_000
const remembered = 20_000

/** What each client may do in a minute: all of it at once, and what was spent grows back evenly. */
export class Budget {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #most: number
  /** By client, when all of its budget is back. Whoever spent last comes last. */
  readonly #wholeAt = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonic'>, most: number) {
    this.#clock = clock
    this.#most = most
  }

  /** Takes one. @returns undefined; where there was none left, the seconds until there is */
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

  /** Whether there is nothing left, for now. */
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
