import { readFileSync } from 'node:fs'
import { isJsonObject, type JsonObject, numberOf, parseExact } from '../../../values/json.ts'
import { reasonAgainstNumber } from '../../../values/token-metadata.ts'
import { UsageError } from '../../errors.ts'
import type { System } from '../../system.ts'
import type { Cell } from '../input/sheet.ts'

export type Metadata = JsonObject

/**
 * JSON whose strings contain fields, `{{column}}`, which are filled from the cells of a row. Cells are inserted into
 * parsed values and never into JSON text, so no quote or brace in a cell can change the structure.
 */
export interface Template {
  readonly columns: readonly string[]
  /** @returns undefined if a cell is invalid; `complain` is called for it */
  fill(cellOf: (column: string) => Cell, report: (column: string, why: string) => void): Metadata | undefined
}

interface Field {
  readonly column: string
  readonly kind: 'text' | 'number' | 'boolean'
  readonly isOptional: boolean
}

/** `{{column}}`; or `\{{`, which stands for two braces. */
const pattern = /\\\{\{|\{\{([^{}]*)\}\}/g

const fieldOf = (written: string): Field => {
  const isOptional = written.endsWith('?')
  const rest = isOptional ? written.slice(0, -1) : written
  const [, column = rest, kind] = /^(.*?)\s*:\s*(number|boolean)$/s.exec(rest) ?? []
  return {
    column: column.trim(),
    kind: kind === 'number' || kind === 'boolean' ? kind : 'text',
    isOptional,
  }
}

export const readTemplate = (system: Pick<System, 'cwd'>, file: string): Template => {
  const value = parse(file, read(file.startsWith('/') ? file : `${system.cwd}/${file}`, file))
  const columns = new Set<string>()
  const collect = (part: unknown, path: string): void => {
    if (typeof part === 'string') checkText(part, path, file, columns)
    else if (Array.isArray(part)) for (const [i, element] of part.entries()) collect(element, `${path}.${i}`)
    else if (isJsonObject(part)) {
      for (const [name, member] of Object.entries(part)) {
        const inside = path === '' ? name : `${path}.${name}`
        if (name.includes('{{'))
          throw new UsageError(`${file}: the name ${inside} contains a field, but only values are filled in.`)
        collect(member, inside)
      }
    }
  }
  collect(value, '')
  return {
    columns: [...columns],
    fill: (cellOf, report) => {
      // Report a column once, however often the template uses it.
      const refused = new Set<string>()
      const filled = fillIn(value, (field) => {
        const read = readField(field, cellOf(field.column))
        if (!('why' in read)) return read.value
        if (!refused.has(field.column)) report(field.column, read.why)
        refused.add(field.column)
        return ''
      })
      return refused.size === 0 && isJsonObject(filled) ? filled : undefined
    },
  }
}

const read = (path: string, file: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'EISDIR')
      throw new UsageError(
        `${file} ${code === 'ENOENT' ? 'does not exist' : 'is a folder'}.`,
        'Give a file: --template FILE',
      )
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const parse = (file: string, text: string): Metadata => {
  let value: unknown
  try {
    value = parseExact(text.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (!isJsonObject(value))
    throw new UsageError(`${file} must contain a single JSON object: the metadata of a token.`)
  return value
}

/** Collects the columns that a string uses. @throws UsageError if it contains an invalid field */
const checkText = (text: string, path: string, file: string, columns: Set<string>): void => {
  const refuse = (why: string, advice?: string) => {
    throw new UsageError(`${file}, ${path}: ${why}`, advice)
  }
  const bare = text.replace(pattern, (match, written: string | undefined) => {
    if (written === undefined) return ''
    const { column, kind } = fieldOf(written)
    if (column === '') refuse(`${match} names no column`)
    if (kind !== 'text' && match !== text)
      refuse(`${match} must be the whole string, because it becomes a ${kind}`)
    columns.add(column)
    return ''
  })
  if (bare.includes('{{'))
    refuse(`"{{" does not start a field`, 'A field looks like {{column}}. For literal braces: \\\\{{')
}

/** Omitted from its object or array. */
const nothing = Symbol('nothing')

const readField = (
  { column, kind, isOptional }: Field,
  cell: Cell,
): { readonly value: unknown } | { readonly why: string } => {
  if (!cell) {
    if (isOptional) return { value: kind === 'text' ? '' : nothing }
    const written = kind === 'text' ? column : `${column}:${kind}`
    return { why: `is empty, but the template needs it; if it may be empty: {{${written}?}}` }
  }
  if (kind === 'text') return { value: cell }
  if (kind === 'number') {
    const why = reasonAgainstNumber(cell)
    return why === undefined ? { value: numberOf(cell) } : { why: `"${cell}" ${why}` }
  }
  if (/^(true|false)$/i.test(cell)) return { value: cell.toLowerCase() === 'true' }
  return { why: `"${cell}" must be true or false` }
}

const fillIn = (part: unknown, valueFor: (field: Field) => unknown): unknown => {
  if (typeof part === 'string') {
    const [match, written] = new RegExp(`^(?:${pattern.source})$`).exec(part) ?? []
    if (match !== undefined && written !== undefined) return valueFor(fieldOf(written))
    return part.replace(pattern, (_, inside: string | undefined) =>
      inside === undefined ? '{{' : String(valueFor(fieldOf(inside))),
    )
  }
  if (Array.isArray(part))
    return part.map((element) => fillIn(element, valueFor)).filter((element) => element !== nothing)
  if (!isJsonObject(part)) return part
  // Own properties only, so that a member named __proto__ is safe.
  return Object.fromEntries(
    Object.entries(part)
      .map(([name, member]) => [name, fillIn(member, valueFor)] as const)
      .filter(([, member]) => member !== nothing),
  )
}
