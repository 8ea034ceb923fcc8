import { DomainError } from '../domain/errors.ts'

/** A row as it was read: its values by column, empty ones left out; or why it is none. Blank lines are no rows. */
export type SheetRow =
  | { readonly values: Readonly<Record<string, string>> }
  | { readonly problem: string /** As far as it could be read. */; readonly uid?: string | undefined }

/** Rows that came together, and how many characters they had. */
export interface SheetBlock {
  readonly rows: readonly SheetRow[]
  readonly size: number
}

/** Characters of one row. A quote that is never closed would otherwise gather the whole file in memory. */
export const longestRow = 64 * 1024

/** What stands for bytes that are not UTF-8. */
export const replacement = '\uFFFD'
export const notUtf8 = 'holds bytes that are not UTF-8. Save the file as UTF-8'

/** @throws DomainError invalid_input naming the columns that there are not */
export function assertColumns(given: readonly string[], columns: readonly string[]): void {
  const unknown = given.filter((name) => !columns.includes(name))
  if (unknown.length > 0) {
    const names = unknown.slice(0, 20).map((name) => JSON.stringify(name.slice(0, 64)))
    throw new DomainError(
      'invalid_input',
      `There is no column ${names.join(', ')}. Nothing was written. Columns are ${columns.join(', ')}.`,
    )
  }
  const twice = given.find((name, at) => given.indexOf(name) !== at)
  if (twice !== undefined)
    throw new DomainError('invalid_input', `The column ${twice} is there twice. Nothing was written.`)
}
