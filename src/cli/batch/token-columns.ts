import type { Problems } from './input/problems.ts'
import type { Cell } from './input/sheet.ts'
import { UidColumn } from './input/uid-column.ts'
import type { TokenTarget } from './token-records.ts'

/** A row says which token by these, or by the chip that carries it. */
export const tokenColumns = ['uid', 'contractAddress', 'chainId', 'tokenId'] as const
/** A sheet has the one or the other. */
export const tokenNeeded = { required: [], anyOf: ['uid', 'contractAddress'] } as const

const forms: readonly (readonly [string, RegExp, string])[] = [
  ['contractAddress', /^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hex digits'],
  ['chainId', /^[1-9]\d{0,14}$/, 'must be a chain id: a whole number'],
  ['tokenId', /^\d{1,78}$/, 'must be a token id: a whole number'],
]

/** Reads which token each row is about, and sees where two are about the same. */
export class TokenColumns {
  readonly #problems: Problems
  readonly #uids: UidColumn
  readonly #tokens = new Map<string, number>()

  constructor(problems: Problems) {
    this.#problems = problems
    this.#uids = new UidColumn(problems)
  }

  /** @param cells in the order of `tokenColumns`. @returns undefined where it is refused */
  read(row: number, cells: readonly Cell[]): TokenTarget | undefined {
    const [uid, ...token] = cells
    const given = token.filter((cell) => cell)
    if (uid && given.length > 0) {
      this.#problems.add(row, undefined, 'names a chip and a token: leave one of them out')
      return undefined
    }
    if (uid) {
      const read = this.#uids.read(row, uid)
      return read === undefined ? undefined : { uid: read }
    }
    if (given.length === 0) {
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
    for (const [i, [column, pattern, why]] of forms.entries()) {
      const cell = cells[i]
      if (cell && pattern.test(cell)) continue
      fits = false
      this.#problems.add(row, column, cell ? `"${cell}" ${why}` : 'is missing')
    }
    if (!fits) return undefined
    const [contractAddress = '', chainId = '', tokenId = ''] = cells.map((cell) => cell ?? '')
    const target = { contractAddress, chainId: Number(chainId), tokenId: BigInt(tokenId).toString() }
    const before = this.#tokens.get(targetKey(target))
    if (before === undefined) this.#tokens.set(targetKey(target), row)
    else this.#problems.add(row, 'tokenId', `"${tokenId}" of this contract is in row ${before} already`)
    return target
  }
}

/** The same for the same token, however it is written. */
export const targetKey = (target: {
  readonly contractAddress: string
  readonly chainId: number
  readonly tokenId: string
}): string => `${target.chainId}/${target.contractAddress.toLowerCase()}/${target.tokenId}`
