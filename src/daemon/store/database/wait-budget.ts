import { AsyncLocalStorage } from 'node:async_hooks'

/** In milliseconds. */
export const maxWaitMs = 5000
/** Requests that take hours, such as imports, recover their patience. */
const recoveredPerMs = 0.1
/** A database that is back gets this chance, however long it was away. */
const minMs = 500

/**
 * How long one piece of work waits for a database that does not answer, in all its steps together. Answers cost nothing,
 * however slow they are.
 */
export class WaitBudget {
  #leftMs = maxWaitMs
  #at = performance.now()
  isExhausted = false

  leftMs(): number {
    const recovered = (performance.now() - this.#at) * recoveredPerMs
    return Math.max(minMs, Math.min(maxWaitMs, this.#leftMs + recovered))
  }

  /** Counts the time since then as lost, though none of it twice. */
  countLost(since: number): void {
    const now = performance.now()
    const began = Math.max(since, this.#at)
    const recovered = (began - this.#at) * recoveredPerMs
    this.#leftMs = Math.min(maxWaitMs, this.#leftMs + recovered) - (now - began)
    this.#at = now
  }
}

const requests = new AsyncLocalStorage<WaitBudget>()

/** Following requests costs a tap a fifth of its time on Node 20, so it is done for as long after a failure. */
const trackingMs = 60_000
let trackingUntil = Number.NEGATIVE_INFINITY

/** The database failed to answer: requests that begin from now on have one patience for all their steps. */
export function trackRequests(): void {
  trackingUntil = performance.now() + trackingMs
}

/**
 * While the database fails, everything that `serve` begins shares one patience, until that is over. Else each step has
 * its own, which ends the request as well if it is used up.
 */
export function withWaitBudget(patience: WaitBudget, serve: () => void): void {
  if (performance.now() < trackingUntil) requests.run(patience, serve)
  else {
    requests.disable()
    serve()
  }
}

/** The budget of the current request; undefined for background work. */
export function waitBudgetOfRequest(): WaitBudget | undefined {
  const patience = requests.getStore()
  // What a request started may outlive it.
  return patience?.isExhausted ? undefined : patience
}
