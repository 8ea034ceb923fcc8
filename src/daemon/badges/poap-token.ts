import type { Unavailable } from './provider.ts'

interface AccessToken {
  token: string
  /** Milliseconds, monotonic. */
  expiresAt: number
}

export type TokenResult = { kind: 'ok'; value: AccessToken } | Unavailable

/**
 * A token is renewed when a tenth of its life is left, at most five minutes, so that it does not expire in
 * transit.
 */
const margin = (lifeMs: number) => Math.min(lifeMs / 10, 300_000)

/** Caches the bearer token. Concurrent calls share one request for a new one. */
export class PoapToken {
  readonly #fetch: () => Promise<TokenResult>
  readonly #now: () => number
  #kept: (AccessToken & { renewAt: number }) | undefined
  #renewing: Promise<TokenResult> | undefined

  constructor(fetch: () => Promise<TokenResult>, now: () => number) {
    this.#fetch = fetch
    this.#now = now
  }

  async get(): Promise<TokenResult> {
    const kept = this.#kept
    if (kept && this.#now() < kept.renewAt) return { kind: 'ok', value: kept }
    const renewed = await this.#renew()
    // An unavailable token endpoint does not matter until the old token expires.
    if (renewed.kind !== 'ok' && kept && kept === this.#kept && this.#now() < kept.expiresAt)
      return { kind: 'ok', value: kept }
    return renewed
  }

  /** The API refused the token. Another call may have replaced it already. */
  drop(token: string): void {
    if (this.#kept?.token === token) this.#kept = undefined
  }

  #renew(): Promise<TokenResult> {
    this.#renewing ??= this.#ask().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #ask(): Promise<TokenResult> {
    const startedAt = this.#now()
    const answer = await this.#fetch()
    if (answer.kind === 'ok') {
      const { expiresAt } = answer.value
      this.#kept = { ...answer.value, renewAt: expiresAt - margin(expiresAt - startedAt) }
    }
    return answer
  }
}
