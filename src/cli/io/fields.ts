import { isJsonObject, type JsonObject } from '../../values/json.ts'
import { UsageError } from '../errors.ts'
import { colons } from '../uid.ts'
import type { Columns } from './table.ts'

/** The UID in hex is available wherever there is a UID: --json has it only in decimal, as on the wire. */
const hexOf = (record: JsonObject): string | undefined =>
  typeof record.uid === 'string' && !('hex' in record) ? colons(record.uid) : undefined

/** `chipGroup.name` reads a nested field. */
const valueAt = (value: unknown, path: string): unknown => {
  if (!isJsonObject(value)) return undefined
  if (Object.hasOwn(value, path)) return value[path]
  if (path === 'hex') return hexOf(value)
  const dot = path.indexOf('.')
  return dot < 1 ? undefined : valueAt(value[path.slice(0, dot)], path.slice(dot + 1))
}

const has = (value: unknown, path: string): boolean =>
  isJsonObject(value) &&
  (Object.hasOwn(value, path.split('.', 1)[0] ?? '') || (path === 'hex' && hexOf(value) !== undefined))

/** Selects the fields that `--fields` names. */
export const chooseFields = (names: readonly string[]) => {
  const unknownIn = (values: readonly unknown[]): string | undefined =>
    names.find((name) => !values.some((value) => has(value, name)))
  const known = (values: readonly unknown[]): string => {
    const [first] = values
    return isJsonObject(first) ? `Available: ${Object.keys(first).join(', ')}` : 'There are no fields'
  }
  return {
    pick: (value: unknown): JsonObject =>
      Object.fromEntries(names.map((name) => [name, valueAt(value, name) ?? null])),
    columns: Object.fromEntries(
      names.map((name) => [name, (row: unknown) => valueAt(row, name)]),
    ) as Columns<unknown>,
    /** Lists are only read, so an unknown name can still be refused. */
    check: (rows: readonly unknown[]): void => {
      const unknown = rows.length === 0 ? undefined : unknownIn(rows)
      if (unknown !== undefined) throw new UsageError(`--fields: there is no "${unknown}".`, known(rows))
    },
    /** After a change it is too late to refuse an unknown name: only a warning is printed. */
    complaint: (value: unknown): string | undefined => {
      const unknown = unknownIn([value])
      return unknown === undefined ? undefined : `--fields: there is no "${unknown}" here. ${known([value])}`
    },
  }
}
