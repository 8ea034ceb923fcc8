import * as z from 'zod'
import { isJsonObject, type JsonObject, parseExact } from '../../values/json.ts'
import { excessOf } from '../../values/json-bounds.ts'
import { emptyMetadata } from '../../values/token.ts'
import { harmfulValues, metadataProblems, unreadableIn } from '../../values/token-metadata.ts'
import { mustBe } from './fields.ts'
import { issuesNamed } from './list.ts'

function refuse(
  problems: ReturnType<typeof metadataProblems>,
  ctx: z.core.$RefinementCtx,
  ...at: string[]
): void {
  let named = 0
  for (const { path, message } of problems) {
    ctx.addIssue({ code: 'custom', message, path: [...at, ...path] })
    named += 1
    if (named === issuesNamed) return
  }
}

/** Refuses values that marketplaces silently ignore. @param at its path in the request */
export const refuseUnreadable = (metadata: JsonObject, ctx: z.core.$RefinementCtx, ...at: string[]): void =>
  refuse(unreadableIn(metadata), ctx, ...at)

/** Metadata as a JSON string; the output is the whole parsed object. */
const inText = (rules: Parameters<typeof metadataProblems>[1]) =>
  z
    .union([z.string(), z.record(z.string(), z.unknown())], mustBe('a JSON string of the token metadata'))
    .meta({ type: 'string' })
    .transform(async (value, ctx): Promise<JsonObject> => {
      if (typeof value !== 'string') return value
      const excess = await excessOf(Buffer.from(value))
      if (excess) {
        ctx.addIssue({
          code: 'custom',
          message: excess.reason,
          path: excess.field === undefined ? [] : [excess.field],
        })
        return z.NEVER
      }
      const parsed = read(value)
      if (isJsonObject(parsed)) return parsed
      const message = 'must be valid JSON: an object with name, collection, description, image and attributes'
      ctx.addIssue({ code: 'custom', message })
      return z.NEVER
    })
    .superRefine((metadata, ctx) => refuse(metadataProblems(metadata, rules), ctx))

function read(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** The gallery is required but may be empty. */
export const phygitalMetadata = inText({ of: 'phygital' })
export const eventMetadata = inText({ of: 'event' })
/** The earlier rules, before such values were refused. */
export const restoredMetadata = inText({ of: 'phygital', isRestored: true })

/** Seed files may omit any field; it becomes empty. */
export const partialMetadata = z
  .record(z.string(), z.unknown())
  .superRefine((metadata, ctx) => {
    refuse(harmfulValues(metadata), ctx)
    refuseUnreadable(metadata, ctx)
  })
  .transform((members) => ({ ...emptyMetadata, ...members }))
