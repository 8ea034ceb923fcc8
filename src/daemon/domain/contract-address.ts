import type { Address } from 'viem'
import { getContractAddress, keccak256, stringToBytes } from 'viem/utils'
import { deploymentProxy } from '../chain/deployment-proxy.ts'

// CREATE3 (github.com/Agusx1211/create3): creation code of a proxy that deploys, as its own first creation, what
// it is called with. The contract's address then depends on the salt alone, and not on the contract's code.
const proxyCodeHash = keccak256('0x67363d3d37363d34f03d5260086018f3')

const devChain = 31337

export interface ContractPlace {
  /** The installation. It does not count on the dev chain, so that a seed gives the same addresses everywhere. */
  instance: string
  chainId: number
  team: string
  symbol: string
}

/** What the address of a contract is made from: JSON keeps the parts apart, whatever they contain. */
export const contractSalt = ({ instance, chainId, team, symbol }: ContractPlace) =>
  keccak256(
    stringToBytes(JSON.stringify(['tapchip', chainId === devChain ? '' : instance, chainId, team, symbol])),
  )

/** Where a contract that is not deployed yet will be, EIP-55. */
export function futureAddress(place: ContractPlace): Address {
  const salt = contractSalt(place)
  const proxy = getContractAddress({
    opcode: 'CREATE2',
    from: deploymentProxy,
    salt,
    bytecodeHash: proxyCodeHash,
  })
  // A contract's nonce begins at 1 (EIP-161).
  return getContractAddress({ opcode: 'CREATE', from: proxy, nonce: 1n })
}
