import { openSource } from './batch/input/source.ts'
import { UsageError } from './errors.ts'
import type { Surroundings } from './surroundings.ts'

/** One JSON object from a file, or from standard input (`-`). The daemon checks what is in it. */
export const readJsonObject = async (
  at: Surroundings,
  file: string,
): Promise<Readonly<Record<string, unknown>>> => {
  const source = openSource(at, file)
  let text = ''
  for await (const chunk of source.chunks) text += chunk
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's own message quotes the text, and the text may be a key.
    throw new UsageError(`${source.name} is not JSON.`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new UsageError(`${source.name} must hold one JSON object.`)
}
