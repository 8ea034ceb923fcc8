import type { Address, Chain, PublicClient } from 'viem'
import { berachain, holesky, linea, lineaSepolia, mainnet, sepolia, story } from 'viem/chains'
import { devChainId } from '../dev-chain/dev-keys.ts'
import { NameChainMissing, NameUnavailable } from './problems.ts'

export type ClientFor = (chainId: number) => PublicClient | undefined

/** Whom to ask for a name. */
export interface Home {
  chainId: number
  client: PublicClient
  universalResolver: Address
}

/** Chains whose name service viem knows; a client may have been made without its chain's definition. */
const known: readonly Chain[] = [mainnet, sepolia, holesky, linea, lineaSepolia, berachain, story]

const definitionOf = (chainId: number, client: PublicClient | undefined): Chain | undefined =>
  client?.chain?.contracts?.ensUniversalResolver ? client.chain : known.find(({ id }) => id === chainId)

/** Where the names live that mean something on a chain: there, or on ENS's own chain. @throws NameChainMissing, NameUnavailable */
export function homeOf(name: string, chainId: number, ensChainId: number, clientFor: ClientFor): Home {
  const own = definitionOf(chainId, clientFor(chainId))
  const isOwn = own?.ensTlds?.some((ending) => name.endsWith(ending)) ?? own !== undefined
  // ENS itself has more names than those of .eth, whatever its definition says.
  // The embedded chain's names are its own: none of theirs may be mistaken for one of the real ENS.
  const homeId = isOwn || chainId === ensChainId || chainId === devChainId ? chainId : ensChainId
  const client = clientFor(homeId)
  if (client === undefined) throw new NameChainMissing(name, homeId)
  const universalResolver = definitionOf(homeId, client)?.contracts?.ensUniversalResolver?.address
  if (universalResolver === undefined)
    throw new NameUnavailable(`Chain ${homeId} has no name service for ${name}: give the address (0x…)`)
  return { chainId: homeId, client, universalResolver }
}
