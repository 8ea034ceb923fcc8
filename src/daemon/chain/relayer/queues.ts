import { jammedSenders } from '../../store/chain/senders.ts'
import { queueLengths } from '../../store/chain/signer-queues.ts'
import type { Db } from '../../store/database/database.ts'
import type { ChainSettings, Clock } from './sender.ts'

/** In milliseconds. Meanwhile, those that this process adds are counted here. */
const cachedMs = 250

/** @returns the signers that are not jammed first, and of these the one with the shortest queue */
export type ShortestFirst = (signers: readonly string[]) => Promise<readonly string[]>

/** The queues of a chain's signers are read from the database, because other daemons may send for some of them. */
export function shortestFirst(chain: ChainSettings, db: Db, clock: Clock): ShortestFirst {
  const read = async () => {
    const [lengths, jammed] = await Promise.all([
      queueLengths(db.read, chain.chainId),
      jammedSigners(chain, db),
    ])
    return { lengths, jammed }
  }
  let known: { at: number; queues: ReturnType<typeof read> } | undefined
  return async (signers) => {
    if (signers.length < 2) return signers
    const now = clock.monotonic()
    if (known === undefined || now - known.at >= cachedMs) known = { at: now, queues: read() }
    const { lengths, jammed } = await known.queues.catch((error: unknown) => {
      known = undefined
      throw error
    })
    const rank = (name: string) =>
      (jammed.includes(name) ? Number.MAX_SAFE_INTEGER / 2 : 0) + (lengths.get(name) ?? 0)
    const sorted = signers.toSorted((one, other) => rank(one) - rank(other))
    const [first = ''] = sorted
    lengths.set(first, (lengths.get(first) ?? 0) + 1)
    return sorted
  }
}

/** Names of signers for which nothing is mined. */
export async function jammedSigners({ chainId, signers }: ChainSettings, db: Db): Promise<string[]> {
  const all = Object.entries(signers)
  const jams = all.length < 2 ? new Map() : await jammedSenders(db.read, chainId)
  return all.filter(([, { address }]) => jams.has(address)).map(([name]) => name)
}
