import { uidOnWire } from '../../nfc/uid.ts'
import { isJsonObject } from '../../values/json.ts'
import { canonicalTokenId, tokenChecks } from '../../values/token.ts'
import { bothForms, colons } from '../uid.ts'
import { UidColumn } from './input/chip-cells.ts'
import type { Problems } from './input/problems.ts'
import type { Cell } from './input/sheet.ts'
import type { RowResult } from './sheet-kind.ts'

/** The token of a row, or the chip that carries it. The UID is decimal. */
export type TokenTarget = { readonly uid: string } | Token
export interface Token {
  readonly contractAddress: string
  readonly chainId: number
  readonly tokenId: string
}

/** A row names its token by these, or by the chip that carries it. */
export const tokenColumns = ['uid', 'contractAddress', 'chainId', 'tokenId'] as const
/** A sheet has one or the other. */
export const tokenNeeded = { required: [], anyOf: ['uid', 'contractAddress'] } as const

/** Reads the token of each row, and finds rows with the same one. */
export class TokenColumns {
  readonly #problems: Problems
  readonly #uids: UidColumn
  readonly #tokens = new Map<string, number>()

  constructor(problems: Problems) {
    this.#problems = problems
    this.#uids = new UidColumn(problems)
  }

  /** @param cells in the order of `tokenColumns`. @returns undefined if the row is refused */
  read(row: number, cells: readonly Cell[]): TokenTarget | undefined {
    const [uid, ...token] = cells
    const filled = token.filter((cell) => cell)
    if (uid && filled.length > 0) {
      this.#problems.add(row, undefined, 'names a chip and a token: leave one of them out')
      return undefined
    }
    if (uid) {
      const read = this.#uids.read(row, uid)
      return read === undefined ? undefined : { uid: read }
    }
    if (filled.length === 0) {
      this.#problems.add(row, undefined, 'names no token: uid, or contractAddress, chainId and tokenId')
      return undefined
    }
    return this.#readToken(row, token)
  }

  finish(accepted: boolean): void {
    this.#uids.finish(accepted)
  }

  #readToken(row: number, cells: readonly Cell[]): TokenTarget | undefined {
    let fits = true
    for (const [i, [column, check]] of Object.entries(tokenChecks).entries()) {
      const cell = cells[i]
      const why = cell ? check(cell) : 'is missing'
      if (why === undefined) continue
      fits = false
      this.#problems.add(row, column, cell ? `"${cell}" ${why}` : why)
    }
    if (!fits) return undefined
    const [contractAddress = '', chainId = '', tokenId = ''] = cells.map((cell) => cell ?? '')
    const target = { contractAddress, chainId: Number(chainId), tokenId: canonicalTokenId(tokenId) }
    const before = this.#tokens.get(targetKey(target))
    if (before === undefined) this.#tokens.set(targetKey(target), row)
    else this.#problems.add(row, 'tokenId', `"${tokenId}" of this contract is already in row ${before}`)
    return target
  }
}

/** Equal for the same token, however its address is written. */
const targetKey = (target: Token): string =>
  `${target.chainId}/${target.contractAddress.toLowerCase()}/${target.tokenId}`

/** The token that a result names. `tokenId` is null where it is not minted yet. */
export const tokenOf = (
  result: RowResult,
): (Omit<Token, 'tokenId'> & { readonly tokenId: string | null }) | undefined => {
  const { contractAddress, chainId, tokenId } = isJsonObject(result.token) ? result.token : result
  return typeof contractAddress === 'string' &&
    typeof chainId === 'number' &&
    (typeof tokenId === 'string' || tokenId === null)
    ? { contractAddress, chainId, tokenId }
    : undefined
}

/** The chip and the token of a result, in words. */
export const describeTarget = (result: RowResult): string[] => {
  const { uid } = result
  const { contractAddress, chainId, tokenId } = tokenOf(result) ?? { tokenId: null }
  return [
    ...(typeof uid === 'string' ? [bothForms(uid)] : []),
    ...(tokenId === null ? [] : [`#${tokenId} of ${contractAddress} on ${chainId}`]),
  ]
}

/** A row that can never succeed is a problem of the sheet. */
export const addIfInvalid = (
  problems: Problems,
  { row, isInvalid, error = 'is invalid' }: RowResult,
): void => {
  if (isInvalid !== true || problems.has(row)) return
  const { column, why } = splitField(error)
  problems.add(row, column, why)
}

/** Splits the daemon's message about a row into the column and the reason. */
export const splitField = (
  message: string,
): { readonly column: string | undefined; readonly why: string } => {
  const text = message.replace(/\.$/, '')
  const [, column, why] = /^([a-zA-Z]+): (.*)$/s.exec(text) ?? []
  if (column === undefined || why === undefined) return { column: undefined, why: text }
  return { column, why: why.replace(/^([^\s"]+) (?=has |is |must )/, '"$1" ') }
}

export const targetOnWire = (target: TokenTarget): TokenTarget =>
  'uid' in target ? { uid: uidOnWire(target.uid) } : target

/** The columns that these targets need in a sheet, and the cells of each. */
export const targetSheet = (targets: readonly TokenTarget[]) => {
  const hasChips = targets.some((target) => 'uid' in target)
  const hasTokens = targets.some((target) => !('uid' in target))
  const [uid, ...token] = tokenColumns
  const heading: readonly string[] = [...(hasChips ? [uid] : []), ...(hasTokens ? token : [])]
  const cells = (target: TokenTarget): string[] => {
    const known: Readonly<Record<string, string>> =
      'uid' in target ? { uid: colons(target.uid) } : { ...target, chainId: String(target.chainId) }
    return heading.map((column) => known[column] ?? '')
  }
  return { heading, cells }
}

const etherDigits = 18

/** Wei as ether, `0.0905`, with four significant places. */
export const asEther = (wei: bigint): string => decimal(wei, etherDigits)
export const asGwei = (wei: bigint): string => decimal(wei, 9)

const decimal = (wei: bigint, digits: number): string => {
  const text = wei.toString().padStart(digits + 1, '0')
  const integer = text.slice(0, -digits)
  const fraction = text.slice(-digits)
  // Four digits after the leading zeros; nobody reads more.
  const shown = integer === '0' ? (/^0*\d{0,4}/.exec(fraction)?.[0] ?? '') : fraction.slice(0, 4)
  const places = shown.replace(/0+$/, '')
  return `${integer.replace(/\B(?=(\d{3})+$)/g, ',')}${places === '' ? '' : `.${places}`}`
}

/** Rounded up to three significant digits. */
export const roundedUp = (wei: bigint): bigint => {
  const unit = 10n ** BigInt(Math.max(0, wei.toString().length - 3))
  return ((wei + unit - 1n) / unit) * unit
}
