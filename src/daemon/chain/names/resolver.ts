import type { Address } from 'viem'
import { toCoinType } from 'viem/ens'
import type { FetchGateway } from './gateways.ts'
import { type ClientFor, homeOf } from './home.ts'
import { UnknownName } from './problems.ts'
import { type Limits, Question } from './question.ts'
import { readRecipient } from './recipient.ts'

export { type FetchGateway, guardedCcipRequest } from './gateways.ts'
export { NameProblem, NameUnavailable, RecipientInvalid, UnknownName } from './problems.ts'

export interface NameResolverSettings extends Partial<Limits> {
  /** undefined: the chain is not configured. */
  clientFor: ClientFor
  /** The guarded client: gateways are named by contracts, that is by anyone. */
  fetchGateway: FetchGateway
  /** Where ENS lives, for chains that have no name service of their own. */
  ensChainId?: number
}

export interface NameResolver {
  /**
   * The address of a recipient, with its checksum.
   * @param text an address in any case, or an ENS name
   * @throws RecipientInvalid, UnknownName, NameUnavailable
   */
  resolve(chainId: number, text: string): Promise<Address>
}

export function createNameResolver(settings: NameResolverSettings): NameResolver {
  const { clientFor, fetchGateway, ensChainId = 1, now = Date.now, timeoutMs = 20_000 } = settings
  return {
    async resolve(chainId, text) {
      const recipient = readRecipient(text)
      if (recipient.kind === 'address') return recipient.address
      const { name } = recipient
      const home = homeOf(name, chainId, ensChainId, clientFor)
      const question = new Question(name, home, fetchGateway, { now, timeoutMs })
      const address =
        home.chainId === chainId ? await question.address() : await addressElsewhere(question, name, chainId)
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
