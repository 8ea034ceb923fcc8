import { tidyCell } from './invisible.ts'

/** An address without 0x, or an unresolved ENS name. */
type RecipientForm =
  | { readonly kind: 'address'; readonly digits: string }
  | { readonly kind: 'name'; readonly name: string }

interface RecipientProblem {
  /** Can follow the text in quotes. */
  readonly reason: string
  /** It names another chain, or one that is not known. */
  readonly isOfChain?: true
}

// The limit of DNS encoding, and therefore of ENS names.
const maxLength = 255

/**
 * Checks only the form of a recipient. The daemon checks an address's checksum and a name's normalization (ENSIP-15),
 * which need tables and hashes.
 * @param chainId the token's chain; undefined: not known here, so that an address may name any
 */
export function readRecipient(input: string, chainId?: number): RecipientForm | RecipientProblem {
  const trimmedInput = tidyCell('recipient', input)
  if (trimmedInput === '') return { reason: 'is empty: give an address (0x…) or an ENS name' }
  if (trimmedInput.length > maxLength)
    return { reason: `has ${trimmedInput.length} characters, which is too long for an address or a name` }
  const prefixed = withoutChainPrefix(trimmedInput, chainId)
  if (prefixed !== undefined && 'reason' in prefixed) return { ...prefixed, isOfChain: true }
  const text = prefixed?.address ?? trimmedInput
  // With a dot it is a name, such as 0xabc.eth.
  if (/^0x[^.]*$/i.test(text)) {
    const digits = text.slice(2)
    if (!/^[0-9a-f]{40}$/i.test(digits)) return { reason: 'must be an address: 0x and 40 hex digits' }
    return /^0{40}$/.test(digits)
      ? { reason: 'is the zero address: anything sent there is lost' }
      : { kind: 'address', digits }
  }
  if (/^[0-9a-f]{40}$/i.test(text))
    return { reason: 'looks like an address without 0x: add 0x at the beginning' }
  const invalid = /[@!"#%&()*+,/:;<=>?[\]\\^`{|}~]/.exec(text)?.[0]
  if (invalid !== undefined) return { reason: `is not an ENS name: it contains ${invalid}` }
  return text.includes('.')
    ? { kind: 'name', name: text }
    : { reason: 'is neither an address (0x…) nor an ENS name (name.eth)' }
}

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
      reason: `begins with ${prefix}:, which is not a chain known here: write the address without it, or with the chain's number, such as eip155:${chainId ?? 1}:0x…`,
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

/** The ENS name, without what surrounds it; undefined if the input is an address, or is not valid. */
export function ensNameIn(input: string): string | undefined {
  const form = readRecipient(input)
  return 'kind' in form && form.kind === 'name' ? form.name : undefined
}
