import { AsyncLocalStorage } from 'node:async_hooks'

/** In milliseconds. */
export const patienceMs = 5000
/** Requests that take hours, such as imports, recover their patience. */
const recoveredPerMs = 0.1
/** A database that is back gets this chance, however long it was away. */
const minMs = 500

/**
 * How long one piece of work waits for a database that does not answer, in all its steps together. Answers cost nothing,
 * however slow they are.
 */
export class Patience {
  #leftMs = patienceMs
  #at = performance.now()
  isOver = false

  leftMs(): number {
    const recovered = (performance.now() - this.#at) * recoveredPerMs
    return Math.max(minMs, Math.min(patienceMs, this.#leftMs + recovered))
  }

  /** Counts the time since then as lost, though none of it twice. */
  lost(since: number): void {
    const now = performance.now()
    const began = Math.max(since, this.#at)
    const recovered = (began - this.#at) * recoveredPerMs
    this.#leftMs = Math.min(patienceMs, this.#leftMs + recovered) - (now - began)
    this.#at = now
  }
}

const requests = new AsyncLocalStorage<Patience>()

/** Following requests costs a tap a fifth of its time on Node 20, so it is done for as long after a failure. */
const followedMs = 60_000
let followedUntil = Number.NEGATIVE_INFINITY

/** The database failed to answer: requests that begin from now on have one patience for all their steps. */
export function followRequests(): void {
  followedUntil = performance.now() + followedMs
}

/**
 * While the database fails, everything that `serve` begins shares one patience, until that is over. Else each step has
 * its own, which ends the request as well if it is used up.
 */
export function withPatience(patience: Patience, serve: () => void): void {
  if (performance.now() < followedUntil) requests.run(patience, serve)
  else {
    requests.disable()
    serve()
  }
}

/** Of the request that is being answered; undefined: background work. */
export function patienceOfRequest(): Patience | undefined {
  const patience = requests.getStore()
  // What a request started may outlive it.
  return patience?.isOver ? undefined : patience
}
