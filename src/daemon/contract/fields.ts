import * as z from 'zod'
import { parseUid } from '../../nfc/uid.ts'
import { isBatchId } from '../../values/batch-id.ts'
import { readMoment } from '../../values/date.ts'
import { addressForm, canonicalTokenId, checkTokenId, notAnAddress } from '../../values/token.ts'
import { listBy } from './list.ts'

/** The interface's message for a missing value is `Required`. */
export const mustBe = (what: string) => ({
  error: ({ input }: { input?: unknown }): string => (input === undefined ? 'Required' : `must be ${what}`),
})

/** Also reports missing fields if others are invalid, so that one answer names all of them. */
export const requiredUnless = (alternative: string, field: string) => ({
  path: [field],
  message: `Required, unless ${alternative} is given`,
  when: () => true,
})

/** Text that databases and terminals can hold: no NUL and no broken surrogate pairs. */
export const text = (max = 1000) =>
  z
    .string()
    .max(max, `must be at most ${max} characters`)
    .refine((s) => !s.includes('\0') && s.isWellFormed(), 'must not contain NUL or broken Unicode')

export const name = (max = 200) => text(max).refine((s) => s.trim() !== '', 'must not be empty')

/** A UID as decimal digits or 14 hex digits; the output is the decimal string used on the wire. */
export const uid = z.string().transform((value, ctx) => {
  const parsed = parseUid(value)
  if (parsed.ok) return parsed.uid
  ctx.addIssue({ code: 'custom', message: parsed.reason })
  return z.NEVER
})

/** One schema per element would take longer than the rest of the request. */
export const uidList = listBy(
  (value) => {
    const parsed = typeof value === 'string' ? parseUid(value) : notText
    return parsed.ok ? { value: parsed.uid } : { issues: [{ path: [], message: parsed.reason }] }
  },
  () => ({ type: 'string' }),
  { notEmpty: 'must name at least one chip', max: 100_000 },
)

const notText = { ok: false, reason: 'must be text: a number loses the last digits of a UID' } as const

/** A whole number, or its digits: queries contain only text, and some clients send digits. */
export const integer = (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .union([z.number(), z.string().regex(/^-?\d{1,16}$/, 'must be a whole number')], mustBe('a whole number'))
    .transform((value, ctx) => {
      const number = Number(value)
      if (Number.isSafeInteger(number) && number >= min && number <= max) return number
      ctx.addIssue({ code: 'custom', message: `must be a whole number from ${min} to ${max}` })
      return z.NEVER
    })

/** A JSON boolean, or its spelling in a query. */
export const flag = z
  .union([z.boolean(), z.enum(['true', 'false', '1', '0', ''])], mustBe('true or false'))
  .transform((value) => value === true || value === 'true' || value === '1')

export const address = z.string().regex(addressForm, notAnAddress)

/** A uint256 in decimal. Exact numbers are accepted too. */
export const tokenId = z
  .union([z.string(), z.number().int().nonnegative()], mustBe('a decimal token id'))
  .transform((value, ctx) => {
    const message = checkTokenId(String(value))
    if (message === undefined) return canonicalTokenId(String(value))
    ctx.addIssue({ code: 'custom', message })
    return z.NEVER
  })

export const timestamp = z.string().meta({ format: 'date-time' })

/** An ISO 8601 time, or a date, which means its first instant in UTC. */
export const moment = z.string().transform((value, ctx) => {
  const read = readMoment(value)
  if (read !== undefined) return read
  ctx.addIssue({
    code: 'custom',
    message: 'must be a date (2026-12-31) or an ISO 8601 time with its zone',
  })
  return z.NEVER
})

export const tokenRef = z.object({ contractAddress: z.string(), chainId: z.number(), tokenId: z.string() })
export const success = z.object({ success: z.literal(true) })

/** Ref IDs and OTP codes: 21 characters of the nanoid alphabet. Other values do not exist. */
export const code21 = z.string()

export const page = { limit: integer(1, 1000).optional(), before: integer(1).optional() }
/** A team's name or ID. Default: the API key's team, or the only team. */
export const team = { team: text(200).optional() }

export const batchId = z.string().refine(isBatchId, 'must be the id of a batch, such as b_1hq3v9k7s2m4xa')

export const badgeStatus = z.enum(['pending-approval', 'future', 'active', 'expired', 'rejected'])

/** The shape of every error answer. `code` is for programs; `message` says what to do. */
export const errorOnWire = z.object({
  statusCode: z.number(),
  error: z.string(),
  message: z.string(),
  code: z.string(),
  requestId: z.string(),
  success: z.literal(false).optional(),
  errors: z.record(z.string(), z.string()).optional(),
})
