import { setTimeout as sleep } from 'node:timers/promises'
import { type LiveEvent, type LiveTap, maxLiveTaps } from '../../console/requests.ts'
import type { Client } from '../client/types.ts'
import { describeError } from '../errors.ts'

const retryMs = [250, 500, 1000, 2000]
/** The daemon sends an empty line every 15 seconds. */
const silenceMs = 45_000

/** With its date, since a restored database gives the same IDs again. */
const nameOf = ({ id, at }: LiveTap): string => `${id} ${at}`

/** Follows the daemon's events for all pages at once, over its restarts: no tap is missed, or told twice. */
export class LiveFeed {
  readonly #client: Client
  readonly #team: string | undefined
  readonly #now: () => Date
  /** The newest taps, for pages that come back, or open. */
  #kept: readonly LiveTap[] = []
  /** The number of taps so far. */
  #seq = 0
  readonly #listeners = new Set<(event: LiveEvent) => void>()
  #away: { since: string; message: string } | null = null
  /** The next stream goes on after it. */
  #cursor: number | undefined
  /** Told taps beyond the cursor, which may come again. */
  #told = new Map<string, number>()
  /** While there are pages: a daemon that nobody looks at is asked nothing. */
  #following: { readonly ended: AbortController; readonly running: Promise<void> } | undefined

  constructor(client: Client, options: { team: string | undefined; now: () => Date }) {
    this.#client = client
    this.#team = options.team
    this.#now = options.now
  }

  /**
   * Calls `listener` with what is kept after a number of taps, then with what happens.
   * @returns a function that unsubscribes
   */
  follow(after: number, listener: (event: LiveEvent) => void): () => void {
    this.#following ??= this.#start()
    listener({ away: this.#away })
    // A number that is not ours is of an earlier console on this port.
    const missed = after < 0 || after > this.#seq ? this.#seq : this.#seq - after
    const taps = this.#kept.slice(Math.max(0, this.#kept.length - missed))
    if (taps.length > 0) listener({ seq: this.#seq, taps })
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) void this.close()
    }
  }

  /** Until a page follows again, which goes on at the cursor. */
  async close(): Promise<void> {
    const following = this.#following
    this.#following = undefined
    following?.ended.abort()
    await following?.running
  }

  #start() {
    const ended = new AbortController()
    return { ended, running: this.#run(ended.signal) }
  }

  #tell(event: LiveEvent): void {
    for (const listener of this.#listeners) listener(event)
  }

  #tellTaps({ taps, cursor }: { taps: readonly LiveTap[]; cursor: number }): void {
    const fresh = taps.filter((tap) => !this.#told.has(nameOf(tap)))
    for (const tap of fresh) this.#told.set(nameOf(tap), tap.id)
    for (const [name, id] of this.#told) if (id <= cursor) this.#told.delete(name)
    this.#cursor = cursor
    if (fresh.length === 0) return
    this.#seq += fresh.length
    this.#kept = [...this.#kept, ...fresh].slice(-maxLiveTaps)
    this.#tell({ seq: this.#seq, taps: fresh })
  }

  /** @param message null: it is there. Since when it is not, remains; why, may change, as to a key that is refused */
  #tellAway(message: string | null): void {
    if (message === (this.#away?.message ?? null)) return
    this.#away = message === null ? null : { since: this.#away?.since ?? this.#now().toISOString(), message }
    this.#tell({ away: this.#away })
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        const events = this.#client.stream('GET /admin/events/follow', {
          query: { team: this.#team, after: this.#cursor },
          signal,
          idleTimeoutMs: silenceMs,
        })
        for await (const event of events) {
          // Another run may tell this already.
          if (signal.aborted) return
          if ('taps' in event) this.#tellTaps(event)
          // A newer daemon may tell more than our page knows.
          else if ('changed' in event) this.#tell(event)
          failures = 0
          this.#tellAway(null)
        }
        throw new Error('The daemon ended the stream of events.')
      } catch (error) {
        if (signal.aborted) return
        this.#tellAway(describeError(error).lines.join(' '))
      }
      const wait = retryMs[Math.min(failures, retryMs.length - 1)]
      await sleep(wait, undefined, { signal }).catch(() => undefined)
    }
  }
}
