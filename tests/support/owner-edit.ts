import type { Address } from 'viem'

/** The typed data that an owner signs, written out from the interface and independent of the product's own. */
export const ownerEdit = (
  contractAddress: Address,
  tokenId: number,
  redirectUrl: string,
  requestExpiryTime: number,
) => ({
  domain: { name: 'Update Self Service Tag', version: '1' },
  primaryType: 'UpdateRequest' as const,
  types: {
    Updates: [{ name: 'redirectUrl', type: 'string' }],
    TokenRef: [
      { name: 'contractAddress', type: 'address' },
      { name: 'tokenId', type: 'uint256' },
      { name: 'chainId', type: 'uint256' },
    ],
    UpdateRequest: [
      { name: 'token', type: 'TokenRef' },
      { name: 'updates', type: 'Updates' },
      { name: 'requestExpiryTime', type: 'uint256' },
    ],
  },
  message: {
    token: { contractAddress, tokenId: BigInt(tokenId), chainId: 31337n },
    updates: { redirectUrl },
    requestExpiryTime: BigInt(requestExpiryTime),
  },
})
