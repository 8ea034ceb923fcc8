import * as z from 'zod'
import { parseUid } from '../../nfc/uid.ts'
import { isBatchId } from '../../values/batch.ts'
import { checkLogoUrl } from '../../values/brand.ts'
import {
  type ChipColumn,
  type ChipValue,
  chipColumns,
  valueOfCell,
  whyNotCell,
} from '../../values/chip-columns.ts'
import { readMoment } from '../../values/date.ts'
import { isPlainText, notPlainText } from '../../values/invisible.ts'
import { ExactNumber } from '../../values/json.ts'
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

/** One schema for all fields of a kind: building one takes longer than checking a request. */
function shared<S>(make: (...bounds: number[]) => S): (...bounds: number[]) => S {
  const cache = new Map<string, S>()
  return (...bounds) => {
    const key = bounds.join()
    const schema = cache.get(key) ?? make(...bounds)
    cache.set(key, schema)
    return schema
  }
}

/** Plain text. @param max characters */
export const text = shared((max = 1000) =>
  z.string().max(max, `must be at most ${max} characters`).refine(isPlainText, notPlainText),
)

/** @param max characters */
export const name = shared((max = 200) => text(max).refine((s) => s.trim() !== '', 'must not be empty'))

/** A URL that wallets and marketplaces can open: https, IPFS or Arweave. */
export const publicUrl = text(2048).superRefine((url, ctx) => {
  const message = checkLogoUrl(url)
  if (message !== undefined) ctx.addIssue({ code: 'custom', message })
})

/** A number with more digits than JavaScript's numbers hold. */
export const exactNumber = z
  .custom<ExactNumber>((value) => value instanceof ExactNumber)
  .meta({ type: 'number' })

const uidForms = 'a UID: 14 hex digits, alone or in pairs (04:A1:…), or a decimal number'
const inexactUid = {
  ok: false,
  reason: 'must be text: as a number, a UID above 2^53 loses its last digits',
} as const
const noUid = { ok: false, reason: `must be ${uidForms}` } as const

/** Text as people and sheets write it, or an exact number, which is always decimal. */
function readUid(value: unknown): ReturnType<typeof parseUid> {
  if (typeof value === 'string') return parseUid(value)
  if (typeof value !== 'number' && !(value instanceof ExactNumber)) return noUid
  const isWhole = Number.isSafeInteger(value) && Number(value) > 0
  if (isWhole) return { ok: true, uid: String(value) }
  return value instanceof ExactNumber || Number(value) > Number.MAX_SAFE_INTEGER ? inexactUid : noUid
}

/** Text fields of a chip by column, as in sheets. Empty: none. */
export const chipText = (column: ChipColumn) =>
  z.string().superRefine((text, ctx) => {
    const message = whyNotCell(column, text)
    if (message !== undefined) ctx.addIssue({ code: 'custom', message })
  })

/** Values of a chip by column, as text like in sheets or as a number. Empty: none. */
export const chipValue = <C extends ChipColumn>(column: C) => {
  const { type }: { type: string } = chipColumns[column]
  return z
    .union([z.string(), z.number()], mustBe('a single value'))
    .meta({ type: type === 'number' ? 'integer' : 'string' })
    .transform((value, ctx): ChipValue<C> | null => {
      const text = String(value)
      const message = whyNotCell(column, text)
      if (message === undefined) return valueOfCell(column, text)
      ctx.addIssue({ code: 'custom', message })
      return z.NEVER
    })
}

/** Columns of a chip in answers. */
export function chipValuesOnWire<C extends ChipColumn>(columns: readonly C[]) {
  const types = { text: z.string(), number: z.number(), flag: z.boolean() }
  return Object.fromEntries(
    columns.map((column) => [column, types[chipColumns[column].type].nullable()]),
  ) as unknown as {
    [column in C]: z.ZodType<ChipValue<column> | null>
  }
}

/** A UID as decimal digits or 14 hex digits; the output is the decimal string used on the wire. */
export const uid = z
  .union([z.string(), z.number(), exactNumber], mustBe(uidForms))
  .meta({ type: 'string' })
  .transform((value, ctx) => {
    const parsed = readUid(value)
    if (parsed.ok) return parsed.uid
    ctx.addIssue({ code: 'custom', message: parsed.reason })
    return z.NEVER
  })

/** One schema per element would take longer than the rest of the request. */
export const uidList = listBy(
  (value) => {
    const parsed = readUid(value)
    return parsed.ok ? { value: parsed.uid } : { issues: [{ path: [], message: parsed.reason }] }
  },
  () => ({ type: 'string' }),
  { notEmpty: 'must name at least one chip', max: 100_000 },
)

/**
 * A whole number, or its digits: queries contain only text, and some clients send digits.
 * @param min @param max both included
 */
export const integer = shared((min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .union([z.number(), z.string().regex(/^-?\d{1,16}$/, 'must be a whole number')], mustBe('a whole number'))
    .meta({ type: 'integer', minimum: min, ...(max < Number.MAX_SAFE_INTEGER ? { maximum: max } : {}) })
    .transform((value, ctx) => {
      const number = Number(value)
      if (Number.isSafeInteger(number) && number >= min && number <= max) return number
      ctx.addIssue({ code: 'custom', message: `must be a whole number from ${min} to ${max}` })
      return z.NEVER
    }),
)

/** A JSON boolean, or its spelling in a query, of any case: Python writes `True`. */
export const flag = z
  .union(
    [z.boolean(), z.string().regex(/^(true|false|1|0|)$/i, 'must be true or false')],
    mustBe('true or false'),
  )
  .meta({ type: 'boolean' })
  .transform((value) => /^(true|1)$/i.test(String(value)))

export const address = z.string().regex(addressForm, notAnAddress)

/** A uint256 in decimal. Exact numbers are accepted too. */
export const tokenId = z
  .union([z.string(), z.number().int().nonnegative()], mustBe('a decimal token id'))
  .meta({ type: 'string' })
  .transform((value, ctx) => {
    const message = checkTokenId(String(value))
    if (message === undefined) return canonicalTokenId(String(value))
    ctx.addIssue({ code: 'custom', message })
    return z.NEVER
  })

/** The output is in lower case. */
export const transactionHash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'must be the hash of a transaction: 0x and 64 hex digits')
  .transform((hash) => hash.toLowerCase())

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

export const tokenRef = () =>
  z.object({ contractAddress: z.string(), chainId: z.number(), tokenId: z.string() })
export const success = () => z.object({ success: z.literal(true) })

/** Ref IDs and OTP codes: 21 characters of the nanoid alphabet. Other values do not exist. */
export const code21 = z.string()

export const page = { limit: integer(1, 1000).optional(), before: integer(1).optional() }
/** A team's name or ID. Default: the API key's team, or the only team. */
export const team = { team: text(200).optional() }

export const batchId = z.string().refine(isBatchId, 'must be the id of a batch, such as b_1hq3v9k7s2m4xa')

export const badgeStatus = () => z.enum(['pending-approval', 'future', 'active', 'expired', 'rejected'])

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
