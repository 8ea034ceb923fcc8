import {
  type AbiFunction,
  type AbiParameter,
  type Address,
  decodeErrorResult,
  type Hex,
  parseAbi,
  parseAbiItem,
} from 'viem'
import * as z from 'zod'
import { plainText } from '../../outbound/foreign-text.ts'

// Contracts of teams that take no signed claims: the relayer calls a function of theirs.

export const contractCall = z.object({
  name: z.string(),
  /** Elementary ABI types. */
  types: z.array(z.string()),
  /** For each type: owner, recipient, tokenId, uri, data (no bytes), or a constant. */
  args: z.array(z.string()),
})
export type ContractCall = z.infer<typeof contractCall>

/** Stored as JSON with the contract. */
const contractCalls = z.object({
  transfer: contractCall.nullable(),
  mint: contractCall.nullable(),
  /** The role `uri` is this and the token ID. */
  baseUri: z.string(),
  /** Signatures of the contract's own errors. */
  errors: z.array(z.string()),
  /** Names of its access-control roles. */
  roles: z.array(z.string()),
})
export type ContractCalls = z.infer<typeof contractCalls>

export const storedCalls = (json: string | null): ContractCalls | undefined =>
  json === null ? undefined : contractCalls.parse(JSON.parse(json))

/** As it was given: `safeTransferFrom(owner,recipient,tokenId)`. */
export const callText = (call: ContractCall | null): string | null =>
  call && `${call.name}(${call.args.join(',')})`

interface CallValues {
  owner: Address | undefined
  recipient: Address
  tokenId: bigint
  baseUri: string
}

/** The call as viem takes it. */
export const invocationOf = ({ name, types, args }: ContractCall, values: CallValues) => {
  const inputs: AbiParameter[] = types.map((type) => ({ type }))
  const abi: AbiFunction[] = [{ type: 'function', name, inputs, outputs: [], stateMutability: 'nonpayable' }]
  return {
    abi,
    functionName: name,
    args: args.map((arg, index) => argumentValue(arg, types[index] ?? '', values)),
  }
}

function argumentValue(
  arg: string,
  type: string,
  { owner, recipient, tokenId, baseUri }: CallValues,
): unknown {
  if (arg === 'owner') return owner
  if (arg === 'recipient') return recipient
  if (arg === 'tokenId') return tokenId
  if (arg === 'uri') return `${baseUri}${tokenId}`
  if (arg === 'data') return '0x'
  if (/^u?int/.test(type)) return BigInt(arg)
  if (type === 'bool') return arg === 'true'
  return type === 'string' ? arg.slice(1, -1) : arg
}

/** Errors of OpenZeppelin's and thirdweb's contracts. */
const knownErrors = parseAbi([
  'error AccessControlUnauthorizedAccount(address account, bytes32 neededRole)',
  'error PermissionsUnauthorizedAccount(address account, bytes32 neededRole)',
  'error OwnableUnauthorizedAccount(address account)',
  'error ERC721InsufficientApproval(address operator, uint256 tokenId)',
  'error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)',
  'error ERC721NonexistentToken(uint256 tokenId)',
  'error ERC721InvalidSender(address sender)',
  'error ERC721InvalidReceiver(address receiver)',
  'error EnforcedPause()',
])

export interface Refusal {
  /** One line of bounded length. */
  reason: string
  errorName?: string
  args?: readonly unknown[]
}

/** Longer data is not decoded: a contract may revert with any amount. */
const maxRevertLength = 10_000

/** Decodes a revert by the contract's own errors and by well-known ones. */
export function refusalIn(
  { reason, data = '0x' }: { reason: string; data?: Hex | undefined },
  errors: readonly string[] = [],
): Refusal {
  if (data.length < 10 || data.length > maxRevertLength) return { reason: plainText(reason) }
  try {
    const own = errors.map((signature) => parseAbiItem(`error ${signature}`))
    const { errorName, args = [] } = decodeErrorResult({ abi: [...own, ...knownErrors], data })
    if (errorName === 'Error') return { reason: plainText(String(args[0])) }
    return { reason: plainText(`${errorName}(${args.join(', ')})`), errorName, args }
  } catch {
    return { reason: plainText(reason) }
  }
}
