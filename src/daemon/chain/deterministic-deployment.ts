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
 * The deterministic deployment proxy: it turns a salt and creation code into a contract. It has this address on
 * every public chain, and on anvil from the first block. github.com/Arachnid/deterministic-deployment-proxy
 */
export const deploymentProxy: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C'

export const factoryCreation = (): Hex =>
  encodeDeployData({ abi: guestbookFactoryAbi, bytecode: guestbookFactoryBytecode })

/** Deploys the factory to its fixed address; does nothing if it is already there. */
export const factoryDeployment = (): { to: null; data: Hex } => ({
  to: null,
  data: encodeDeployData({
    abi: boundPlacementAbi,
    bytecode: boundPlacementBytecode,
    args: [zeroHash, factoryCreation()],
  }),
})

// Created with CREATE2 from `factoryCreation`. A constant, because hashing that code would slow down the start.
export const guestbookFactory: Address = '0x93A07702CA80ACA03D236DF666BcB529ba13125B'
// Created by the factory's constructor: a contract's nonce starts at 1 (EIP-161).
const implementation: Address = '0x4748186E9CE7557Ebf9ddd7d9fC035C6BEEC53Bf'

/** Every guestbook's code (EIP-1167), a proxy to a fixed implementation. */
const guestbookCode = concat(['0x363d3d373d3d3d363d73', implementation, '0x5af43d82803e903d91602b57fd5bf3'])
export const guestbookCodeHash = (): Hex => keccak256(guestbookCode)

// The bytecode that OpenZeppelin's Clones writes.
const cloneCode = concat(['0x3d602d80600a3d3981f3', guestbookCode])

interface GuestbookDeployment {
  salt: Hex
  name: string
  symbol: string
  serviceURL: string
  admin: Address
  minter: Address
}

const deploymentParameter = getAbiItem({ abi: guestbookFactoryAbi, name: 'deploy' }).inputs[0]

/** The guestbook's address on every chain, as returned by `addressOf` of the factory. */
export function guestbookAddress(deployment: GuestbookDeployment): Address {
  const salt = keccak256(encodeAbiParameters([deploymentParameter], [deployment]))
  return getContractAddress({ opcode: 'CREATE2', from: guestbookFactory, salt, bytecode: cloneCode })
}
