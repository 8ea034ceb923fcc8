import type { Client } from 'pg'
import { DatabaseUnavailable } from '../database/database.ts'
import { maxWaitMs, waitBudgetOfRequest } from '../database/wait-budget.ts'
import { breakOff, connectTo, end } from './connection.ts'
import { defaultConnections, type Kind, kinds, type Limits, limitsOf } from './kinds.ts'
import { PooledConnection } from './pooled-connection.ts'
import type { Primary } from './primary.ts'
import { connectMs, isStale, isUnprepared } from './servers.ts'
import { isFull } from './trouble.ts'

/** Maximum waiting requests of one kind: more than normal operation needs, but few enough for the memory. */
const maxWaiting = 1000
/** Idle connections are closed, since other daemons may need them. */
const idleMs = 5000
/** Delay before asking again a server that refused another connection. */
const retryFullMs = 1000
const failedPauseMs = 100
/** A daemon that is refused another connection releases its own for other daemons, down to this number. */
const keptWhenFull = 2

interface PendingRequest {
  readonly since: number
  readonly timer: NodeJS.Timeout
  resolve(client: Client): void
  reject(error: unknown): void
}

/**
 * All connections of a daemon to the server that accepts writes, opened when they are needed. They are alike, so that
 * none is idle while anyone waits. Writes and slow queries leave one to taps, however few there are.
 */
export class Pool {
  readonly #primary: Primary
  readonly #max: number
  readonly #isBulk: boolean
  readonly #limits: Readonly<Record<Kind, Limits>>
  readonly #inUse: Record<Kind, number> = { control: 0, tap: 0, read: 0, write: 0, slow: 0 }
  readonly #waiting: Record<Kind, PendingRequest[]> = { control: [], tap: [], read: [], write: [], slow: [] }
  /** Each with its last use. */
  readonly #open = new Map<Client, Kind>()
  /** The last one was used most recently, and is taken first. */
  readonly #idle: { client: Client; since: number }[] = []
  readonly #ending = new Set<Promise<void>>()
  readonly #tidying: NodeJS.Timeout
  #opening = 0
  #lastRefusal: unknown
  #pausedUntil = 0
  #toCloseOnRelease = 0
  #isClosing = false
  #allClosed = () => {}

  /** @param options `isBulk`: statements may take as long as those of their kind, since no request waits for them */
  constructor(primary: Primary, { connections = defaultConnections, isBulk = false } = {}) {
    this.#primary = primary
    this.#isBulk = isBulk
    this.#max = connections
    this.#limits = limitsOf(connections)
    primary.found = (client) => this.#add(client)
    this.#tidying = setInterval(() => this.#closeIdle(performance.now() - idleMs, 1), idleMs / 10).unref()
  }

