import { type CredentialUse, recordUses } from '../../store/access/credentials.ts'
import type { Db } from '../../store/database/database.ts'
import { type Clock, iso } from '../time/time.ts'

const flushAfterMs = 2000
const maxPerFlush = 500
const maxLength = 80

type Used = Pick<CredentialUse, 'kind' | 'id'>

interface Caller {
  /** Undefined: it came through a Unix socket. */
  readonly ip: string | undefined
  readonly userAgent: string | undefined
}

/** When, from where and by which program each credential was last used; collected in memory, and stored soon. */
export class CredentialUses {
  readonly #db: Pick<Db, 'write'>
  readonly #clock: Clock
  readonly #failed: (error: unknown) => void
  /** One per credential and load of credentials. */
  #uses = new Map<Used, Caller & { readonly at: number }>()
  #timer: NodeJS.Timeout | undefined
  #storing: Promise<void> = Promise.resolve()

  constructor(db: Pick<Db, 'write'>, clock: Clock, failed: (error: unknown) => void) {
    this.#db = db
    this.#clock = clock
    this.#failed = failed
  }

  /** Every request calls it. */
  note(credential: Used, ip: string | undefined, userAgent: string | undefined): void {
    this.#uses.set(credential, { at: this.#clock.now(), ip, userAgent })
    this.#timer ??= setTimeout(() => void this.flush(), flushAfterMs).unref()
  }

  /** Stores what was collected, and waits for what is being stored. A failure loses some uses; newer ones follow. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const uses = this.#uses
    this.#uses = new Map()
    if (uses.size > 0) this.#storing = this.#storing.then(() => this.#store(uses)).catch(this.#failed)
    await this.#storing
  }

  async #store(uses: ReadonlyMap<Used, Caller & { readonly at: number }>): Promise<void> {
    const newest = new Map<string, CredentialUse>()
    for (const [{ kind, id }, { at, ...caller }] of uses) {
      // The root token has no row.
      if (id !== 0) newest.set(`${kind} ${id}`, { kind, id, at: iso(at), from: shown(caller) })
    }
    const all = [...newest.values()]
    for (let first = 0; first < all.length; first += maxPerFlush)
      await this.#db.write((trx) => recordUses(trx, all.slice(first, first + maxPerFlush)))
  }
}

function shown({ ip, userAgent = '' }: Caller): string {
  // A proxy may pass on any text as the address.
  const address = ip === undefined || ip === '' ? 'unix socket' : plain(ip.replace(/^::ffff:/i, ''))
  const program = plain(userAgent)
  return `${address}, ${program === '' ? 'an unnamed program' : program}`
}

const plain = (text: string): string =>
  text
    .replace(/[^\x21-\x7e]+/g, ' ')
    .trim()
    .slice(0, maxLength)
