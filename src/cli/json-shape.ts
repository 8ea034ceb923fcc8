import { isJsonObject } from '../values/json.ts'

// Validates JSON of our files and of other servers by its shape.
export const isText = (value: unknown): value is string => typeof value === 'string'
export const isNumber = (value: unknown): value is number => typeof value === 'number'
export const orNull = (isFit: (value: unknown) => boolean) => (value: unknown) =>
  value === null || isFit(value)
export const orAbsent = (isFit: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isFit(value)
export const shape =
  <T>(members: { readonly [K in keyof T]-?: (value: unknown) => boolean }) =>
  (value: unknown): value is T => {
    if (!isJsonObject(value)) return false
    for (const name in members) if (!members[name](value[name])) return false
    return true
  }
