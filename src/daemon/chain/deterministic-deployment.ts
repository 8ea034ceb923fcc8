import {
  type Address,
  concat,
  encodeAbiParameters,
  encodeDeployData,
  getAbiItem,
  getContractAddress,
  type Hex,
  keccak256,
  zeroHash,
} from 'viem'
import { boundPlacementAbi, boundPlacementBytecode } from './artifacts/bound-placement.ts'
import { guestbookFactoryAbi, guestbookFactoryBytecode } from './artifacts/guestbook-factory.ts'

/**
 * The deterministic deployment proxy: salt and creation code in, a contract out. It stands at this address on every
 * chain that people use, and on anvil from the first block. github.com/Arachnid/deterministic-deployment-proxy
 */
export const deploymentProxy: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C'

const creation = encodeDeployData({ abi: guestbookFactoryAbi, bytecode: guestbookFactoryBytecode })

/** What puts the factory where it is on every chain, and does nothing where somebody else has. */
export const factoryDeployment: { to: null; data: Hex } = {
  to: null,
  data: encodeDeployData({
    abi: boundPlacementAbi,
    bytecode: boundPlacementBytecode,
    args: [zeroHash, creation],
  }),
}

export const guestbookFactory: Address = getContractAddress({
  opcode: 'CREATE2',
  from: deploymentProxy,
  salt: zeroHash,
  bytecode: creation,
})

// The factory's constructor makes it: a contract's nonce begins at 1 (EIP-161).
const implementation = getContractAddress({ opcode: 'CREATE', from: guestbookFactory, nonce: 1n })

/** The code of each guestbook (EIP-1167): it leads to the implementation, and to nothing else ever. */
const guestbookCode = concat(['0x363d3d373d3d3d363d73', implementation, '0x5af43d82803e903d91602b57fd5bf3'])
export const guestbookCodeHash: Hex = keccak256(guestbookCode)

// As OpenZeppelin's Clones writes it.
const cloneCode = concat(['0x3d602d80600a3d3981f3', guestbookCode])

/** All that a guestbook's address comes from. */
export interface GuestbookDeployment {
  salt: Hex
  name: string
  symbol: string
  serviceURL: string
  admin: Address
  minter: Address
}

const deploymentParameter = getAbiItem({ abi: guestbookFactoryAbi, name: 'deploy' }).inputs[0]

/** Where the factory puts a guestbook, on every chain; `addressOf` of the contract says the same. */
export function guestbookAddress(deployment: GuestbookDeployment): Address {
  const salt = keccak256(encodeAbiParameters([deploymentParameter], [deployment]))
  return getContractAddress({ opcode: 'CREATE2', from: guestbookFactory, salt, bytecode: cloneCode })
}
