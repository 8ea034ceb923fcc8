import type { Address } from 'viem'
import { toCoinType } from 'viem/ens'
import { Crowd } from './crowd.ts'
import type { FetchGateway } from './gateways.ts'
import { type ClientFor, homeOf } from './home.ts'
import { NameUnavailable, UnknownName } from './problems.ts'
import { type Limits, Question } from './question.ts'
import { readRecipient } from './recipient.ts'

export { type FetchGateway, guardedCcipRequest } from './gateways.ts'
export { NameChainMissing, NameProblem, NameUnavailable, RecipientInvalid, UnknownName } from './problems.ts'

export interface NameResolverSettings extends Partial<Limits> {
  /** undefined: the chain is not configured. */
  clientFor: ClientFor
  /** The guarded client: gateways are named by contracts, that is by anyone. */
  fetchGateway: FetchGateway
  /** Where ENS lives, for chains that have no name service of their own. */
  ensChainId?: number
  /** How many names are looked up at once, and how many more wait: strangers may ask. */
  most?: { atOnce: number; waiting: number }
}

export interface NameResolver {
  /**
   * The address of a recipient, with its checksum.
   * @param text an address in any case, or an ENS name
   * @throws RecipientInvalid, UnknownName, NameChainMissing, NameUnavailable
   */
  resolve(chainId: number, text: string): Promise<Address>
}

export function createNameResolver(settings: NameResolverSettings): NameResolver {
  const { clientFor, fetchGateway, ensChainId = 1, now = Date.now, timeoutMs = 20_000 } = settings
  const crowd = new Crowd(
    settings.most ?? { atOnce: 8, waiting: 64 },
    () =>
      new NameUnavailable('Too many names are being looked up. Try again later, or give the address (0x…)'),
  )
  return {
    async resolve(chainId, text) {
      const recipient = readRecipient(text)
      if (recipient.kind === 'address') return recipient.address
      const { name } = recipient
      const home = homeOf(name, chainId, ensChainId, clientFor)
      const address = await crowd.run(() => {
        const question = new Question(name, home, fetchGateway, { now, timeoutMs })
        return home.chainId === chainId ? question.address() : addressElsewhere(question, name, chainId)
      })
      if (address !== undefined) return address
      const next = 'check how it is written, or give the address (0x…)'
      throw new UnknownName(`${name} has no address on the name service of chain ${home.chainId}: ${next}`)
    },
  }
}

/**
 * The address on a chain where ENS does not live: the name's own one for that chain (ENSIP-11), else Ethereum's,
 * since an account is the same on every chain. A contract is not: at its address someone else's may stand.
 */
async function addressElsewhere(
  question: Question,
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
