import { type Address, type Hex, keccak256, toHex } from 'viem'

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

/** Keccak-256 of "tapchip dev chain: relayer 2" and so on. */
export const furtherDevRelayerKey = (number: number): Hex =>
  keccak256(toHex(`tapchip dev chain: relayer ${number}`))

/** The addresses of further relayers, from the second one, since deriving them would slow each start. */
export const furtherDevRelayers: readonly Address[] = [
  '0xe186fc17FE8CBeaC4f19d26d36C787Fd5a6CDb28',
  '0x8c61655f82143970C39906dF126E6f194670b501',
  '0xB03C41775cD460cefaB03Af3aE46E86c97645D1E',
  '0xc6cC9eE8d4908776774cCaAC723B26e368313396',
  '0x955316e470A7FB36c81ed2D0bE378063F33Bbb53',
  '0x8D3DBd8Ca699344daF2e043c9E3e04c36b263c54',
  '0x5680B3640e3FE102fDe442B6256167031a58E1C0',
  '0xBc1c1582525F3b74971d84217eC5302f4e88A0c5',
  '0x1A180BE12CbeF397Bec193182770D676EA57Ec3A',
  '0xfB06f15b88d9B9Da3f62f03dcEF00F0653968b71',
  '0xb0d5a0225e94D42E9c77CeD191A40EaeD7E31e65',
  '0xA4dD3Fc4B46C51959C63cCcDe7AB36f7C9fd253b',
  '0x24DAFe282B58ca03D3eE5952251c30d9B4C8a2a2',
  '0x314c7c69fa933439178D97e5Bc769ff824D2e038',
  '0x77b1BbB2fDB7ECB9E53A00Be4466a3A094206aaa',
]

const known = new Set(
  [...devAccounts, nameServiceOwner, ...Object.values(ownDevAddresses), ...furtherDevRelayers].map(
    (address) => address.toLowerCase(),
  ),
)

/** True if the key of an address is public, so that it must not be used on other chains. Any case. */
export const isDevKey = (address: string): boolean => known.has(address.toLowerCase())
