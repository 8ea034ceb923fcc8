import { jammedSenders } from '../../store/chain/senders.ts'
import { queueLengths } from '../../store/chain/signer-queues.ts'
import type { Db } from '../../store/database/database.ts'
import type { ChainSettings, Clock } from './sender.ts'

interface Queues {
  lengths: Map<string, number>
  /** Names of signers for which nothing is mined. */
  jammed: ReadonlySet<string>
}

/** In milliseconds. Meanwhile, those that this process adds are counted here. */
const cachedMs = 250

/** The queues of all signers, read from the database, because other daemons may send for some of them. */
export class QueueLengths {
  readonly #db: Db
  readonly #clock: Clock
  readonly #chains = new Map<number, ChainSettings>()
  readonly #known = new Map<number, { at: number; queues: Promise<Queues> }>()
  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  add(chain: ChainSettings): void {
    this.#chains.set(chain.chainId, chain)
  }

  /** @returns the signers that are not jammed first, and of these the one with the shortest queue */
  async shortestFirst(chainId: number, signers: readonly string[]): Promise<readonly string[]> {
    if (signers.length < 2) return signers
    const { lengths, jammed } = await this.#queuesOf(chainId)
    const rank = (name: string) =>
      (jammed.has(name) ? Number.MAX_SAFE_INTEGER / 2 : 0) + (lengths.get(name) ?? 0)
    const sorted = signers.toSorted((one, other) => rank(one) - rank(other))
    const [first = ''] = sorted
    lengths.set(first, (lengths.get(first) ?? 0) + 1)
    return sorted
  }

  #queuesOf(chainId: number): Promise<Queues> {
    const known = this.#known.get(chainId)
    const now = this.#clock.monotonic()
    if (known && now - known.at < cachedMs) return known.queues
    const queues = this.#read(chainId)
    this.#known.set(chainId, { at: now, queues })
    queues.catch(() => this.#known.delete(chainId))
    return queues
  }

  async #read(chainId: number): Promise<Queues> {
    const [lengths, jammed] = await Promise.all([
      queueLengths(this.#db.read, chainId),
      jammedSenders(this.#db.read, chainId),
    ])
    return { lengths, jammed: namesOf(this.#chains.get(chainId), jammed) }
  }
}

export const namesOf = (
  chain: ChainSettings | undefined,
  addresses: ReadonlyMap<string, unknown>,
): Set<string> =>
  new Set(
    Object.entries(chain?.signers ?? {}).flatMap(([name, { address }]) =>
      addresses.has(address) ? [name] : [],
    ),
  )
