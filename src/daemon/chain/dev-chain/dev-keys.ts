import type { Address } from 'viem'

/** anvil's default chain id. */
export const devChainId = 31337

/** anvil's ten accounts from its well-known mnemonic. Anyone can sign for them. */
export const devAccounts: readonly Address[] = [
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
  '0x976EA74026E726554dB657fA54763abd0C3a0aa9',
  '0x14dC79964da2C08b23698B3D3cc7Ca32193d9955',
  '0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f',
  '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
]

// Keccak-256 of "tapchip dev chain: name service". As public as the others, so it is also refused on other
// chains.
/** The name service's owner: not one of anvil's accounts, whose nonces belong to developers who use them. */
export const nameServiceKey = '0x996004d729309a0e4d8585d18726a10e06b10f4455d2de97df3c67d9ec586f72'

export const nameServiceOwner: Address = '0xfc570a4c9716792c85fb206FB298cA1cB480598C'

// Keccak-256 of "tapchip dev chain: relayer" and "… sign verifier". Not anvil's accounts either: a developer
// who uses the first of those would take the relayer's nonces.
/** The daemon's default keys on the dev chain. */
export const ownDevKeys = {
  relayer: '0x3850d8fdaa9e17b04b45a24d157f53e24fdaed61ab504975c22aed8de561bb41',
  signVerifier: '0x9dbea98093c9acd55ce82aa504a666bd173effb45a4d1a3080d5698725865f66',
} as const
export const ownDevAddresses = {
  relayer: '0x912520ace1F72156E1bD3deeC92E8Fb881affA49',
  signVerifier: '0x1aCEc6424206c0140520AE63d2129115C476e201',
} as const

const known = new Set(
  [...devAccounts, nameServiceOwner, ...Object.values(ownDevAddresses)].map((address) =>
    address.toLowerCase(),
  ),
)

/** True if the key of an address is public, so that it must not be used on other chains. Any case. */
export const isDevKey = (address: string): boolean => known.has(address.toLowerCase())