  /**
   * @param leftMs how long the work may still wait for the database
   * @throws DatabaseUnavailable; `isRefused` if too many wait already
   */
  async connect(
    kind: Kind,
    leftMs = waitBudgetOfRequest()?.leftMs() ?? maxWaitMs,
  ): Promise<PooledConnection> {
    const waiting = this.#waiting[kind]
    if (waiting.length >= maxWaiting || this.#isClosing)
      throw new DatabaseUnavailable(new Error('The database queue is full'), { isRefused: true })
    const since = performance.now()
    const client = await new Promise<Client>((resolve, reject) => {
      const late = () => {
        waiting.splice(waiting.indexOf(one), 1)
        reject(new DatabaseUnavailable(this.#lastRefusal ?? new Error('timeout: no connection is free')))
      }
      const timer = setTimeout(late, Math.min(connectMs, leftMs))
      const one = { since, timer, resolve, reject }
      waiting.push(one)
      this.#lend()
    })
    const released = (error: unknown) => this.#release(client, kind, error)
    const { queryMs } = this.#limits[kind]
    return new PooledConnection(client, {
      ...{ queryMs, released, since },
      patienceMs: kind === 'slow' || this.#isBulk ? Number.POSITIVE_INFINITY : leftMs,
    })
  }

  /** The current server, or the last one. */
  get url(): string {
    return this.#primary.url
  }

  /** Aborts everything that waits for an answer. */
  cut(): void {
    for (const client of this.#open.keys()) breakOff(client)
  }

  counts(kind: Kind): { inUse: number; idle: number; waiting: number; max: number } {
    const idle = this.#idle.filter(({ client }) => this.#open.get(client) === kind).length
    const { max } = this.#limits[kind]
    const inUse = this.#inUse[kind]
    // Others wait for a new connection to open, so there is no shortage.
    const isMade = inUse < max && this.#opening > 0
    return { inUse, idle, waiting: isMade ? 0 : this.#waiting[kind].length, max }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#tidying)
    this.#refuse(new Error('The store is closing'))
    this.#closeIdle(Number.POSITIVE_INFINITY, 0)
    if (this.#open.size > 0)
      await new Promise<void>((resolve) => {
        this.#allClosed = resolve
      })
    await Promise.all(this.#ending)
  }

  get #isPaused(): boolean {
    return performance.now() < this.#pausedUntil
  }

  /** If there is more than one, writes and slow queries leave one to taps. */
  #isAllowed(kind: Kind): boolean {
    if (this.#inUse[kind] >= this.#limits[kind].max) return false
    if (kind !== 'write' && kind !== 'slow') return true
    const total = this.#lastRefusal === undefined ? this.#max : this.#open.size
    const minSpare = kind === 'write' || this.#max === 1 ? 1 : 0
    return this.#inUse.write + this.#inUse.slow < Math.max(total - 1, minSpare)
  }

  /** First come, first served, but control queries go first, and one tap at a time. */
  #next(): Kind | undefined {
    const allowed = kinds.filter((kind) => this.#waiting[kind].length > 0 && this.#isAllowed(kind))
    if (allowed.includes('control')) return 'control'
    if (allowed.includes('tap') && this.#inUse.tap === 0) return 'tap'
    const since = (kind: Kind) => this.#waiting[kind][0]?.since ?? Number.POSITIVE_INFINITY
    return allowed.sort((a, b) => since(a) - since(b))[0]
  }

  #lend(): void {
    for (let kind = this.#next(); kind !== undefined; kind = this.#next()) {
      const client = this.#idle.pop()?.client
      if (client === undefined) break
      const one = this.#waiting[kind].shift()
      this.#inUse[kind] += 1
      this.#open.set(client, kind)
      clearTimeout(one?.timer)
      one?.resolve(client)
    }
    const max = this.#isPaused ? 1 : this.#max
    while (this.#opening < this.#wanted && this.#open.size + this.#opening < max) void this.#openOne()
  }

  /** Connections that those who wait may use; more of them lets writes begin that left the last one to taps. */
  get #wanted(): number {
    return kinds.reduce(
      (sum, kind) => sum + Math.min(this.#waiting[kind].length, this.#limits[kind].max - this.#inUse[kind]),
      0,
    )
  }

  async #openOne(): Promise<void> {
    this.#opening += 1
    let { url } = this.#primary
    try {
      await this.#primary.known()
      url = this.#primary.url
      // The search for the server has opened one.
      if (this.#wanted > 0) this.#add(await connectTo(url))
    } catch (error) {
      if (!isFull(error)) this.#primary.markLost(url)
      this.#refused(error)
    } finally {
      this.#opening -= 1
    }
    this.#lend()
  }

  #add(client: Client): void {
    if (this.#isClosing || this.#open.size >= this.#max) {
      this.#end(client)
      return
    }
    this.#lastRefusal = undefined
    this.#open.set(client, 'read')
    const gone = () => {
      this.#drop(client)
      this.#lend()
    }
    client.once('error', gone).once('end', gone)
    this.#idle.push({ client, since: performance.now() })
    this.#lend()
  }

  /** With open connections, work continues; without any, waiting would be in vain. */
  #refused(error: unknown): void {
    this.#lastRefusal = error
    if (this.#open.size === 0 && this.#opening === 1) {
      this.#refuse(error)
      return
    }
    const isNews = !this.#isPaused
    const pauseMs = isFull(error) ? retryFullMs * (1 + Math.random()) : failedPauseMs
    this.#pausedUntil = performance.now() + pauseMs
    setTimeout(() => this.#lend(), pauseMs).unref()
    if (!isNews || !isFull(error) || this.#open.size - this.#toCloseOnRelease <= keptWhenFull) return
    if (this.#idle.length > 0) this.#closeIdle(Number.POSITIVE_INFINITY, this.#open.size - 1)
    else this.#toCloseOnRelease += 1
  }

  #refuse(error: unknown): void {
    for (const waiting of Object.values(this.#waiting))
      for (const { timer, reject } of waiting.splice(0)) {
        clearTimeout(timer)
        reject(error instanceof DatabaseUnavailable ? error : new DatabaseUnavailable(error))
      }
  }

  #release(client: Client, kind: Kind, error: unknown): void {
    this.#inUse[kind] -= 1
    if (error instanceof DatabaseUnavailable) {
      breakOff(client)
      this.#drop(client)
    } else if (this.#isClosing || this.#toCloseOnRelease > 0 || isStale(error) || isUnprepared(error)) {
      this.#drop(client)
      this.#end(client)
    } else if (this.#open.has(client)) this.#idle.push({ client, since: performance.now() })
    this.#lend()
  }

  #drop(client: Client): void {
    if (!this.#open.delete(client)) return
    const at = this.#idle.findIndex((one) => one.client === client)
    if (at >= 0) this.#idle.splice(at, 1)
    if (this.#toCloseOnRelease > 0) this.#toCloseOnRelease -= 1
    if (this.#open.size === 0) this.#allClosed()
  }

  #end(client: Client): void {
    const ending = end(client).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  /** Closes connections unused since then, the longest unused first, down to `kept`. */
  #closeIdle(since: number, kept: number): void {
    while (this.#open.size > kept) {
      const [oldest] = this.#idle
      if (oldest === undefined || oldest.since > since) return
      this.#drop(oldest.client)
      this.#end(oldest.client)
    }
  }
}
