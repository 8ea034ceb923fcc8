import * as z from 'zod'

// Values are text in flags and the environment, and may have JSON types in the configuration file.

export function wholeNumber(min: number, max: number, message = `must be a number from ${min} to ${max}`) {
  return z
    .union([z.number(), z.string().regex(/^\d+$/, message).transform(Number)], message)
    .pipe(z.number(message).int(message).min(min, message).max(max, message))
}

export const onOff = z.union(
  [
    z.boolean(),
    z.enum(['on', 'off', 'true', 'false', '1', '0']).transform((word) => /^(on|true|1)$/.test(word)),
  ],
  'must be on or off',
)

export const httpUrl = z.string().regex(/^https?:\/\/[^\s?#]+$/, 'must be an http(s) URL without a query')

export const httpsUrl = z.string().regex(/^https:\/\/[^\s?#@]+$/, 'must be an https URL without a query')

export const filled = z.string().min(1, 'must not be empty')

/** Replaces the parser's own messages for schemas that have none. */
export const fallbackMessage: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== 'invalid_type') return 'has a value that is not valid here'
  return `must be ${typeNames[issue.expected] ?? issue.expected}`
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  object: 'a JSON object',
  record: 'a JSON object',
  array: 'a list',
}
