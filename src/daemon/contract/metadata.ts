import * as z from 'zod'
import { excessOf } from '../../values/json-bounds.ts'
import { mustBe } from './fields.ts'
import { list } from './list.ts'

// Extra fields are kept, since marketplaces and wallets read more than the standard ones.
const attribute = z.looseObject({
  trait_type: z.string(),
  value: z.union([z.string(), z.number()], mustBe('text or a number')),
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
      if (parsed !== undefined) return parsed
      const message = 'must be valid JSON: an object with name, collection, description, image and attributes'
      ctx.addIssue({ code: 'custom', message })
      return z.NEVER
    })
    .pipe(shape)

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The gallery is required but may be empty. */
export const phygitalMetadata = inText(ofPhygital)
export const eventMetadata = inText(ofEvent)
