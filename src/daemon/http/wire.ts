/**
 * The two words that the interface leaves open, so that clients written for a service of another name work
 * unchanged. Everything inside the daemon speaks the neutral words; this is where they change.
 */
export class WireWords {
  readonly apiKeyHeader: string
  readonly codeHeader: string
  /** The query parameter that carries a ref. */
  readonly refParameter: string
  readonly #badge: string

  constructor(words: { wirePrefix: string; wireBadge: string }) {
    this.apiKeyHeader = `x-${words.wirePrefix}-api-key`
    this.codeHeader = `x-${words.wirePrefix}-code`
    this.refParameter = `${words.wirePrefix}Ref`
    this.#badge = words.wireBadge
  }

  /** A path or a name of the contract, as it stands on the wire. */
  word(neutral: string): string {
    if (this.#badge === 'badge') return neutral
    return neutral.replace(/^(\/?)badge(?=-event|Event)/, `$1${this.#badge}`)
  }

  /** An answer, its own members renamed; what lies deeper belongs to users and stays. */
  answer(body: unknown): unknown {
    if (this.#badge === 'badge' || typeof body !== 'object' || body === null || Array.isArray(body))
      return body
    return Object.fromEntries(Object.entries(body).map(([name, value]) => [this.word(name), value]))
  }
}
