/**
 * The two configurable words of the interface, so that clients written for a differently named service work
 * unchanged. Inside the daemon everything uses the neutral words; only this class translates them.
 */
export class WireWords {
  readonly apiKeyHeader: string
  readonly codeHeader: string
  readonly refParameter: string
  readonly #badge: string

  constructor(words: { wirePrefix: string; wireBadge: string }) {
    this.apiKeyHeader = `x-${words.wirePrefix}-api-key`
    this.codeHeader = `x-${words.wirePrefix}-code`
    this.refParameter = `${words.wirePrefix}Ref`
    this.#badge = words.wireBadge
  }

  /** True if there is nothing to rename. */
  get isNeutral(): boolean {
    return this.#badge === 'badge'
  }

  word(neutral: string): string {
    if (this.isNeutral) return neutral
    return neutral.replace(/^(\/?)badge(?=-event|Event)/, `$1${this.#badge}`)
  }

  /** Renames the members of an answer; nested members belong to users and stay unchanged. */
  answer(body: unknown): unknown {
    if (this.isNeutral || typeof body !== 'object' || body === null || Array.isArray(body)) return body
    return Object.fromEntries(Object.entries(body).map(([name, value]) => [this.word(name), value]))
  }
}
