import { AsyncLocalStorage } from 'node:async_hooks'

/** In milliseconds. */
export const maxWaitMs = 5000
/** Requests that take hours, such as imports, regain patience over time. */
const recoveredPerMs = 0.1
/** After an outage of any length, the database gets this much time. */
const minMs = 500

/**
 * The time that one piece of work waits for an unresponsive database, over all its steps. Slow answers do not count.
 */
export class WaitBudget {
  #leftMs = maxWaitMs
  #at = performance.now()
  isExhausted = false

  leftMs(): number {
    const recovered = (performance.now() - this.#at) * recoveredPerMs
    return Math.max(minMs, Math.min(maxWaitMs, this.#leftMs + recovered))
  }

  /** Counts the time since then as waiting, but no time twice. */
  countLost(since: number): void {
    const now = performance.now()
    const began = Math.max(since, this.#at)
    const recovered = (began - this.#at) * recoveredPerMs
    this.#leftMs = Math.min(maxWaitMs, this.#leftMs + recovered) - (now - began)
    this.#at = now
  }
}

const requests = new AsyncLocalStorage<WaitBudget>()

/** Tracking requests costs a fifth of a tap's time on Node 20, so it is done only for this long after a failure. */
const trackingMs = 60_000
let trackingUntil = Number.NEGATIVE_INFINITY

/** The database failed to answer: requests that begin from now on share one budget over all their steps. */
export function trackRequests(): void {
  trackingUntil = performance.now() + trackingMs
}

/**
 * While the database fails, everything that `serve` begins shares one budget. Otherwise each step has its own;
 * exceeding it also ends the request.
 */
export function withWaitBudget(budget: WaitBudget, serve: () => void): void {
  if (performance.now() < trackingUntil) requests.run(budget, serve)
  else {
    requests.disable()
    serve()
  }
}

/** The budget of the current request; undefined for background work. */
export function waitBudgetOfRequest(): WaitBudget | undefined {
  const budget = requests.getStore()
  // Work started by a request may outlive it.
  return budget?.isExhausted ? undefined : budget
}
