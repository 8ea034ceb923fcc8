import { ExactNumber, parseExact } from './exact-json.ts'

/** An object of JSON that is no array. */
export type JsonObject = Readonly<Record<string, unknown>>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)

export const parseObject = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = parseExact(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
