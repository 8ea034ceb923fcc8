import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { DatabaseUnavailable } from '../database/database.ts'
import { connectTo, end } from './connection.ts'
import { addressOf, isLasting, isNoRoom, type Servers } from './servers.ts'

/** Between two looks for the server, so that those who wait do not storm it. */
const restMs = 100
/** For hosts that are silent, once another has said that it is not the one: it may be soon. */
const othersMs = 500

/** No host of the database accepts writes, for the reasons given. */
export class NoPrimary extends Error {
  override readonly name = 'NoPrimary'
  /** Every host that answers refuses this client, and will go on to. */
  readonly isLasting: boolean
  /** A host answered that it has no room. */
  readonly hasNoRoom: boolean
  /** One that is missing has not answered. */
  readonly reasons: readonly { server: string; error: Error }[]
  constructor(reasons: readonly { server: string; error: Error }[]) {
    super(reasons.map(({ server, error }) => `${server}: ${error.message}`).join('; '))
    this.reasons = reasons
    this.isLasting = reasons.some(({ error }) => isLasting(error))
    this.hasNoRoom = reasons.some(({ error }) => isNoRoom(error))
  }
}

/** Which host accepts writes. Shared by all connections of a daemon, so that one look serves them all. */
export class Primary {
  readonly #urls: readonly string[]
  #url: string
  #isLost: boolean
  #looking: Promise<void> | undefined
  /** Takes the connection by which a look found the server, since there may be no room for another one. */
  found: (client: Client) => void = (client) => void end(client)

  constructor({ urls }: Servers) {
    this.#urls = urls
    this.#url = urls[0] ?? ''
    // The only host is taken at its word until it fails.
    this.#isLost = urls.length > 1
  }

  /** Where the next connection goes. */
  get url(): string {
    return this.#url
  }

  /** A connection there failed. */
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

  /** Asks all hosts at once, because one that is gone may not even refuse. */
  async #look(): Promise<void> {
    const failures: { server: string; error: Error }[] = []
    let refused = () => {}
    const refusal = new Promise<void>((resolve) => {
      refused = resolve
    })
    const tries = this.#urls.map(async (url) => {
      try {
        const client = await connectTo(url)
        // Counts as well when nobody waits for it any more: a server far away answers late.
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
