import { parseUid } from '../../../nfc/uid.ts'
import type { Problems } from './problems.ts'

/** So many decimal UIDs that all end in 0 are no accident. */
const suspicious = 10

/** Reads the UIDs of a sheet, and sees what only the whole column shows. */
export class UidColumn {
  readonly #problems: Problems
  readonly #rowOf = new Map<string, number>()
  #decimal = 0
  #endingInZero = 0

  constructor(problems: Problems) {
    this.#problems = problems
  }

  /** The UID in decimal; undefined: refused. */
  read(row: number, text: string): string | undefined {
    const parsed = parseUid(text)
    if (!parsed.ok) {
      this.#problems.add(row, 'uid', `"${text}" ${parsed.reason}`)
      return undefined
    }
    const { uid } = parsed
    if (text === uid) {
      this.#decimal += 1
      if (text.endsWith('0')) this.#endingInZero += 1
    }
    const before = this.#rowOf.get(uid)
    if (before !== undefined) {
      this.#problems.add(row, 'uid', `"${text}" is in row ${before} already`)
      return undefined
    }
    this.#rowOf.set(uid, row)
    return uid
  }

  /** A spreadsheet keeps 15 digits of the 16: the last becomes 0. */
  finish(accepted: boolean): void {
    if (accepted || this.#decimal < suspicious || this.#endingInZero < this.#decimal) return
    this.#problems.add(
      undefined,
      'uid',
      `all ${this.#decimal} UIDs end in 0, as when a spreadsheet has rounded them. ` +
        'Export them again as text or in hex; if they are right: --yes',
    )
  }
}
