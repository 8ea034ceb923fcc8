import * as z from 'zod'
import { mustBe } from './fields.ts'

// Extra fields are kept: marketplaces and wallets read more than the standard names.
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
  attributes: z.array(attribute),
}

const ofPhygital = z.looseObject({ ...fields, media_gallery: z.array(media) })
const ofEvent = z.looseObject({ ...fields, media_gallery: z.array(media).optional() })

const required: z.core.$ZodErrorMap = (issue) => (issue.input === undefined ? 'Required' : undefined)

/** Metadata in its JSON text, as the wire carries it; comes out as the object that it stands for, all of it. */
const inText = (shape: z.ZodObject) =>
  z
    .union([z.string(), z.record(z.string(), z.unknown())], mustBe('a JSON string of the token metadata'))
    .meta({ type: 'string' })
    .transform((value, ctx): Record<string, unknown> => {
      const parsed = typeof value === 'string' ? read(value) : value
      if (isDeeperThan(deepest, parsed)) {
        ctx.addIssue({ code: 'custom', message: `must not be nested more than ${deepest} levels deep` })
        return z.NEVER
      }
      const checked = shape.safeParse(parsed, { error: required })
      // Not what the schema made of it, which could differ: what was sent.
      if (checked.success && typeof parsed === 'object' && parsed !== null) return { ...parsed }
      const notJson = 'must be valid JSON: an object with name, collection, description, image and attributes'
      if (parsed === undefined) ctx.addIssue({ code: 'custom', message: notJson })
      for (const { path, message } of parsed === undefined ? [] : (checked.error?.issues ?? []))
        ctx.addIssue({ code: 'custom', message, path: [...path] })
      return z.NEVER
    })

const deepest = 64

/** Level by level, without calling itself: what is looked at may be deep enough to exhaust the stack. */
function isDeeperThan(levels: number, value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; depth <= levels; depth++) {
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
    if (level.length === 0) return false
  }
  return true
}

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Of a phygital: the gallery is asked for, though it may be empty. */
export const phygitalMetadata = inText(ofPhygital)
/** Of a guestbook event. */
export const eventMetadata = inText(ofEvent)
