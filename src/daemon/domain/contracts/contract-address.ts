import type { Address, Hex } from 'viem'
import { encodeDeployData, getAddress, getContractAddress, keccak256, stringToBytes } from 'viem/utils'
import { boundPlacementAbi, boundPlacementBytecode } from '../../chain/artifacts/bound-placement.ts'
import { placementAbi, placementBytecode } from '../../chain/artifacts/placement.ts'
import type { Chain, Chains } from '../../chain/chains.ts'
import { deploymentProxy } from '../../chain/deterministic-deployment.ts'
import { devChainId } from '../../chain/dev-chain/dev-keys.ts'
import type { CallSpec } from '../../chain/relayer/record-intent.ts'
import type { Db } from '../../store/database/database.ts'
import { conflict, type DomainError } from '../errors/errors.ts'
import type { BudgetClock } from '../time/time.ts'
import type { WebhookEvents } from '../webhooks/events.ts'

// CREATE3 (github.com/Agusx1211/create3): creation code of a proxy whose first creation is the contract. The
// contract's address depends on the salt alone, not on its code.
const proxyCodeHash = keccak256('0x67363d3d37363d34f03d5260086018f3')

export interface DeployDeps {
  db: Db
  clock: BudgetClock
  chains: Chains
  webhookEvents: WebhookEvents
  /** Identifies this installation. */
  instance: string
  baseUrl: string
}

interface ContractIdentity {
  chainId: number
  team: string
  symbol: string
}

/** JSON keeps the parts distinct, whatever they contain. */
const saltOf = (...parts: (string | number)[]): Hex =>
  keccak256(stringToBytes(JSON.stringify(['tapchip', ...parts])))

/** For the embedded chain only: guessable, so that a seed gives the same addresses everywhere. */
export const guessableSalt = ({ chainId, team, symbol }: ContractIdentity): Hex =>
  saltOf('', chainId, team, symbol)

/** For all other chains. The address also depends on the code, so the salt need not be secret. */
export const boundSalt = (
  { chainId, team, symbol }: ContractIdentity,
  { instance, sender }: { instance: string; sender: Address },
): Hex => saltOf(instance, chainId, team, symbol, sender)

/** A deployment and the resulting address (EIP-55). */
interface Deployment {
  call: CallSpec
  address: Address
}

/** CREATE3: anyone who knows the salt can deploy anything to the address first. */
export function deployByCreate3(salt: Hex, creation: Hex): Deployment {
  const data = encodeDeployData({ abi: placementAbi, bytecode: placementBytecode, args: [salt, creation] })
  return { call: { to: null, data }, address: create3Address(salt) }
}

/** CREATE2: the address binds the salt, the code, and the constructor arguments. */
export function deployByCreate2(salt: Hex, creation: Hex): Deployment {
  const args = [salt, creation] as const
  const data = encodeDeployData({ abi: boundPlacementAbi, bytecode: boundPlacementBytecode, args })
  const address = getContractAddress({ opcode: 'CREATE2', from: deploymentProxy, salt, bytecode: creation })
  return { call: { to: null, data }, address }
}

function create3Address(salt: Hex): Address {
  const proxy = getContractAddress({
    opcode: 'CREATE2',
    from: deploymentProxy,
    salt,
    bytecodeHash: proxyCodeHash,
  })
  // A contract's nonce starts at 1 (EIP-161).
  return getContractAddress({ opcode: 'CREATE', from: proxy, nonce: 1n })
}

/**
 * The address of a contract before its deployment is recorded. On the embedded chain it is final. Elsewhere the
 * final address depends on the chain's keys and the base URL, so until then it is a hash to which nobody can
 * deploy.
 */
export function futureAddress(identity: ContractIdentity): Address {
  const salt = guessableSalt(identity)
  return identity.chainId === devChainId ? create3Address(salt) : getAddress(`0x${salt.slice(-40)}`)
}

/** Without the proxy, deployments would cost gas and have no effect. */
export async function lacksProxy({ client, isEmbedded }: Chain): Promise<boolean> {
  if (isEmbedded) return false
  // An unreachable chain may well have it; recorded transactions wait.
  return client.getCode({ address: deploymentProxy }).then(
    (code) => code === undefined,
    () => false,
  )
}

export const noProxy = ({ id }: Pick<Chain, 'id'>): DomainError =>
  conflict(
    `Chain ${id} has no deterministic deployment proxy at ${deploymentProxy}, which is needed to deploy contracts. Deploy it first: github.com/Arachnid/deterministic-deployment-proxy.`,
  )
