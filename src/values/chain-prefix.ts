/** Short names of EIP-3770, from ethereum-lists/chains. Polygon's became `pol`; Safe still copies `matic`. */
const chainIds: Readonly<Record<string, number>> = {
  eth: 1,
  oeth: 10,
  bnb: 56,
  bnbt: 97,
  gno: 100,
  unichain: 130,
  matic: 137,
  pol: 137,
  sonic: 146,
  ftm: 250,
  zksync: 324,
  wc: 480,
  zkevm: 1101,
  mantle: 5000,
  base: 8453,
  chi: 10200,
  holesky: 17000,
  mode: 34443,
  arb1: 42161,
  'arb-nova': 42170,
  celo: 42220,
  fuji: 43113,
  avax: 43114,
  ink: 57073,
  linea: 59144,
  polygonamoy: 80002,
  berachain: 80094,
  blastmainnet: 81457,
  basesep: 84532,
  'arb-sep': 421614,
  scr: 534352,
  hoe: 560048,
  zora: 7777777,
  sep: 11155111,
  opsep: 11155420,
}

/**
 * Takes off the chain that wallets copy before an address: `base:0x…` (EIP-3770), `eip155:8453:0x…` (CAIP-10).
 * @param chainId where the address is meant; undefined: on any chain
 * @returns the address as it was written; a reason can follow the text in quotes; undefined: there is no prefix
 */
export function withoutChainPrefix(
  text: string,
  chainId: number | undefined,
): { readonly address: string } | { readonly reason: string } | undefined {
  const [, prefix, address] = /^([a-z0-9:-]+):(0x[^.]*)$/i.exec(text) ?? []
  if (prefix === undefined || address === undefined) return undefined
  const named = chainOf(prefix.toLowerCase())
  if (named === undefined)
    return {
      reason: `begins with ${prefix}:, which is no chain known here: write the address without it, or with the chain's number, such as eip155:${chainId ?? 1}:0x…`,
    }
  if (chainId === undefined || named === chainId) return { address }
  return { reason: `names ${labelOf(named)}, and this token is on ${labelOf(chainId)}` }
}

function chainOf(prefix: string): number | undefined {
  const [, digits] = /^eip155:([1-9]\d{0,15})$/.exec(prefix) ?? []
  return digits === undefined
    ? Object.hasOwn(chainIds, prefix)
      ? chainIds[prefix]
      : undefined
    : Number(digits)
}

function labelOf(chainId: number): string {
  const name = Object.keys(chainIds).find((one) => chainIds[one] === chainId)
  return name === undefined ? `chain ${chainId}` : `chain ${chainId} (${name})`
}
