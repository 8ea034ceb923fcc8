import type { Address } from 'viem'
import { toCoinType } from 'viem/ens'
import { Semaphore, type SemaphoreLimits } from '../../../values/semaphore.ts'
import { Deadline } from '../../outbound/exchange.ts'
import type { SendRequest } from '../../outbound/outbound.ts'
import { type ClientFor, NameLookup, type NameService, nameServiceFor, tooLong } from './name-lookup.ts'
import { NameChainMissing, NameUnavailable, readRecipient, UnknownName } from './recipient.ts'

export {
  NameChainMissing,
  NameProblem,
  NameUnavailable,
  RecipientInvalid,
  UnknownName,
  WrongChain,
} from './recipient.ts'

/**
 * The caller: a team with a key, a person with a chip's code, a person typing a name on a tap page, or anyone, by
 * network.
 */
export type Requester = { team: number } | { chip: string } | { typing: string } | { client: string }

type Lane = SemaphoreLimits & {
  /** For one name, including all questions about it. */
  nameMs: number
}
type Lanes = Record<'team' | 'chip' | 'typing' | 'client' | 'shown', Lane>

/**
 * A name's owner controls how long its resolver takes, and strangers may ask: each kind of caller has its own queue,
 * in which no single caller can take every place.
 */
const defaultLanes: Lanes = {
  team: {
    concurrency: 8,
    concurrencyPerKey: 6,
    waiting: 1024,
    waitingPerKey: 256,
    waitMs: 60_000,
    nameMs: 20_000,
  },
  // A person with one tap may claim, sign the guestbook, and collect several badges all at once.
  chip: { concurrency: 6, concurrencyPerKey: 1, waiting: 64, waitingPerKey: 8, waitMs: 5000, nameMs: 10_000 },
  // Checks while typing must not delay submitted forms.
  typing: { concurrency: 4, concurrencyPerKey: 1, waiting: 32, waitingPerKey: 4, waitMs: 4000, nameMs: 4000 },
  client: { concurrency: 4, concurrencyPerKey: 2, waiting: 16, waitingPerKey: 2, waitMs: 2000, nameMs: 5000 },
  // For names of owners on tap pages, which can be shown without a name.
  shown: { concurrency: 8, concurrencyPerKey: 8, waiting: 64, waitingPerKey: 64, waitMs: 2000, nameMs: 3000 },
}

interface NameResolverSettings {
  now?(): number
  clientFor: ClientFor
  /** The guarded client, because anyone can name gateways in a contract. */
  fetchGateway: SendRequest
  /** The chain of ENS, for chains without a name service of their own. */
  ensChainId?: number
  lanes?: Partial<Lanes>
  /** Another daemon on the database has a chain that is not configured here. */
  isElsewhere?(chainId: number): boolean
}

export interface NameResolver {
  /**
   * Returns the recipient's checksummed address.
   * @param text an address in any case, with or without the chain's prefix, or an ENS name
   * @throws RecipientInvalid, UnknownName, NameChainMissing, NameUnavailable
   */
  resolve(requester: Requester, chainId: number, text: string): Promise<Address>
  /**
   * Returns the name of an address if it also resolves to that address on this chain. Never throws: without a name,
   * or if it cannot be looked up now, the address is shown.
   */
  nameOf(chainId: number, address: Address): Promise<string | undefined>
}

export function createNameResolver(settings: NameResolverSettings): NameResolver {
  const { clientFor, fetchGateway, ensChainId = 1, now = () => performance.now() } = settings
  const { isElsewhere = () => false } = settings
  const lanes = { ...defaultLanes, ...settings.lanes }
  const busy = () =>
    new NameUnavailable('Too many names are being looked up. Try again later, or give the address (0x…)')
  const semaphores = {
    team: new Semaphore(lanes.team),
    chip: new Semaphore(lanes.chip),
    typing: new Semaphore(lanes.typing),
    client: new Semaphore(lanes.client),
    shown: new Semaphore(lanes.shown),
  }
  const addressOf = (name: string, home: NameService, chainId: number, timeoutMs: number) => {
    const question = new NameLookup(name, home, fetchGateway, { now, timeoutMs })
    return home.chainId === chainId ? question.address() : addressElsewhere(question, name, chainId)
  }
  const serviceFor = (name: string, chainId: number) => {
    try {
      return nameServiceFor(name, chainId, ensChainId, clientFor)
    } catch (error) {
      if (!(error instanceof NameChainMissing) || !isElsewhere(error.chainId)) throw error
      const where = `${name} is looked up on chain ${error.chainId}, which another daemon serves, and not this one`
      throw new NameUnavailable(`${where}. Try again`)
    }
  }
  return {
    async resolve(requester, chainId, text) {
      const recipient = readRecipient(text, chainId)
      if (recipient.kind === 'address') return recipient.address
      const { name } = recipient
      const home = serviceFor(name, chainId)
      const { kind, key } = laneOf(requester)
      const timeoutMs = lanes[kind].nameMs
      const lookUp = () => within(timeoutMs, name, () => addressOf(name, home, chainId, timeoutMs))
      const address = await semaphores[kind].run(key, lookUp, busy)
      if (address !== undefined) return address
      const next = 'check how it is written, or give the address (0x…)'
      throw new UnknownName(`${name} has no address on the name service of chain ${home.chainId}: ${next}`)
    },
    async nameOf(chainId, address) {
      const timeoutMs = lanes.shown.nameMs
      const verified = async () => {
        const home = nameServiceFor('', chainId, ensChainId, clientFor)
        const name = await new NameLookup(address, home, fetchGateway, { now, timeoutMs }).nameOf(address)
        if (name === undefined) return undefined
        const read = readRecipient(name)
        // A name that is not normalized may imitate another one.
        if (read.kind !== 'name' || read.name !== name) return undefined
        return (await addressOf(name, home, chainId, timeoutMs)) === address ? name : undefined
      }
      const lookUp = () => within(timeoutMs, address, verified)
      return semaphores.shown.run('', lookUp, busy).catch(() => undefined)
    },
  }
}

function laneOf(requester: Requester): { kind: keyof Lanes; key: string } {
  if ('team' in requester) return { kind: 'team', key: String(requester.team) }
  if ('chip' in requester) return { kind: 'chip', key: requester.chip }
  if ('typing' in requester) return { kind: 'typing', key: requester.typing }
  return { kind: 'client', key: requester.client }
}

/** Frees the place after this time, whatever a node or gateway does. */
async function within<T>(ms: number, name: string, ask: () => Promise<T>): Promise<T> {
  const deadline = new Deadline(ms, () => new NameUnavailable(`${name} cannot be looked up: ${tooLong}`))
  try {
    return await deadline.race(ask())
  } finally {
    deadline.clear()
  }
}

/**
 * Resolves an address on a chain without ENS: the name's record for that chain (ENSIP-11), else Ethereum's, because
 * an account is the same on every chain. A contract is not: its address may belong to someone else there.
 */
async function addressElsewhere(
  question: NameLookup,
  name: string,
  chainId: number,
): Promise<Address | undefined> {
  const own = chainId <= 0x7fffffff ? await question.address(toCoinType(chainId)) : undefined
  if (own !== undefined) return own
  const address = await question.address()
  if (address === undefined || !(await question.isContract(address))) return address
  const why = `${name} names no address for chain ${chainId}, and ${address} is a contract on Ethereum`
  throw new UnknownName(`${why}, which may be another's on chain ${chainId}: give the address (0x…) itself`)
}
