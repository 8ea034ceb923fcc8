import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { DatabaseUnavailable } from '../database/database.ts'
import { connectTo, end } from './connection.ts'
import { addressOf, isLasting, isNoRoom, type Servers } from './servers.ts'

/** Between two searches for the server, so that waiting clients do not flood it. */
const restMs = 100
/** How long to wait for silent hosts once another has said that it is not the primary: it may become it soon. */
const othersMs = 500

/** No host of the database accepts writes, for the stated reasons. */
export class NoPrimary extends Error {
  override readonly name = 'NoPrimary'
  /** Every host that answers refuses this client permanently. */
  readonly isLasting: boolean
  /** A host answered that it has no free connections. */
  readonly isFull: boolean
  /** A missing host has not answered. */
  readonly reasons: readonly { server: string; error: Error }[]
  constructor(reasons: readonly { server: string; error: Error }[]) {
    super(reasons.map(({ server, error }) => `${server}: ${error.message}`).join('; '))
    this.reasons = reasons
    this.isLasting = reasons.some(({ error }) => isLasting(error))
    this.isFull = reasons.some(({ error }) => isNoRoom(error))
  }
}

/** Finds the host that accepts writes. Shared by all connections of a daemon, so that one search serves them all. */
export class Primary {
  readonly #urls: readonly string[]
  #url: string
  #isLost: boolean
  #looking: Promise<void> | undefined
  /** Takes the connection opened by the search, since there may be no room for another one. */
  found: (client: Client) => void = (client) => void end(client)

  constructor({ urls }: Servers) {
    this.#urls = urls
    this.#url = urls[0] ?? ''
    // A single host is assumed to accept writes until it fails.
    this.#isLost = urls.length > 1
  }

  /** The host for the next connection. */
  get url(): string {
    return this.#url
  }

  /** Call it when a connection failed. */
  markLost(url: string): void {
    if (url === this.#url) this.#isLost = true
  }

  /** Resolves when `url` accepts writes, as far as is known. @throws DatabaseUnavailable because of NoPrimary */
  async known(): Promise<void> {
    if (!this.#isLost) return
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    await this.#looking
  }

  /** Asks all hosts at once, because one that is down may not even refuse. */
  async #look(): Promise<void> {
    const failures: { server: string; error: Error }[] = []
    let refused = () => {}
    const refusal = new Promise<void>((resolve) => {
      refused = resolve
    })
    const tries = this.#urls.map(async (url) => {
      try {
        const client = await connectTo(url)
        // The result is used even if nobody waits for it anymore: a distant server answers late.
        this.#url = url
        this.#isLost = false
        this.found(client)
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown))
        failures.push({ server: addressOf(url), error })
        refused()
        throw error
      }
    })
    try {
      const overdue = refusal.then(() => delay(othersMs)).then(() => Promise.reject(new Error('silent')))
      await Promise.race([Promise.any(tries), overdue])
    } catch {
      await delay(restMs)
      throw new DatabaseUnavailable(new NoPrimary(failures))
    }
  }
}
