import { setTimeout as sleep } from 'node:timers/promises'
import type { LiveEvent, LiveTap } from '../../console/requests.ts'
import { listenerAt } from '../client/address.ts'
import { linesOf, textOf } from '../client/connection.ts'
import { readApiError } from '../client/errors.ts'
import type { Client, ForwardedRequest } from '../client/types.ts'
import { describeError } from '../errors.ts'

/** Kept for pages that come back, or open. */
const maxKept = 2000
const firstTaps = 200
const tapsPerPage = 1000
/** Read after the daemon was away. */
const maxPages = 5
const retryMs = [250, 500, 1000, 2000]
/** The daemon sends an empty line every 15 seconds. */
const silenceMs = 45_000
/** Refused taps are stored a moment after they were streamed, and clocks of several daemons differ. */
const overlapMs = 10_000

type Told = LiveEvent extends infer E ? (E extends { seq: number } ? Omit<E, 'seq'> : never) : never

/** A valid tap has an ID; a refused one that is not stored yet has none, so it is known by what it says. */
const nameOf = ({ id, outcome, at, uid, keySet, counter, via }: LiveTap): string =>
  outcome === 'valid' && id !== null ? String(id) : [at, outcome, uid, keySet, counter, via].join()

/**
 * Follows the daemon's taps for all pages at once. After an interruption it reads what happened meanwhile, so that no tap
 * is missed or told twice.
 */
export class TapFeed {
  readonly #client: Client
  readonly #team: string | undefined
  readonly #now: () => Date
  readonly #kept: LiveEvent[] = []
  readonly #listeners = new Set<(event: LiveEvent) => void>()
  /** How often each tap was told, of those that may be read again. */
  #known = new Map<string, number>()
  #newest: string | undefined
  #seq = 0
  #awaySince: string | null = null
  readonly #ended = new AbortController()
  #running: Promise<void> | undefined

  constructor(client: Client, options: { team: string | undefined; now: () => Date }) {
    this.#client = client
    this.#team = options.team
    this.#now = options.now
  }

  /**
   * Calls `listener` with what is kept after an event, then with what happens.
   * @returns a function that unsubscribes
   */
  follow(after: number, listener: (event: LiveEvent) => void): () => void {
    this.#running ??= this.#run()
    // A number that is not ours is of an earlier console on this port.
    const from = after > this.#seq ? 0 : after
    for (const event of this.#kept) if (event.seq > from) listener(event)
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#ended.abort()
    await this.#running
  }

  #tell(told: Told): void {
    this.#seq += 1
    const event: LiveEvent = { seq: this.#seq, ...told }
    this.#kept.push(event)
    if (this.#kept.length > maxKept) this.#kept.shift()
    for (const listener of this.#listeners) listener(event)
  }

  #tellTap(tap: LiveTap): void {
    const name = nameOf(tap)
    this.#known.set(name, (this.#known.get(name) ?? 0) + 1)
    if (this.#known.size > 2 * tapsPerPage * maxPages)
      this.#known = new Map([...this.#known].slice(-tapsPerPage * maxPages))
    if (this.#newest === undefined || tap.at > this.#newest) this.#newest = tap.at
    this.#tell({ type: 'tap', tap })
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        await this.#followOnce(() => {
          failures = 0
        })
      } catch (error) {
        if (signal.aborted) return
        this.#tellAway(error)
      }
      const wait = retryMs[Math.min(failures, retryMs.length - 1)]
      await sleep(wait, undefined, { signal }).catch(() => undefined)
    }
  }

  #tellAway(error: unknown): void {
    if (this.#awaySince !== null) return
    this.#awaySince = this.#now().toISOString()
    const message = describeError(error).lines.join(' ')
    this.#tell({ type: 'away', since: this.#awaySince, message })
  }

  /** Returns, or throws, once the daemon ends the stream. */
  async #followOnce(onConnected: () => void): Promise<void> {
    const answer = await this.#open('GET /admin/taps/follow', {
      query: this.#query,
      idleTimeoutMs: silenceMs,
    })
    // What happens from here on waits in the stream.
    await this.#catchUp()
    onConnected()
    if (this.#awaySince !== null) {
      this.#awaySince = null
      this.#tell({ type: 'away', since: null, message: null })
    }
    // Of those read just now, the stream repeats only what came in since it was opened.
    const repeated = new Map(this.#known)
    for await (const line of linesOf(answer)) {
      const tap = parseTap(line)
      if (tap === undefined) throw readApiError(500, undefined, line, listenerAt(this.#client.url.href))
      const name = nameOf(tap)
      const left = repeated.get(name) ?? 0
      if (left > 0) repeated.set(name, left - 1)
      else this.#tellTap(tap)
    }
    throw new Error('The daemon ended the stream of taps.')
  }

  get #query() {
    return this.#team === undefined ? {} : { team: this.#team }
  }

  async #open(key: 'GET /admin/taps' | 'GET /admin/taps/follow', request: ForwardedRequest) {
    const answer = await this.#client.forward(key, { ...request, signal: this.#ended.signal })
    const status = answer.statusCode ?? 0
    if (status >= 300)
      throw readApiError(status, undefined, await textOf(answer), listenerAt(this.#client.url.href))
    return answer
  }

  async #catchUp(): Promise<void> {
    const isFirst = this.#newest === undefined
    const since =
      this.#newest === undefined ? undefined : new Date(Date.parse(this.#newest) - overlapMs).toISOString()
    const limit = isFirst ? firstTaps : tapsPerPage
    const missed: LiveTap[] = []
    const counted = new Map<string, number>()
    let before: number | undefined
    for (let page = 0; page < (isFirst ? 1 : maxPages); page += 1) {
      const query = { ...this.#query, since, before, limit }
      const text = await textOf(await this.#open('GET /admin/taps', { query }))
      const taps = parseTaps(text)
      for (const tap of taps) {
        const name = nameOf(tap)
        const count = (counted.get(name) ?? 0) + 1
        counted.set(name, count)
        if (count > (this.#known.get(name) ?? 0)) missed.push(tap)
      }
      const ids = taps.flatMap(({ id }) => id ?? [])
      before = ids.length === 0 ? undefined : Math.min(...ids)
      if (taps.length < limit || before === undefined) break
      if (page === maxPages - 1) this.#tell({ type: 'gap' })
    }
    for (const tap of missed.sort((a, b) => a.at.localeCompare(b.at) || Number(a.id) - Number(b.id)))
      this.#tellTap(tap)
  }
}

const isTap = (value: unknown): value is LiveTap =>
  typeof value === 'object' && value !== null && 'at' in value && 'outcome' in value

function parseTap(line: string): LiveTap | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isTap(value) ? value : undefined
  } catch {
    return undefined
  }
}

const parseTaps = (text: string): LiveTap[] => {
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value.filter(isTap) : []
}
