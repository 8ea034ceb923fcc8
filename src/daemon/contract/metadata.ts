import * as z from 'zod'
import { parseExact } from '../../values/exact-json.ts'
import { harmfulScheme } from '../../values/harmful-url.ts'
import { isJsonObject } from '../../values/json.ts'
import { excessOf } from '../../values/json-bounds.ts'
import { emptyMetadata } from '../../values/token.ts'
import { exactNumber, isPlainText, mustBe, notPlainText } from './fields.ts'
import { list } from './list.ts'

// Extra fields are kept, since marketplaces and wallets read more than the standard ones.
const attribute = z.looseObject({
  trait_type: z.string(),
  value: z.union([z.string(), z.number(), exactNumber], mustBe('text or a number')),
  display_type: z.string().optional(),
})
const media = z.looseObject({ media: z.string(), type: z.string() })

const fields = {
  name: z.string(),
  collection: z.string(),
  description: z.string(),
  image: z.string(),
  attributes: list(attribute),
}

const ofPhygital = z.looseObject({ ...fields, media_gallery: list(media) })
const ofEvent = z.looseObject({ ...fields, media_gallery: list(media).optional() })

/** Shown as text wherever it appears. */
const prose = new Set(['name', 'collection', 'description', 'attributes'])

/** Refuses text that databases cannot hold, and URLs that would run in the browser of whoever opens them. */
function refuseHarmful(metadata: object, ctx: z.core.$RefinementCtx): void {
  const refuse = (path: readonly (string | number)[], message: string) =>
    ctx.addIssue({ code: 'custom', path: [...path], message })
  const walk = (value: unknown, path: readonly (string | number)[], isProse: boolean): void => {
    if (typeof value === 'string') {
      if (!isPlainText(value)) refuse(path, notPlainText)
      const scheme = isProse ? undefined : harmfulScheme(value)
      if (scheme !== undefined) refuse(path, `must not use the scheme ${scheme}:`)
    } else if (Array.isArray(value))
      for (const [index, element] of value.entries()) walk(element, [...path, index], isProse)
    else if (isJsonObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        if (!isPlainText(name)) refuse(path, `has a member whose name ${notPlainText}`)
        walk(member, [...path, name], isProse || (path.length === 0 && prose.has(name)))
      }
    }
  }
  walk(metadata, [], false)
}

/** Metadata as a JSON string; the output is the whole parsed object. */
const inText = <S extends z.ZodObject>(shape: S) =>
  z
    .union([z.string(), z.record(z.string(), z.unknown())], mustBe('a JSON string of the token metadata'))
    .meta({ type: 'string' })
    .transform(async (value, ctx): Promise<unknown> => {
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
    .pipe(shape.superRefine(refuseHarmful))

function read(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** The gallery is required but may be empty. */
export const phygitalMetadata = inText(ofPhygital)
export const eventMetadata = inText(ofEvent)

/** As a seed gives it: any field may be missing, and becomes an empty one. */
export const partialMetadata = z
  .record(z.string(), z.unknown())
  .superRefine(refuseHarmful)
  .transform((given) => ({ ...emptyMetadata, ...given }))
