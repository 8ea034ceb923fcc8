import * as z from 'zod'
import { TimeSlice } from '../../values/time-slices.ts'

const listCap = 10_000
const shortListCap = 1000
/** More invalid elements than this are only counted. */
export const issuesNamed = 100

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
}

/** The validator's own words are never shown: these are used wherever a schema has none. */
export const required: z.core.$ZodErrorMap = (issue) => {
  // The interface's message for a missing value.
  if (issue.input === undefined && issue.code !== 'custom') return 'Required'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? 'of another type'}`
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`
    case 'too_big':
      return bound(issue.origin, 'at most', issue.maximum)
    case 'too_small':
      return bound(issue.origin, 'at least', issue.minimum)
    case 'unrecognized_keys':
      return `must not have the members ${issue.keys.slice(0, 20).join(', ')}`
    default:
      return 'does not have the required form'
  }
}

function bound(origin: string, which: string, count: number | bigint): string {
  if (origin === 'string') return `must have ${which} ${count} characters`
  return origin === 'number' || origin === 'int'
    ? `must be ${which} ${count}`
    : `must have ${which} ${count} elements`
}

type Issue = Pick<z.core.$ZodIssue, 'path' | 'message'>
type CheckResult<T> = { value: T } | { issues: readonly Issue[] }
type Check<T> = (element: unknown) => CheckResult<T>
type Context = z.core.$RefinementCtx

interface Limits {
  /** The message for an empty array, if one is not allowed. */
  notEmpty?: string
  max?: number
}

/** An array on the wire, checked in slices; too long ones are not checked at all. Requires `safeParseAsync`. */
export const list = <T extends z.ZodType>(of: T, limits: Limits = {}) =>
  listBy(elementCheck(of), () => schemaOf(of), limits)

/** Like `list`, for very long arrays: a plain check is faster than one schema per element. */
export const listBy = <T>(check: Check<T>, items: () => object, { max = listCap, notEmpty }: Limits = {}) =>
  elements({ max, notEmpty })
    .transform(async (values, ctx) => {
      const checking = new ListChecker(check, ctx)
      const slice = new TimeSlice()
      // Parsing the body has already taken a slice.
      if (values.length > shortListCap) await slice.next()
      for (const [index, element] of values.entries()) {
        checking.take(element, index)
        if (slice.shouldYield) await slice.next()
      }
      return checking.end()
    })
    .meta(describing(max, items))

/** A short or nested array; checked synchronously. */
export const shortList = <T extends z.ZodType>(of: T, { max = shortListCap, notEmpty }: Limits = {}) =>
  elements({ max, notEmpty })
    .transform((values, ctx) => {
      const checking = new ListChecker(elementCheck(of), ctx)
      for (const [index, element] of values.entries()) checking.take(element, index)
      return checking.end()
    })
    .meta(describing(max, () => schemaOf(of)))

const elements = ({ max, notEmpty }: { max: number; notEmpty: string | undefined }) => {
  const whyNot = (value: unknown): string | undefined => {
    if (value === undefined) return 'Required'
    if (!Array.isArray(value)) return 'must be an array'
    if (value.length > max) return `must have at most ${max} elements, but has ${value.length}`
    return value.length === 0 ? notEmpty : undefined
  }
  return z.custom<unknown[]>((value) => whyNot(value) === undefined, { error: ({ input }) => whyNot(input) })
}

/** Computed only for descriptions, since it would slow down the daemon's start. */
const describing = (max: number, items: () => object) => ({
  type: 'array' as const,
  maxItems: max,
  get items() {
    return items()
  },
})

function schemaOf(of: z.ZodType): object {
  const { $schema: _, ...schema } = z.toJSONSchema(of, { io: 'input', unrepresentable: 'any' })
  return schema
}

const elementCheck =
  <T extends z.ZodType>(of: T): Check<z.output<T>> =>
  (element) => {
    const parsed = of.safeParse(element, { error: required })
    return parsed.success ? { value: parsed.data } : parsed.error
  }

class ListChecker<T> {
  readonly #check: Check<T>
  readonly #ctx: Context
  readonly #values: T[] = []
  #named = 0
  #more = 0
  constructor(check: Check<T>, ctx: Context) {
    this.#check = check
    this.#ctx = ctx
  }

  take(element: unknown, index: number): void {
    const checked = this.#check(element)
    if ('value' in checked) this.#values.push(checked.value)
    else if (this.#named >= issuesNamed) this.#more += 1
    else {
      for (const { path, message } of checked.issues)
        this.#ctx.addIssue({ code: 'custom', message, path: [index, ...path] })
      this.#named += checked.issues.length
    }
  }

  end(): T[] {
    if (this.#more > 0) {
      const message = `${this.#more} more elements are invalid`
      this.#ctx.addIssue({ code: 'custom', message, params: { more: this.#more } })
    }
    return this.#named > 0 ? z.NEVER : this.#values
  }
}
