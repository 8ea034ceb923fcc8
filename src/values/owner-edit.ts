export interface OwnerRequest<Address extends string = string> {
  readonly contractAddress: Address
  readonly chainId: number
  readonly tokenId: string
  /** Empty to remove it. */
  readonly redirectUrl: string
  /** Seconds since the epoch. */
  readonly requestExpiryTime: number
}

/** EIP-712 typed data that owners sign to edit the chips of their token. The interface fixes its names. */
export const ownerTypedData = <Address extends string>(request: OwnerRequest<Address>) => ({
  types: {
    EIP712Domain: [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
    ],
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
  } as const,
  primaryType: 'UpdateRequest' as const,
  domain: { name: 'Update Self Service Tag', version: '1' } as const,
  message: {
    token: {
      contractAddress: request.contractAddress,
      tokenId: BigInt(request.tokenId),
      chainId: BigInt(request.chainId),
    },
    updates: { redirectUrl: request.redirectUrl },
    requestExpiryTime: BigInt(request.requestExpiryTime),
  },
})
