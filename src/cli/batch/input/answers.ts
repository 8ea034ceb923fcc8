import type { TokenTarget } from '../token.ts'
import type { Problems } from './problems.ts'

/** What the daemon says of a row. That nothing was used up tells of codes, of which a batch has none. */
export const rowWords = (answer: string, target?: TokenTarget): string =>
  target && 'uid' in target && answer.startsWith('No such token')
    ? 'The chip carries no token. Give it one: tapchip chips link'
    : answer.replace(/ ?Nothing was used up(; [^.]*)?\.$/, '')

/** What the daemon says of a row, as a sheet's problem: which column, and why. */
export const withoutField = (
  answer: string,
): { readonly column: string | undefined; readonly why: string } => {
  const text = rowWords(answer).replace(/\.$/, '')
  const [, column, why] = /^([a-zA-Z]+): (.*)$/s.exec(text) ?? []
  if (column === undefined || why === undefined) return { column: undefined, why: text }
  // The cell in quotes, as in what the sheet alone shows.
  return { column, why: why.replace(/^([^\s"]+) (?=has |is |must )/, '"$1" ') }
}

/** Adds what the daemon found that can never be meant so. */
export const addAnswer = (problems: Problems, row: number, answer: string | undefined): void => {
  const { column, why } = withoutField(answer ?? 'does not fit')
  problems.add(row, column, why)
}
