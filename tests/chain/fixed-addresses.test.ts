import { getContractAddress, type Hex, keccak256, zeroHash } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  deploymentProxy,
  factoryCreation,
  guestbookCodeHash,
  guestbookFactory,
} from '../../src/daemon/chain/deterministic-deployment.ts'
import {
  furtherDevRelayerKey,
  furtherDevRelayers,
  nameServiceKey,
  nameServiceOwner,
  ownDevAddresses,
  ownDevKeys,
} from '../../src/daemon/chain/dev-chain/dev-keys.ts'
import { nameServiceAddress, nameServiceCreation } from '../../src/daemon/chain/dev-chain/names.ts'
import { devKey } from '../../src/daemon/chain/keys/chain-keys.ts'
import { maxRelayers } from '../../src/daemon/chain/keys/transaction-signer.ts'

const placed = (bytecode: Hex) =>
  getContractAddress({ opcode: 'CREATE2', from: deploymentProxy, salt: zeroHash, bytecode })

describe('what is written down instead of computed at each start', () => {
  test('is where the code is placed', () => {
    expect(guestbookFactory).toBe(placed(factoryCreation()))
    expect(nameServiceAddress).toBe(placed(nameServiceCreation()))
    const implementation = getContractAddress({ opcode: 'CREATE', from: guestbookFactory, nonce: 1n })
    expect(guestbookCodeHash()).toBe(
      keccak256(
        `0x363d3d373d3d3d363d73${implementation.slice(2).toLowerCase()}5af43d82803e903d91602b57fd5bf3`,
      ),
    )
  })

  test.each(['relayer', 'signVerifier'] as const)("is the address of the dev chain's %s", (role) => {
    expect(ownDevAddresses[role]).toBe(privateKeyToAddress(ownDevKeys[role]))
    expect(devKey(role).address).toBe(ownDevAddresses[role])
  })

  test('are the addresses of its further relayers, as many as a chain can have', () => {
    expect(furtherDevRelayers).toEqual(
      Array.from({ length: maxRelayers - 1 }, (_, index) =>
        privateKeyToAddress(furtherDevRelayerKey(index + 2)),
      ),
    )
  })

  test('is the address of the owner of its names', () => {
    expect(nameServiceOwner).toBe(privateKeyToAddress(nameServiceKey))
  })
})
