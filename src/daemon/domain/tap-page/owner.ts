import { setTimeout as later } from 'node:timers/promises'
import type { Chains } from '../../chain/chains.ts'
import type { LocatedToken } from '../../store/phygitals/tokens.ts'
import { cachedOwnerOf, ownersCached } from '../chain/read-chain.ts'
import type { Names } from '../chain/recipients.ts'
import type { Piece } from './content.ts'

export interface OwnerDeps {
  chains: Chains
  names: Names
}

/** A page waits no longer than this for a chain; its script gets the owner later. */
const patienceMs = 150
const ownerMs = 3000
// An open page asks only at the beginning and after its claim, because many may be open, each rebuilt every
// few seconds.
const followedMs = 60_000
const nameMs = 60_000
type Known = Pick<Piece, 'owner' | 'isUnowned'>

interface OwnerReading {
  /** Known within the time limit; `isFinal` once the chain and its names have answered. */
  quick: Promise<Known & { isFinal: boolean }>
  /** Never fails: of an owner that cannot be read, nothing is known. */
  settled: Promise<Known>
}

interface OwnerOptions {
  /**
   * The last claim that this browser made and the chain confirmed, if any. A cached answer from before it is never used
   * after it.
   */
  since: string | undefined
  isFollowed: boolean
  /** In milliseconds, for `quick`. */
  patienceMs?: number
}

/** The owner of a token according to its chain, with the name that the owner set for the address. */
export function ownerOnPage(deps: OwnerDeps, token: LocatedToken, options: OwnerOptions): OwnerReading {
  let known: Known = { owner: undefined }
  const reading = readOwner(deps, token, options, (now) => {
    known = now
  })
  const answered = reading.then(
    () => known,
    () => known,
  )
  const chainAnswered = new AbortController()
  const timeout = later(options.patienceMs ?? patienceMs, false, { signal: chainAnswered.signal }).catch(
    () => false,
  )
  const quick = Promise.race([answered.then(() => true), timeout])
    .then((isFinal) => ({ ...known, isFinal }))
    .finally(() => chainAnswered.abort())
  return { quick, settled: answered }
}

async function readOwner(
  deps: OwnerDeps,
  token: LocatedToken,
  options: OwnerOptions,
  learn: (known: Known) => void,
): Promise<void> {
  // A contract with a known problem cannot name the owner.
  if (token.contractProblem !== null || !deps.chains.has(token.chainId)) return
  const chain = deps.chains.get(token.chainId)
  const forMs = options.isFollowed ? followedMs : ownerMs
  const address = await cachedOwnerOf(chain, token, { forMs, since: options.since })
  if (address === undefined) return learn({ owner: undefined, isUnowned: true })
  learn({ owner: { address, name: undefined } })
  const name = await ownersCached(chain, `name ${address}`, nameMs, () =>
    deps.names.nameOf(chain.id, address),
  )
  learn({ owner: { address, name } })
}
