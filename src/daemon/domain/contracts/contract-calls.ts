import { type Abi, encodeFunctionData, keccak256, parseAbi, stringToBytes, zeroAddress, zeroHash } from 'viem'
import { type ContractCall, type ContractCalls, invocationOf } from '../../chain/relayer/contract-call.ts'
import { invalid } from '../errors/errors.ts'

/** An item of an ABI: human-readable, or as compilers write it. */
export type AbiItem =
  | string
  | {
      type: string
      name?: string | undefined
      stateMutability?: string | undefined
      inputs?: { type: string }[] | undefined
    }

export interface NewCalls {
  abi?: readonly AbiItem[] | undefined
  transfer?: string | undefined
  mint?: string | undefined
}

interface Item {
  type: string
  name: string
  isView: boolean
  types: string[]
}

const maxErrors = 100
const maxRoles = 20
const identifier = /^[A-Za-z_$][\w$]{0,99}$/
const elementary = /^(address|bool|string|bytes(\d{1,2})?|u?int(\d{1,3})?)(\[\d*\])*$/

/**
 * Finds the functions that move and mint tokens; only what they need is kept. @returns undefined if none is named
 * @throws DomainError invalid_input
 */
export function contractCallsOf(
  { abi, transfer, mint }: NewCalls,
  baseUri: string,
): ContractCalls | undefined {
  if (transfer === undefined && mint === undefined) {
    if (abi !== undefined) throw invalid('abi', 'needs transfer or mint: the function that is to be called')
    return undefined
  }
  if (abi === undefined) throw invalid('abi', 'is required, since transfer and mint name functions of it')
  const items = itemsOf(abi)
  const has = (name: string, inputs: number) =>
    items.some((item) => item.name === name && item.types.length === inputs)
  if (has('balanceOf', 2) && !has('ownerOf', 1))
    throw invalid(
      'abi',
      'is of an ERC-1155 contract, whose tokens have no single owner. Only ERC-721 works here',
    )
  const find = (field: 'transfer' | 'mint', text: string | undefined) =>
    text === undefined ? null : findCall(items, field, text, baseUri)
  return {
    transfer: find('transfer', transfer),
    mint: find('mint', mint),
    baseUri,
    errors: items
      .filter(({ type, types }) => type === 'error' && types.every((one) => elementary.test(one)))
      .slice(0, maxErrors)
      .map(signatureOf),
    roles: items
      .filter(({ name, types, isView }) => isView && types.length === 0 && name.endsWith('_ROLE'))
      .slice(0, maxRoles)
      .map(({ name }) => name),
  }
}

const signatureOf = ({ name, types }: Pick<Item, 'name' | 'types'>): string => `${name}(${types.join(',')})`

function itemsOf(abi: readonly AbiItem[]): Item[] {
  const lines = abi.filter((item) => typeof item === 'string')
  const isStruct = (line: string) => /^\s*struct\b/.test(line)
  const hasStructs = lines.some(isStruct)
  // Each by itself: structs of structs can double at each level, and calls need none.
  const written = lines.flatMap((line): Abi => {
    try {
      return isStruct(line) ? [] : parseAbi([line])
    } catch {
      if (hasStructs) return []
      throw invalid('abi', 'has a line that is no ABI, such as: function mintTo(address to, uint256 tokenId)')
    }
  })
  return [...abi, ...written].flatMap((item) => {
    if (typeof item === 'string' || !('name' in item) || !identifier.test(item.name ?? '')) return []
    const { type, name = '', inputs = [] } = item
    const isView = 'stateMutability' in item && /^(view|pure)$/.test(item.stateMutability ?? '')
    return [{ type, name, isView, types: inputs.map((input) => input.type) }]
  })
}

