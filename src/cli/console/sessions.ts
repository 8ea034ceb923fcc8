import { createHash, randomBytes } from 'node:crypto'

const maxSessions = 8

interface Session {
  readonly cookie: string
  /** In the page's own storage, which other ports of this machine cannot read. */
  readonly secret: string
}

const secretOf = (): string => randomBytes(32).toString('base64url')
/** Looked up by its hash, so that how long that takes tells nothing about a value. */
const hashOf = (value: string): string => createHash('sha256').update(value).digest('base64url')

/**
 * Who may see the console. A link works once and makes a session of two secrets: browsers send a cookie to all ports of a
 * host, so alone it opens the empty page; requests carry the other one in a header.
 */
export class Sessions {
  #link: string | undefined
  readonly #secretByCookie = new Map<string, string>()

  /** The one link that works from now on. */
  newLink(): string {
    const link = secretOf()
    this.#link = hashOf(link)
    return link
  }

  /** Uses the link up. */
  enter(link: string): Session | undefined {
    if (this.#link === undefined || hashOf(link) !== this.#link) return undefined
    this.#link = undefined
    const session = { cookie: secretOf(), secret: secretOf() }
    this.#secretByCookie.set(hashOf(session.cookie), hashOf(session.secret))
    const [oldest] = this.#secretByCookie.keys()
    if (this.#secretByCookie.size > maxSessions && oldest !== undefined) this.#secretByCookie.delete(oldest)
    return session
  }

  hasCookie(cookie: string | undefined): boolean {
    return cookie !== undefined && this.#secretByCookie.has(hashOf(cookie))
  }

  has(cookie: string | undefined, secret: string | undefined): boolean {
    if (cookie === undefined || secret === undefined) return false
    return this.#secretByCookie.get(hashOf(cookie)) === hashOf(secret)
  }
}
