// Characters that copying from pages, documents, and chats brings along unseen: soft hyphens, zero-width
// spaces and joiners, marks of direction, the byte order mark, and spaces that do not break.
const sign = '\\u00A0\\u00AD\\u061C\\u180E\\u200B-\\u200F\\u202A-\\u202F\\u2060-\\u206F\\uFEFF'
const allInvisible = new RegExp(`[${sign}]`, 'g')
const atEnds = new RegExp(`^[\\s${sign}]+|[\\s${sign}]+$`, 'g')
/** All but the joiners that hold emoji together. */
const shown = new RegExp(`(?!\\u200D\\p{Extended_Pictographic})[${sign}]`, 'gu')
// Names have emoji, whose joiners are part of them.
const joiners = new Set(['\u200C', '\u200D'])

/** Columns of sheets whose cells are identifiers and not texts: invisible characters are dropped within them as well. */
const codes = new Set([
  ...['uid', 'publicKey', 'fileReadKey', 'metaReadKey', 'contractAddress', 'chainId', 'tokenId', 'recipient'],
  ...['id', 'item', 'variant', 'keySet', 'lastCounter', 'revision', 'disabled'],
])

/** For identifiers. */
export const withoutInvisible = (text: string): string =>
  isPlain(text) ? text : text.replace(allInvisible, '')

/** A cell of a sheet as its column takes it, without invisible characters at its ends. */
export function tidyCell(column: string | undefined, cell: string): string {
  if (isPlain(cell)) return cell
  const text = cell.replace(atEnds, '')
  if (column === undefined || !codes.has(column)) return text
  return text.replace(allInvisible, (one) => (joiners.has(one) ? one : ''))
}

/** Makes them visible where a message quotes a value: `04A1<U+200B>`. */
export const showInvisible = (text: string): string =>
  text.replace(shown, (one) => `<U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`)

// Batches have a million cells, nearly all of them like this.
const plain = /^[\x21-\x7e]*$/
const isPlain = (text: string): boolean => plain.test(text)

/** Text that databases and terminals can hold: no NUL and no broken surrogate pairs. */
export const isPlainText = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
export const notPlainText = 'must not contain NUL or broken Unicode'
