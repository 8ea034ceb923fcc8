import type { Address, Hex } from 'viem'
import { encodeDeployData, getAddress, getContractAddress, keccak256, stringToBytes } from 'viem/utils'
import { boundPlacementAbi, boundPlacementBytecode } from '../../chain/artifacts/bound-placement.ts'
import { placementAbi, placementBytecode } from '../../chain/artifacts/placement.ts'
import type { Chain, Chains } from '../../chain/chains.ts'
import { deploymentProxy } from '../../chain/deployment-proxy.ts'
import { devChainId } from '../../chain/dev-chain/dev-keys.ts'
import type { Deed } from '../../chain/relayer/record-intent.ts'
import type { Db } from '../../store/database.ts'
import { DomainError } from '../errors.ts'
import type { BudgetClock } from '../time.ts'

// CREATE3 (github.com/Agusx1211/create3): creation code of a proxy that deploys, as its own first creation, what
// it is called with. The contract's address then depends on the salt alone, and not on the contract's code.
const proxyCodeHash = keccak256('0x67363d3d37363d34f03d5260086018f3')

/** What deployments and their follow-ups need. */
export interface DeployDeps {
  db: Db
  clock: BudgetClock
  chains: Chains
  /** Names this installation. */
  instance: string
  baseUrl: string
}

interface ContractIdentity {
  chainId: number
  team: string
  symbol: string
}

/** JSON keeps the parts apart, whatever they contain. */
const saltOf = (...parts: (string | number)[]): Hex =>
  keccak256(stringToBytes(JSON.stringify(['tapchip', ...parts])))

/** On the embedded chain alone: anybody can guess it, so that a seed gives the same addresses everywhere. */
export const guessableSalt = ({ chainId, team, symbol }: ContractIdentity): Hex =>
  saltOf('', chainId, team, symbol)

/** Elsewhere. The address binds what is deployed besides, so nothing depends on this being secret. */
export const boundSalt = (
  { chainId, team, symbol }: ContractIdentity,
  { instance, sender }: { instance: string; sender: Address },
): Hex => saltOf(instance, chainId, team, symbol, sender)

/** What puts a contract somewhere, and where that is, EIP-55. */
interface Deployment {
  deed: Deed
  address: Address
}

/** Where the salt says, by CREATE3: whoever knows the salt can put anything there first. */
export function deployByCreate3(salt: Hex, creation: Hex): Deployment {
  const data = encodeDeployData({ abi: placementAbi, bytecode: placementBytecode, args: [salt, creation] })
  return { deed: { to: null, data }, address: create3Address(salt) }
}

/** Where salt, code and constructor arguments say, by CREATE2: nothing else can ever be there. */
export function deployByCreate2(salt: Hex, creation: Hex): Deployment {
  const args = [salt, creation] as const
  const data = encodeDeployData({ abi: boundPlacementAbi, bytecode: boundPlacementBytecode, args })
  const address = getContractAddress({ opcode: 'CREATE2', from: deploymentProxy, salt, bytecode: creation })
  return { deed: { to: null, data }, address }
}

function create3Address(salt: Hex): Address {
  const proxy = getContractAddress({
    opcode: 'CREATE2',
    from: deploymentProxy,
    salt,
    bytecodeHash: proxyCodeHash,
  })
  // A contract's nonce begins at 1 (EIP-161).
  return getContractAddress({ opcode: 'CREATE', from: proxy, nonce: 1n })
}

/**
 * What a contract is recorded at before its deployment is: on the embedded chain where it will be. Elsewhere that
 * depends on the chain's keys and on the base URL, so it is a hash until then, where nobody can deploy anything.
 */
export function futureAddress(identity: ContractIdentity): Address {
  const salt = guessableSalt(identity)
  return identity.chainId === devChainId ? create3Address(salt) : getAddress(`0x${salt.slice(-40)}`)
}

/** Whether a chain that answers has no proxy to deploy through: whatever is sent there would cost gas for nothing. */
export async function lacksProxy({ client, isEmbedded }: Chain): Promise<boolean> {
  if (isEmbedded) return false
  // One that does not answer may well have it: what is recorded waits.
  return client.getCode({ address: deploymentProxy }).then(
    (code) => code === undefined,
    () => false,
  )
}

export const noProxy = ({ id }: Pick<Chain, 'id'>): DomainError =>
  new DomainError(
    'conflict',
    `Chain ${id} has no deterministic deployment proxy at ${deploymentProxy}, through which contracts are deployed. Deploy it first: github.com/Arachnid/deterministic-deployment-proxy.`,
  )