/** @throws DomainError invalid_input */
function findCall(
  items: readonly Item[],
  field: 'transfer' | 'mint',
  text: string,
  baseUri: string,
): ContractCall {
  const [, name = '', inner = ''] = /^\s*([A-Za-z_$][\w$]*)\s*\(([^()]*)\)\s*$/.exec(text) ?? []
  if (name === '') throw invalid(field, 'must be like safeTransferFrom(owner,recipient,tokenId)')
  const args = inner.trim() === '' ? [] : inner.split(',').map((arg) => arg.trim())
  const unknown = args.find((arg) => typesOf(arg) === undefined)
  if (unknown !== undefined)
    throw invalid(
      field,
      `has the argument "${unknown.slice(0, 40)}". Use owner, recipient, tokenId, uri, data, or a constant: a number, 0x…, true, false, or 'text'`,
    )
  const missing = ['recipient', 'tokenId'].find((role) => !args.includes(role))
  if (missing === 'tokenId' && field === 'mint')
    throw invalid(
      field,
      'must have tokenId: a token must be known before it is minted, so a contract that picks the ID itself cannot mint from here. Choose a function that takes the ID, or mint elsewhere and link the chips',
    )
  if (missing !== undefined) throw invalid(field, `must have the argument ${missing}`)
  if (field === 'mint' && args.includes('owner'))
    throw invalid(field, 'must not have owner: nobody has the token before')

  const ofName = items.filter((item) => item.type === 'function' && item.name === name)
  if (ofName.length === 0) throw invalid(field, `names the function ${name}, which the ABI lacks`)
  const candidates = ofName.filter(({ types }) => types.length === args.length)
  if (candidates.length === 0)
    throw invalid(field, `has ${args.length} arguments, but the ABI has ${list(ofName)}`)
  const fitting = candidates.filter((item) => doesFit({ name, types: item.types, args }, baseUri))
  const [found] = fitting
  if (!found) throw invalid(field, `does not fit the types of ${list(candidates)}`)
  if (fitting.some((other) => signatureOf(other) !== signatureOf(found)))
    throw invalid(field, `fits several functions of the ABI: ${list(fitting)}`)
  if (found.isView) throw invalid(field, `names ${signatureOf(found)}, which changes nothing`)
  return { name, types: found.types, args }
}

const maxListed = 5
const list = (items: readonly Item[]): string => items.slice(0, maxListed).map(signatureOf).join(', ')

/** What an argument may be, and the types that it fits. */
const argumentForms: readonly (readonly [form: RegExp, types: RegExp])[] = [
  [/^(owner|recipient)$/, /^address$/],
  [/^tokenId$/, /^uint\d*$/],
  [/^uri$/, /^string$/],
  [/^data$/, /^bytes$/],
  [/^\d{1,78}$/, /^u?int\d*$/],
  [/^0x([0-9a-f]{2}){0,64}$/i, /^(bytes\d*|address)$/],
  [/^(true|false)$/, /^bool$/],
  [/^'[^'"\\]{0,200}'$/, /^string$/],
]
const typesOf = (arg: string): RegExp | undefined => argumentForms.find(([form]) => form.test(arg))?.[1]

function doesFit(call: ContractCall, baseUri: string): boolean {
  if (!call.types.every((type, index) => typesOf(call.args[index] ?? '')?.test(type))) return false
  try {
    const sample = { owner: zeroAddress, recipient: zeroAddress, tokenId: 1n, baseUri }
    encodeFunctionData(invocationOf(call, sample))
    return true
  } catch {
    return false
  }
}

const wellKnownRoles = ['MINTER_ROLE', 'TRANSFER_ROLE', 'OPERATOR_ROLE', 'MANAGER_ROLE', 'ADMIN_ROLE']

/** A role of access control is a hash of its name. */
export function roleName(hash: string, { roles: ofContract }: Pick<ContractCalls, 'roles'>): string {
  if (hash === zeroHash) return 'DEFAULT_ADMIN_ROLE'
  const isIt = (name: string) => keccak256(stringToBytes(name)) === hash
  return [...ofContract, ...wellKnownRoles].find(isIt) ?? hash
}
