import { DatabaseUnavailable } from './database.ts'
import { type WaitBudget, waitBudgetOfRequest } from './wait-budget.ts'

interface PendingItem<T, R> {
  item: T
  resolve(value: R | PromiseLike<R>): void
  reject(error: unknown): void
}

/** Answers in the order of the items. Unfinished work for one of them must not delay the others. */
type Ask<T, R> = (items: T[]) => Promise<readonly (R | Promise<R>)[]>

interface Limits<T> {
  /** Groups in progress. */
  readonly concurrency: number
  readonly maxPerGroup: number
  /** Items with the same key are never in one group. */
  readonly keyOf?: (item: T) => unknown
  /** Work in progress may succeed although nobody waits for its answer anymore. */
  readonly isWriting?: boolean
}

/** More than normally wait at any moment, but few enough to fit in memory. */
const maxWaiting = 5000

/**
 * Groups items that arrive in one turn of the event loop or while enough groups are in progress, so that a busy
 * daemon asks its database once for many. A single item is sent at once, and nothing joins a group in progress.
 */
export class Groups<T, R> {
  readonly #ask: Ask<T, R>
  readonly #limits: Limits<T>
  #waiting: PendingItem<T, R>[] = []
  #underWay = 0
  #isPlanned = false

  constructor(ask: Ask<T, R>, limits: Limits<T>) {
    this.#ask = ask
    this.#limits = limits
  }

  /** @throws errors of its group; DatabaseUnavailable if too many wait */
  ask(item: T): Promise<R> {
    if (this.#waiting.length >= maxWaiting)
      throw new DatabaseUnavailable(new Error('The database queue is full'), { isRefused: true })
    const waitBudget = waitBudgetOfRequest()
    return new Promise((resolve, reject) => {
      const waiting = { item, resolve, reject }
      this.#waiting.push(waiting)
      this.#plan()
      if (waitBudget) this.#endWith(waitBudget, waiting)
    })
  }

  /** The group may have the patience of a different request. */
  #endWith(waitBudget: WaitBudget, waiting: PendingItem<T, R>): void {
    const began = performance.now()
    const { resolve, reject } = waiting
    const late = setTimeout(() => {
      waitBudget.countLost(began)
      const isUnderWay = !this.#waiting.includes(waiting)
      this.#waiting = this.#waiting.filter((one) => one !== waiting)
      const isOutcomeUnknown = isUnderWay && this.#limits.isWriting === true
      reject(new DatabaseUnavailable(new Error('timeout: no answer'), { isOutcomeUnknown }))
    }, waitBudget.leftMs())
    waiting.resolve = (value) => {
      clearTimeout(late)
      resolve(value)
    }
    waiting.reject = (error) => {
      clearTimeout(late)
      reject(error)
    }
  }

  #plan(): void {
    if (this.#isPlanned || this.#waiting.length === 0 || this.#underWay >= this.#limits.concurrency) return
    this.#isPlanned = true
    // Then all requests that arrived together have been read.
    setImmediate(() => {
      this.#isPlanned = false
      void this.#send(this.#next())
      this.#plan()
    })
  }

  #next(): PendingItem<T, R>[] {
    const { maxPerGroup, keyOf } = this.#limits
    if (!keyOf) return this.#waiting.splice(0, maxPerGroup)
    const keys = new Set<unknown>()
    const group: PendingItem<T, R>[] = []
    const rest: PendingItem<T, R>[] = []
    for (const one of this.#waiting) {
      const key = keyOf(one.item)
      const fits = group.length < maxPerGroup && !keys.has(key)
      if (fits) keys.add(key)
      const into = fits ? group : rest
      into.push(one)
    }
    this.#waiting = rest
    return group
  }

  async #send(group: readonly PendingItem<T, R>[]): Promise<void> {
    this.#underWay += 1
    try {
      const answers = await this.#ask(group.map(({ item }) => item))
      for (const [at, { resolve }] of group.entries()) resolve(answers[at] as R | Promise<R>)
    } catch (error) {
      for (const { reject } of group) reject(error)
    } finally {
      this.#underWay -= 1
      this.#plan()
    }
  }
}
