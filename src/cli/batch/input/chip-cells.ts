import { parseUid, uidToColons } from '../../../nfc/uid.ts'
import { type ChipCells, problemsOf } from '../../../values/chip-columns.ts'
import type { Problems } from './problems.ts'
import type { Cell } from './sheet.ts'

/** Reads the cells of chips, and adds every problem that a sheet shows of them, but for the UIDs. */
export class ChipCellsReader {
  readonly #problems: Problems
  readonly #isNew: boolean
  readonly #rows = { publicKey: new Map<string, number>(), label: new Map<string, number>() }

  /** @param isNew what a row says nothing of, its chip does not have */
  constructor(problems: Problems, isNew: boolean) {
    this.#problems = problems
    this.#isNew = isNew
  }

  read(row: number, columns: readonly string[], inputCells: readonly Cell[]): ChipCells {
    const cells: ChipCells = Object.fromEntries(
      columns.flatMap((column, i) => (inputCells[i] === undefined ? [] : [[column, inputCells[i] ?? '']])),
    )
    for (const { columns: named, cell, reason } of problemsOf(cells, this.#isNew))
      this.#problems.add(row, named.join(', '), cell === undefined ? reason : `"${cell}" ${reason}`)
    this.#unique('publicKey', row, cells.publicKey?.toLowerCase())
    this.#unique('label', row, cells.label)
    return cells
  }

  #unique(column: 'publicKey' | 'label', row: number, text: string | undefined): void {
    if (!text) return
    const before = this.#rows[column].get(text)
    if (before === undefined) this.#rows[column].set(text, row)
    else this.#problems.add(row, column, `"${text}" is already in row ${before}`)
  }
}

/** This many decimal UIDs that all end in 0 are no accident. */
const suspicious = 10

/** Reads the UIDs of a sheet, and finds problems that only the whole column shows. */
export class UidColumn {
  readonly #problems: Problems
  // In the order of the sheet. Most UIDs are exact as numbers, and numbers sort fast: a set of a million strings would
  // take longer than everything else.
  #numbers = new Float64Array(1024)
  #rows = new Uint32Array(1024)
  #forms = new Uint8Array(1024)
  #count = 0
  readonly #large = new Map<string, number>()
  readonly #doubtfulRows: { readonly row: number; readonly text: string }[] = []
  #decimal = 0
  #endingInZero = 0

  constructor(problems: Problems) {
    this.#problems = problems
  }

  /** @param isNew the chip may be unknown, so a UID that no NTAG has is doubted @returns decimal; undefined if refused */
  read(row: number, text: string, isNew = false): string | undefined {
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
    if (isNew && !isOfNxp(uid)) this.#doubtfulRows.push({ row, text })
    const number = Number(uid)
    if (Number.isSafeInteger(number)) this.#keep(number, row, text === uid ? 0 : formOf(text))
    else {
      const before = this.#large.get(uid)
      if (before === undefined) this.#large.set(uid, row)
      else this.#addDuplicate(row, text, before)
    }
    return uid
  }

  /** Call it after the last row. @param accepted a person confirmed that the UIDs are right */
  finish(accepted: boolean): void {
    this.#findDoubles()
    if (!accepted) addDoubts(this.#problems, this.#doubtfulRows)
    // A spreadsheet keeps 15 of the 16 digits, and the last one becomes 0.
    if (accepted || this.#decimal < suspicious || this.#endingInZero < this.#decimal) return
    this.#problems.add(
      undefined,
      'uid',
      `all ${this.#decimal} UIDs end in 0, as if a spreadsheet had rounded them. ` +
        'Export them again as text or in hex; if they are correct: --yes',
    )
  }

  #keep(number: number, row: number, form: number): void {
    if (this.#count === this.#rows.length) {
      const [numbers, rows, forms] = [this.#numbers, this.#rows, this.#forms]
      this.#numbers = new Float64Array(rows.length * 2)
      this.#rows = new Uint32Array(rows.length * 2)
      this.#forms = new Uint8Array(rows.length * 2)
      this.#numbers.set(numbers)
      this.#rows.set(rows)
      this.#forms.set(forms)
    }
    this.#numbers[this.#count] = number
    this.#rows[this.#count] = row
    this.#forms[this.#count] = form
    this.#count += 1
  }

  #findDoubles(): void {
    const sorted = this.#numbers.slice(0, this.#count).sort()
    const doubled = new Set(sorted.filter((number, i) => number === sorted[i + 1]))
    if (doubled.size === 0) return
    const first = new Map<number, number>()
    for (let i = 0; i < this.#count; i++) {
      const [number, row] = [this.#numbers[i] ?? 0, this.#rows[i] ?? 0]
      if (!doubled.has(number)) continue
      const before = first.get(number)
      if (before === undefined) first.set(number, row)
      else this.#addDuplicate(row, inForm(String(number), this.#forms[i] ?? 0), before)
    }
  }

  #addDuplicate(row: number, uid: string, before: number): void {
    this.#problems.add(row, 'uid', `"${uid}" is already in row ${before}`)
  }
}

/** NTAG chips are NXP's, and the UIDs of NXP begin with 04. @param uid decimal */
export const isOfNxp = (uid: string): boolean => {
  const number = Number(uid)
  return number >= 0x04000000000000 && number < 0x05000000000000
}

export const addDoubts = (
  problems: Problems,
  doubted: Iterable<{ readonly row: number; readonly text: string }>,
): void => {
  for (const { row, text } of doubted)
    problems.add(
      row,
      'uid',
      `"${text}" does not begin with 04 in hex, as the UID of an NTAG chip does. Export it again as text; if it is correct: --yes`,
    )
}

// The notation of a UID in the sheet, so that messages can show it the same way; 0 is decimal.
const [isHex, isLower, has0x, separatorAt] = [1, 2, 4, 3]
const separators = ['', ':', '-', ' ']

const formOf = (text: string): number => {
  const separator = Math.max(
    0,
    separators.findIndex((one) => one !== '' && text.includes(one)),
  )
  const lower = text === text.toUpperCase().replaceAll('0X', '0x') ? 0 : isLower
  return isHex | lower | (/^0x/i.test(text) ? has0x : 0) | (separator << separatorAt)
}

const inForm = (uid: string, form: number): string => {
  if (form === 0) return uid
  const hex = uidToColons(uid).replaceAll(':', separators[form >> separatorAt] ?? '')
  return `${form & has0x ? '0x' : ''}${form & isLower ? hex.toLowerCase() : hex}`
}
